"""Facts that a source reports, beside a run's own numbers: one rule for every domain."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.resources import csv_rows, read_csv, results_path, shown_path
from tomeval.runs.columns import interval_columns
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run

COLUMNS = ("domain", "item", "fact", "value", "unit", "kind", "standing", "source")
"""The header of a file of facts, in any order."""

KINDS = ("number", "setting", "claim")
STANDINGS = ("stated", "project page", "second-hand", "rules")
"""Who says it: the paper, its project page, somebody else of the paper, or nobody but the rules."""


class Fact(NamedTuple):
    """One line of a file of facts; its value is NaN if no number is reported."""

    item: str
    fact: str
    value: float
    unit: str
    kind: str
    standing: str


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
    facts: dict[str, Fact] = {}
    for line, row in csv_rows(path, COLUMNS):
        where = f"{shown_path(path)}, line {line}"
        if row["domain"] != domain:
            raise TomevalError(
                f"{where}: is about the domain {row['domain']!r}, but the run is of {domain!r}"
            )
        for name, known in (("kind", KINDS), ("standing", STANDINGS)):
            if row[name] not in known:
                raise unknown(name, row[name], known, where)
        try:
            value = float(row["value"] or "nan")
        except ValueError:
            value = math.inf
        lacks = row["kind"] == "number" and math.isnan(value)
        if lacks or math.isinf(value) or (row["kind"] == "claim" and row["value"]):
            wanted = "empty, as it is of a claim" if row["kind"] == "claim" else "a number"
            raise TomevalError(f"{where}: value {row['value']!r} must be {wanted}")
        if not row["item"] or not row["fact"] or row["item"] in facts:
            why = "is in an earlier line too" if row["item"] in facts else "or its fact is empty"
            raise TomevalError(f"{where}: item {row['item']!r} {why}")
        texts = (row[name] for name in ("unit", "kind", "standing"))
        facts[row["item"]] = Fact(row["item"], row["fact"], value, *texts)
    return list(facts.values())


def beside_facts(
    run: Run,
    path: str | Path,
    model: str | None = None,
    interval: str = "auto",
    reference: str | None = None,
) -> tuple[Rows, list[str]]:
    """Return a run's numbers beside those that a source reports, and why others have none.

    An item that is a measure of the domain stands beside that measure of every cell that has it.

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
    table, measures = run.rows(interval, reference), {**run.domain.measures, **run.measures}
    columns = interval_columns("ours", math.nan, math.nan, math.nan)
    several = len({row["seed"] for row in table}) > 1
    rows: Rows = []
    left: dict[str, list[str]] = {}
    for fact in read_facts(results_path(path), run.domain.name):
        before = len(rows)
        for cell, row in zip(run.cells, table, strict=True):
            if fact.item in measures and math.isfinite(row.get(fact.item, math.nan)):
                of = f"{cell.name}, seed {row['seed']}" if several else cell.name
                ours = {name: row[fact.item + name.removeprefix("ours")] for name in columns}
                reported = {"reported": fact.value, "difference": ours["ours"] - fact.value}
                said = {"unit": fact.unit, "standing": fact.standing}
                rows.append({"item": fact.item, "of": of, **ours, **reported, **said})
        if len(rows) == before:
            if fact.item in measures:
                why = f"no cell of this run has {measures[fact.item].heading}"
            elif fact.kind == "number":
                near = did_you_mean(fact.item, measures)
                why = f"the domain {run.domain.name!r} has no measure {fact.item!r}{near}"
            else:
                why = f"a {fact.kind} is no measure"
            number = "" if math.isnan(fact.value) else f" ({fact.value:g} {fact.unit}".rstrip()
            left.setdefault(why, []).append(fact.fact + number + ")" * bool(number))
    return rows, [f"not comparable, {why}: {'; '.join(facts)}" for why, facts in left.items()]
