"""Facts that a source reports, beside a run's own numbers: one rule for every domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.csv_files import csv_rows, read_csv
from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.resources import results_path, shown_path
from tomeval.runs.columns import interval_columns
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run

COLUMNS = ("domain", "item", "fact", "value", "unit", "kind", "standing", "source")
"""The header of a file of facts, in any order."""

NUMBER, SETTING, CLAIM = "number", "setting", "claim"
KINDS = (NUMBER, SETTING, CLAIM)
STANDINGS = ("stated", "project page", "second-hand", "rules")
"""Who says it: the paper, its project page, somebody else of the paper, or nobody but the rules."""

_NOTHING = interval_columns("ours", math.nan, math.nan, math.nan)


class Fact(NamedTuple):
    """One line of a file of facts.

    Attributes
    ----------
    item : str
        A measure of the domain, or a name that the domain knows.
    fact : str
        What is reported, in words.
    value : float
        NaN if no number is.
    unit, kind, standing : str
        `kind` is one of `KINDS`, `standing` of `STANDINGS`.
    """

    item: str
    fact: str
    value: float
    unit: str
    kind: str
    standing: str

    @property
    def words(self) -> str:
        """What is reported, with its number."""
        number = "" if math.isnan(self.value) else f" ({self.value:g} {self.unit}".rstrip() + ")"
        return self.fact + number


def holds_facts(path: str | Path) -> bool:
    """Tell whether a CSV, or a shipped one by name, has the columns of facts."""
    return set(read_csv(results_path(path)).columns) == set(COLUMNS)


def read_facts(path: Path, domain: str) -> list[Fact]:
    """Read a CSV with the columns `COLUMNS`, of one domain, every item once.

    Raises
    ------
    TomevalError
        Names the file, the line, the field and the value: other columns, another domain, an unknown
        kind or standing, text in place of a number, a number without a value, an item twice.
    """
    shown, header = shown_path(path), read_csv(path).columns
    if set(header) != set(COLUMNS):
        raise TomevalError(
            f"{shown}: is not a file of facts about the domain {domain!r}: its columns are "
            f"{', '.join(header) or 'none'}, not {', '.join(COLUMNS)}; tomeval list results lists "
            "the shipped files and their domains"
        )
    facts: dict[str, Fact] = {}
    for line, row in csv_rows(path, COLUMNS):
        where = f"{shown}, line {line}"
        if row["domain"] != domain:
            raise TomevalError(
                f"{where}: is about the domain {row['domain']!r}, but the run is of {domain!r}"
            )
        for name, known in (("kind", KINDS), ("standing", STANDINGS)):
            if row[name] not in known:
                raise unknown(name, row[name], known, where)
        texts = (row[name] for name in ("unit", "kind", "standing"))
        fact = Fact(row["item"], row["fact"], _value(row, where), *texts)
        if not fact.item or not fact.fact:
            raise TomevalError(f"{where}: item and fact must not be empty")
        if fact.item in facts:
            raise TomevalError(f"{where}: the item {fact.item!r} is in an earlier line too")
        facts[fact.item] = fact
    return list(facts.values())


def _value(row: Mapping[str, str], where: str) -> float:
    """Return the number of a line; NaN where none is reported."""
    text, kind = row["value"], row["kind"]
    if text == "" and kind != NUMBER:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TomevalError(f"{where}: value {text!r} is not a number")
    if kind == CLAIM:
        raise TomevalError(f"{where}: value {text!r}: a claim must not have a value")
    return value


def beside_facts(
    run: Run,
    path: str | Path,
    model: str | None = None,
    interval: str = "auto",
    reference: str | None = None,
) -> tuple[Rows, list[str]]:
    """Return a run's numbers beside those that a source reports, and why others have none.

    An item that is a measure of the domain stands beside that measure of every cell. What remains
    is in the notes, with reasons, such as those of the domain's `Show.answers`.

    Parameters
    ----------
    path : path
        See `read_facts`; also the name of a file that ships.
    model : None
        Facts are of no model that a run's could take the place of.
    interval, reference
        As for `tomeval.Run.rows`.

    Returns
    -------
    rows : list of dict
        ``item``, ``of``, ``ours`` with its interval, ``reported``, ``difference`` (ours -
        reported), ``unit`` and ``standing``.
    notes : list of str
        Every fact without a row, a line per reason.

    Raises
    ------
    TomevalError
        See `read_facts`; or `model` is given.
    """
    if model is not None:
        raise TomevalError(f"--as-model: {path} names no models; leave it out")
    facts = read_facts(results_path(path), run.domain.name)
    table, answers = run.rows(interval, reference), run.domain.show.answers()
    rows: Rows = []
    left: dict[str, list[str]] = {}
    for fact in facts:
        ours = _ours(run, table, fact, answers)
        if isinstance(ours, str):
            left.setdefault(ours, []).append(fact.words)
            continue
        for row in ours:
            new = {"item": fact.item, "of": row["of"], **_NOTHING, **row, "reported": fact.value}
            new["difference"] = new["ours"] - fact.value
            rows.append(new | {"unit": fact.unit, "standing": fact.standing})
    return rows, [f"not comparable, {why}: {'; '.join(words)}" for why, words in left.items()]


def _ours(run: Run, table: Rows, fact: Fact, answers: Mapping[str, str]) -> Rows | str:
    """Return what a run has for a fact, or why it has nothing."""
    measures = {**run.domain.measures, **run.measures}
    if fact.item in measures:
        rows = _of_cells(run, table, fact.item)
        return rows or f"no cell of this run has {fact.item} ({measures[fact.item].heading})"
    answer = answers.get(fact.item)
    if answer is None and fact.kind == CLAIM:
        return "they are claims, not single numbers"
    if answer is None:
        near = did_you_mean(fact.item, [*measures, *answers])
        return f"the domain {run.domain.name!r} has no measure {fact.item!r}{near}"
    return answer


def _of_cells(run: Run, table: Rows, name: str) -> Rows:
    """Return a measure of every cell that has it."""
    several = len({row["seed"] for row in table}) > 1
    return [
        {"of": f"{cell.name}, seed {row['seed']}" if several else cell.name, **as_ours(row, name)}
        for cell, row in zip(run.cells, table, strict=True)
        if name in row and math.isfinite(row[name])
    ]


def as_ours(row: Mapping[str, Any], name: str) -> dict[str, float]:
    """Return a column of a table and those of its interval as the columns ``ours``."""
    return {key: row[name + key.removeprefix("ours")] for key in _NOTHING}
