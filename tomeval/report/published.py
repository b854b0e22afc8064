"""A run's table in the form of published ones, and published numbers beside a run's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.report.pivot import AS_IT_IS, Words
from tomeval.report.rows import grid_of
from tomeval.report.views import Asked, View, chosen_rows
from tomeval.runs.best_of import best_of
from tomeval.runs.columns import is_interval
from tomeval.runs.reported import beside_facts, holds_facts
from tomeval.runs.results import Run, joined, joined_rows
from tomeval.statistics import AUTO

Rows = list[dict[str, Any]]


def published_rows(
    runs: Sequence[Run], asked: Asked, best: Sequence[str] = ()
) -> tuple[Rows, Asked, list[str]]:
    """Return the rows of one or several runs as published tables have them, and notes.

    What is `asked` for is returned with what it leaves open: the published measures, their order
    and their intervals, mean ± 1.96 sd/√n. `best` are patterns of `tomeval.runs.best_of`.

    Raises
    ------
    TomevalError
        There are no published tables of this domain.
    """
    whole = joined(runs)
    form = whole.domain.show.published
    if form is None:
        raise TomevalError(f"--published: {whole.domain.name} has no published tables")
    interval = "normal" if asked.interval == AUTO else asked.interval
    rows = joined_rows(runs, None, interval, asked.reference)
    rows, notes = best_of(runs[0], rows, best) if best else (rows, [])
    rows, measures, more = form(whole, rows)
    metrics, sort = asked.metrics or tuple(measures), asked.sort or AS_IT_IS
    return rows, asked._replace(metrics=metrics, sort=sort, interval=interval), notes + more


def beside(
    run: Run, against: str | Path, as_model: str | None, interval: str, reference: str | None
) -> tuple[Rows, list[str]]:
    """Return the rows of a run with published results, a CSV or a shipped one, beside; and notes.

    `as_model` is the published model that stands beside every model of the run.
    """
    own = None if holds_facts(against) else run.domain.show.beside
    return (own or beside_facts)(run, Path(against), as_model, interval, reference)


def plain_view(run: Run, rows: Rows, asked: Asked, words: Words) -> View:
    """Return a table other than that of cells, without the columns that have no number."""
    if not rows:
        return View([], [])
    gone: set[str] = set()
    measure = ""
    for column in rows[0]:
        measure = measure if is_interval(column) else column
        values = [row[column] for row in rows]
        if measure in gone or all(isinstance(v, float) and math.isnan(v) for v in values):
            gone.add(column)
    left = [{name: value for name, value in row.items() if name not in gone} for row in rows]
    chosen = chosen_rows(left, run.measures, asked)
    return View([grid_of(chosen, run.measures, None, run.domain.show.aside, words=words)], [])
