"""The tables of a report, ready for the template: results, the domain's own, and comparisons."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.numbers import typeset
from tomeval.plots.drawing import CUT, INTERVAL_WORDS
from tomeval.report.comparisons import RAW, comparison_rows
from tomeval.report.rows import columns_of, texts
from tomeval.runs.columns import ATTAINABLE, RATES, heading
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.statistics.estimates import SEQUENCE

if TYPE_CHECKING:
    from tomeval.comparing.comparison import Comparison

_ALWAYS = (*RATES, "episodes")


class Value(NamedTuple):
    """One cell of the table: its text, the small text below it, and its key for sorting."""

    text: str
    small: str
    sort: str


class Column(NamedTuple):
    """One column: its key, its heading, and whether it holds numbers."""

    key: str
    heading: str
    numeric: bool


class Table(NamedTuple):
    """The table as the template reads it.

    `shared` holds the (heading, value) pairs that are the same in all rows.
    """

    columns: list[Column]
    rows: list[list[Value]]
    shared: list[tuple[str, str]]


def main_table(
    rows: Sequence[Mapping[str, Any]],
    measures: Mapping[str, Measure],
    shown: Collection[str] | None = None,
) -> Table:
    """Return the table of `Run.rows`, a row per cell; `measures` have an interval.

    Columns in which all rows agree are shown once, in `shared`. Columns that are empty everywhere
    are left out, except for the measures of a run in which no measure has a value. Of the measures
    only those in `shown` have a column, with what is attainable in them; default: all.
    """
    first = next(iter(rows[0]))
    same, keys = columns_of(rows, (first, *_ALWAYS, *measures))
    out = set(measures) - set(measures if shown is None else shown)
    keys = [key for key in keys if key.removesuffix(ATTAINABLE) not in out]
    columns = [Column(k, heading(k, measures), isinstance(rows[0][k], int | float)) for k in keys]
    body = [
        [_value(text, row[key]) for row, text in zip(rows, texts(rows, key), strict=True)]
        for key in keys
    ]
    shared = [(heading(key, measures), texts(rows, key)[0]) for key in same]
    return Table(columns, [list(row) for row in zip(*body, strict=True)], shared)


_ENDS = re.compile(r" (?=± |\[)")


def _value(text: str, raw: Any) -> Value:
    """Return the text of a cell as `tomeval table` prints it, its interval in small."""
    if not isinstance(raw, float):
        return Value(text, "", "" if raw is None else str(raw))
    number, *ends = _ENDS.split(text, maxsplit=1)
    return Value(typeset(number), typeset("".join(ends)), "" if math.isnan(raw) else repr(raw))


def comparison_table(found: Comparison, by_task: bool = True) -> Table:
    """Return the comparisons over all tasks, or with `by_task` also those of every task."""
    shown = comparison_rows(found, "text", by_task=by_task)
    keys = [found.by, *(key for key in shown[0] if key != found.by)]
    columns = [Column(key, "task" if key == "scope" else key, key in RAW) for key in keys]
    rows = [
        [_value(str(row[key]), full[RAW[key]] if key in RAW else row[key]) for key in keys]
        for row, full in zip(shown, found.rows(None if by_task else [0]), strict=True)
    ]
    return Table(columns, rows, [])


def interval_words(run: Run, interval: str) -> str:
    """Say how the table's numbers are made."""
    shares = any(cell.totals(name).share for cell in run.cells for name in run.measures)
    interval = run.method(interval)
    words = INTERVAL_WORDS[interval].replace("episodes", f"{run.domain.compare.unit}s")
    words = f"means over complete episodes, with {words}"
    if interval == SEQUENCE:
        return words
    return f"{words}; {CUT}" + "; shares of items have Wilson intervals" * shares


class Further(NamedTuple):
    """A table besides the first one: what it shows, the table, sentences below it."""

    about: str
    table: Table
    notes: list[str]


def further(run: Run) -> list[Further]:
    """Return the further tables that a run has data for and a report shows."""
    tables = []
    for table in run.tables.values():
        rows = table.rows(run, []) if table.reported(run) else []
        if rows:
            known = {key: run.measures[key] for key in run.measures if key in rows[0]}
            tables.append(Further(table.about, main_table(rows, known), table.notes(run)))
    return tables


def valued(run: Run, rows: Sequence[Mapping[str, Any]]) -> list[Measure]:
    """Return the measures with a value in some cell; all measures if none has."""
    with_values = [
        measure
        for name, measure in run.measures.items()
        if any(math.isfinite(float(row[name])) for row in rows)
    ]
    return with_values or list(run.measures.values())
