"""The memory effect: what twins cost a player beyond the famous game, episode by episode."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tomeval.comparing.comparison import compare_pairs
from tomeval.comparing.pairing import pair
from tomeval.comparing.sides import Side, read_sides
from tomeval.core.errors import TomevalError
from tomeval.core.numbers import fixed, interval, p_text
from tomeval.core.parts import Compared
from tomeval.extensions.fresh.twins import said_kinds
from tomeval.games.matrix.results import MatrixRunCell
from tomeval.report.tables import DATA
from tomeval.runs.columns import interval_columns
from tomeval.runs.results import Run
from tomeval.statistics.paired import holm

REGRET, LITERAL = "delta_functional_per_step", "tom_percent"
NAMES = {REGRET: ("regret", 3), LITERAL: ("ToM %", 1)}
"""How readers know the measures, and digits."""
PLAYER = ("subject", "model", "strategy")
ANY = "any"

Pair = tuple[Side, Side]
Rows = list[dict[str, Any]]


def pairs(runs: Sequence[Run], reference: str | None = None) -> list[Pair]:
    """Return the cell of each famous game beside that of a twin of it, as one task.

    Regret is per step, in the famous game's payoffs.

    Raises
    ------
    TomevalError
        There is no twin whose game was played too.
    """
    sides = read_sides(runs, None, list(NAMES), reference)
    famous = {(_task(side), _cell(side).game.name): side for side in sides}
    found = []
    for side in sides:
        disguise = _cell(side).game.disguise
        other = famous.get((_task(side), disguise.of)) if disguise else None
        if disguise is not None and other is not None:
            task = {"game": disguise.of, "disguised": said_kinds(disguise.kinds)}
            task["otherwise"] = _task(side)
            values = side.values / [disguise.scale[0], 1.0]
            twin = replace(side, level="twin", held="", task=task, values=values)
            found.append((replace(other, level="famous", held="", task=task), twin))
    if not found:
        raise TomevalError(
            "no twin was played together with its game: the memory effect needs games = [{ twins = "
            "{ of = [...] } }], see docs/measures/fresh.md"
        )
    return found


def _cell(side: Side) -> MatrixRunCell:
    assert isinstance(side.cell, MatrixRunCell)
    return side.cell


def _task(side: Side) -> str:
    """Return what a twin and its game have in common, as text."""
    defined = side.cell.definition
    keys = ("subject", "kind", "model", "strategy", "options", "horizon", "on_invalid")
    more = [defined["partners"]["name"], side.seed, side.cell.reference]
    more += [defined["continuation"]] if "continuation" in defined else []
    return json.dumps([[defined.get(key) for key in keys], more], sort_keys=True)


def effects(paired: Sequence[Pair]) -> Rows:
    """Return a row per player, measure and part of its pairs; Holm over all rows of a measure.

    Parts are all of a player's pairs, each disguise and each game. Columns: `PLAYER`, ``measure``,
    ``game``, ``disguised``, ``episodes``, the means ``famous`` and ``twin``, the ``effect``, twin
    minus famous, with its interval, ``p`` and ``p_holm``.
    """
    players: dict[tuple[Any, ...], list[Pair]] = {}
    for one in paired:
        player = tuple(one[1].cell.columns[name] for name in PLAYER)
        players.setdefault(player, []).append(one)
    rows = [
        {**dict(zip(PLAYER, player, strict=True)), "measure": measure, "game": game}
        | {"disguised": disguised, **row}
        for player, own in players.items()
        for game, disguised, chosen in _parts(own)
        for measure, row in effect(chosen).items()
    ]
    for measure in NAMES:
        family = [row for row in rows if row["measure"] == measure]
        for row, p in zip(family, holm([row["p"] for row in family]), strict=True):
            row["p_holm"] = float(p)
    return sorted(rows, key=lambda row: [*NAMES].index(row["measure"]))


def _parts(own: Sequence[Pair]) -> Iterator[tuple[str, str, list[Pair]]]:
    of_game: dict[str, list[Pair]] = {}
    of_kind: dict[str, list[Pair]] = {}
    for one in own:
        of_game.setdefault(one[1].task["game"], []).append(one)
        of_kind.setdefault(one[1].task["disguised"], []).append(one)
    # one disguise alone would stand twice, and count twice for Holm
    yield "all", next(iter(of_kind)) if len(of_kind) == 1 else ANY, list(own)
    if len(of_kind) > 1:
        yield from (("all", kind, chosen) for kind, chosen in of_kind.items())
    if len(of_game) > 1:
        yield from ((game, ANY, chosen) for game, chosen in of_game.items())


def effect(chosen: Sequence[Pair]) -> dict[str, dict[str, Any]]:
    """Return a row for each measure of some pairs of one player, see `effects`.

    Twins of a game share its episodes, so they are averaged by episode; games count the same and
    are no sample: the interval is about these games. There is none where nothing differs, or every
    distinct episode was played once.
    """
    # the famous game's cell says which pairs met the same chance, so it stands for the level
    pairing = pair([side for one in chosen for side in one], "game", "twin", list(NAMES))
    found = compare_pairs(pairing, margin=np.full(len(NAMES), np.nan), resamples=99)
    exact = all(_cell(side).each_once for one in chosen for side in one)
    rows = {}
    for measure in NAMES:
        row = found.at("famous", measure)
        if not math.isnan(row["difference"]):  # else it was not asked
            none = exact or row["verdict"] == "identical"
            ends = ("difference_high", "difference_low", "p_t")
            high, low, p = (math.nan if none else row[name] for name in ends)
            means = {"famous": row["level_mean"], "twin": row["baseline_mean"]}
            columns = interval_columns("effect", 0.0 - row["difference"], -high, -low)
            rows[measure] = {"episodes": row["pairs"], **means, **columns, "p": p}
    return rows


def _read(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of `effects` for readers."""
    name, digits = NAMES[row["measure"]]
    mean, _, low, high = [
        row.pop(f"effect{end}") for end in ("", "_ci95", "_ci95_low", "_ci95_high")
    ]
    row |= {"measure": name, **{side: fixed(row[side], digits) for side in ("famous", "twin")}}
    numbers = {"p": p_text(row.pop("p")), "p_holm": p_text(row.pop("p_holm"))}
    return row | {"effect": interval(mean, low, high, digits), **numbers}


ABOVE = "memory effect: twin minus famous game by episode, in the famous game's payoffs and ToM %"
NOTE = "regret above 0 or ToM % below 0: worse where disguised; Student's t, Holm in a measure"


def _compared(runs: Sequence[Run], options: dict[str, Any]) -> tuple[Rows, list[str], list[str]]:
    rows = effects(pairs(runs, options["reference"]))
    return [_read(row) for row in rows] if options["form"] not in DATA else rows, [ABOVE], [NOTE]


MEMORY = Compared(_compared)
