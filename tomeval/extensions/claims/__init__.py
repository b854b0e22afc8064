"""What the three sources claim of players in words, checked against runs of your own."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from tomeval.comparing.comparison import compare_pairs
from tomeval.comparing.pairing import pair
from tomeval.comparing.sides import Incomparable, Side, known_by, read_sides
from tomeval.core.numbers import decimals, fixed, interval
from tomeval.core.parts import Compared
from tomeval.core.resources import read_text, shipped
from tomeval.report.tables import DATA
from tomeval.runs.results import Run

FILE = "reported_claims.csv"
"""The shipped claims, beside the experiments; a row each, in words of our own."""

HOLDS, FAILS, OPEN = "holds", "fails", "cannot be told"
_WINDOW = re.compile(r"(\w+) (\d+)-(\d+)")

Row = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """One claim: that a measure of some cells lies beside that of others.

    Attributes
    ----------
    claim, source, place : str
        What is claimed, by whom, and where.
    domain, by : str
        What kind of game it is about, and what the two sides differ in, as ``compare --by``.
    first, second : str
        Levels on either side, with ``*`` for any text, separated by ``|``; ``!`` before one leaves
        it out. A level on the first side is none on the second. An empty `second`: the same cells,
        by `than`.
    measure : str
        A measure; in matrix games also of a range of steps, such as ``tom_percent 1-10``.
    than : str
        What the first side's measure is held against, in place of the same measure of `second`:
        another measure, or a number.
    where : str
        The tasks, or models, that it is about: COLUMN=VALUE|VALUE, separated by ``;``.
    direction : str
        ``higher``, ``lower``, or ``within X``: no farther apart than X.
    """

    claim: str
    source: str
    place: str
    domain: str
    by: str
    first: str
    second: str
    measure: str
    than: str
    where: str
    direction: str

    def concerns(self, side: Side) -> bool:
        """Return whether a cell is of a task, and a model, that the claim is about."""
        known = {**side.cell.facts, **side.cell.columns}
        asked = (part.partition("=") for part in self.where.split(";") if part)
        return all(_matches(str(known.get(column, "")), values) for column, _, values in asked)

    def verdict(self, low: float, high: float) -> str:
        """Return what an interval of first - second says of the claim."""
        if math.isnan(low) or math.isnan(high):
            return OPEN
        if self.direction.startswith("within"):
            most = float(self.direction.split()[1])
            inside, outside = -most < low and high < most, high < -most or low > most
        elif self.direction == "higher":
            inside, outside = low > 0, high < 0
        else:
            inside, outside = high < 0, low > 0
        return HOLDS if inside else FAILS if outside else OPEN


def shipped_claims() -> list[Claim]:
    """Return the shipped claims, in the order of their file."""
    lines = read_text(shipped("experiments") / FILE).splitlines()
    return [Claim(**row) for row in csv.DictReader(lines)]


def check(claim: Claim, runs: Sequence[Run], reference: str | None = None) -> Iterator[Row]:
    """Yield a row for every pair of levels that a claim is about.

    None if the runs lack a side, or have several cells of one that cannot be told apart. Each has
    ``claim``, ``source``, ``place``, the levels ``first`` and ``second``, the ``measure``,
    ``first_mean`` and ``second_mean`` over the pairs, tasks counting the same, ``difference``
    (first - second) with ``difference_low`` and ``difference_high``, its 95 % interval of this
    claim alone, ``pairs`` of sampling units, as `tomeval.compare` pairs them, and the ``verdict``:
    ``holds`` or ``fails`` if the whole interval says so, else ``cannot be told``.
    """
    window = _WINDOW.fullmatch(claim.measure)
    measure = window[1] if window else claim.measure
    names = [measure, claim.than if claim.than and not _is_number(claim.than) else measure]
    if claim.domain != runs[0].domain.name or claim.by not in known_by(runs[0].domain):
        return
    if not all(name in run.metric_names for name in names for run in runs):
        return
    try:
        read = read_sides(runs, claim.by, names, reference)
    except Incomparable:  # several cells of one level, such as a player with two personas
        return
    sides = [side for side in read if claim.concerns(side)]
    if window:
        sides = [_in_steps(side, measure, int(window[2]), int(window[3])) for side in sides]
    levels = dict.fromkeys(side.level for side in sides)
    for first in [level for level in levels if _matches(level, claim.first)]:
        for second in [level for level in levels if _matches(level, claim.second)] or [""]:
            alone = not claim.second
            if alone or (second and not _matches(second, claim.first)):
                chosen = _against(claim, sides, first) if alone else _two(sides, first, second)
                yield from _row(claim, chosen, first, second, measure)


def _row(claim: Claim, sides: Sequence[Side], first: str, second: str, name: str) -> Iterator[Row]:
    """Yield the row of one pair of levels; none if no episodes of theirs can be paired."""
    try:
        pairing = pair(sides, claim.by, "second", [name])
    except Incomparable:
        return
    found = compare_pairs(pairing, margin=np.array([np.nan]), resamples=99).at("first", name)
    if math.isnan(found["difference"]):  # nobody was asked
        return
    low, high = found["difference_low"], found["difference_high"]
    yield {
        **{"claim": claim.claim, "source": claim.source, "place": claim.place},
        **{"first": first, "second": second or claim.than, "measure": claim.measure},
        **{"first_mean": found["level_mean"], "second_mean": found["baseline_mean"]},
        "difference": found["difference"],
        **{"difference_low": low, "difference_high": high, "pairs": found["pairs"]},
        "claimed": claim.direction,
        "verdict": claim.verdict(low, high),
    }


def _two(sides: Sequence[Side], first: str, second: str) -> list[Side]:
    """Return the cells of two levels."""
    names = {first: "first", second: "second"}
    return [
        replace(side, level=names[side.level], values=side.values[:, :1], sizes=side.sizes[:1])
        for side in sides
        if side.level in names
    ]


def _against(claim: Claim, sides: Sequence[Side], first: str) -> list[Side]:
    """Return the cells of one level twice: by its measure, and by what that is held against."""
    found = []
    for side in sides:
        if side.level == first:
            than = side.values[:, 1:]
            if _is_number(claim.than):
                than = np.where(np.isnan(side.values[:, :1]), np.nan, float(claim.than))
            for level, values in (("first", side.values[:, :1]), ("second", than)):
                found.append(replace(side, level=level, values=values, sizes=side.sizes[:1]))
    return found


def _in_steps(side: Side, measure: str, first: int, last: int) -> Side:
    """Return a cell with the mean of a measure over some steps; NaN if episodes are shorter."""
    cell: Any = side.cell
    by_step = cell.curves()[measure][:, first - 1 : last]
    short = by_step.shape[1] < last - first + 1
    means = np.full(len(by_step), np.nan) if short else by_step.mean(axis=1)
    return replace(side, values=np.repeat(means[:, None], 2, axis=1))


def _matches(text: str, patterns: str) -> bool:
    """Return whether a text is one of those wanted, if any are, and none of those left out."""
    every = patterns.lower().split("|")
    wanted = [pattern for pattern in every if pattern[:1] != "!"]
    out = [pattern[1:] for pattern in every if pattern[:1] == "!"]
    fits = [any(fnmatchcase(text.lower(), one) for one in some) for some in (wanted, out)]
    return (fits[0] or not wanted) and not fits[1]


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def claims_table(runs: Sequence[Run], options: Row) -> tuple[list[Row], list[str], list[str]]:
    """Return a row per claim and pair of levels, the lines above them, and notes."""
    claims = [one for one in shipped_claims() if one.domain == runs[0].domain.name]
    checked = [list(check(claim, runs, options["reference"])) for claim in claims]
    rows = [row for of_claim in checked for row in of_claim]
    above = [f"{len(rows)} checks of {sum(map(bool, checked))} of {len(claims)} claims"]
    notes = ["where nothing differs 1 claim in 40 holds by chance"] if rows else []
    if absent := [claim.claim for claim, found in zip(claims, checked, strict=True) if not found]:
        notes.append(f"these runs cannot tell: {'; '.join(dict.fromkeys(absent))}")
    headings = {name: measure.heading for name, measure in runs[0].measures.items()}
    shown = [_shown(row, headings) for row in rows] if options["form"] not in DATA else rows
    return shown, above, notes


def _shown(row: Row, headings: Mapping[str, str]) -> Row:
    low, mean, high = (row[name] for name in ("difference_low", "difference", "difference_high"))
    digits = decimals([(high - low) / 2], most=3)
    return {
        "claim": f"{row['claim']} ({row['place']})",
        "first": row["first"],
        "second": headings.get(row["second"], row["second"]),
        "means": f"{fixed(row['first_mean'], digits)}, {fixed(row['second_mean'], digits)}",
        "difference": interval(mean, low, high, digits, symmetric=True),
        "pairs": row["pairs"],
        "verdict": row["verdict"],
    }


CLAIMS = Compared(claims_table, ())
