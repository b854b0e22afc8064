"""The tables of a report's results: the chosen measures, and all others of the same cells."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.report.table import Table, main_table
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.statistics.estimates import AUTO, FEW

_INTERVALS = {
    AUTO: "mean over complete episodes with its 95 % interval: Student's below {few} {unit}s, "
    "± 1.96 standard errors from there on",
    "normal": "mean over complete episodes, ± 1.96 standard errors (95 %)",
    "t": "mean over complete episodes with Student's 95 % interval",
    "bca": "mean over complete episodes, weighted by what they drew (such as their partner), with "
    "its 95 % BCa bootstrap interval",
}


def interval_words(run: Run, interval: str) -> str:
    """Say how the table's numbers are made."""
    shares = any(cell.totals(name).share for cell in run.cells for name in run.measures)
    words = _INTERVALS[interval].format(few=FEW, unit=run.domain.unit)
    if interval != "bca":
        words += (
            "; of measures with bounds the score interval, which ends where no true mean can be"
        )
    return words + "; shares of items have Wilson's interval" * shares


def results(
    run: Run, rows: Sequence[Mapping[str, Any]], names: Collection[str], interval: str
) -> dict[str, Any]:
    """Return what the template ``results`` reads; `names` are the measures of the first table."""
    others = [measure for measure in valued(run, rows) if measure.name not in names]
    return {
        "table": main_table(rows, run.measures, names),
        "more": main_table(rows, run.measures, [m.name for m in others]) if others else None,
        "others": len(others),
        "further": further(run),
        "numbers": [cell.number for cell in run.cells],
        "interval": interval_words(run, interval),
    }


class Further(NamedTuple):
    """One of the domain's own tables: its name, what it shows, the table, sentences below it."""

    name: str
    about: str
    table: Table
    notes: list[str]


def further(run: Run) -> list[Further]:
    """Return the domain's own tables that a run has data for and a report shows."""
    found = []
    for name in run.domain.reported(run):
        rows = run.domain.tables[name](run, [])
        if rows:
            about = getattr(run.domain.tables[name], "about", "") or name
            notes = run.domain.notes_of_table(run, name)
            known = {key: run.measures[key] for key in run.measures if key in rows[0]}
            found.append(Further(name, about, main_table(rows, known), notes))
    return found


def valued(run: Run, rows: Sequence[Mapping[str, Any]]) -> list[Measure]:
    """Return the measures with a value in some cell; all measures if none has."""
    found = [
        measure
        for name, measure in run.measures.items()
        if any(math.isfinite(float(row[name])) for row in rows)
    ]
    return found or list(run.measures.values())
