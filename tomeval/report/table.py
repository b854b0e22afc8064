"""The main table of a report: a row per cell, ready for the template."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.report.tables import HEADINGS

_FILTERS = ("game", "labels", "partners", "horizon", "model", "strategy", "reference", "on_invalid")
_MOST_CHOICES = 40
_DESCRIPTIVE = ("subject", "model", "strategy", "game", "labels", "partners", "horizon", "seed")


class Value(NamedTuple):
    """One cell of the table: what is shown, what is shown small below it, and what sorts it."""

    text: str
    small: str
    sort: str


class Column(NamedTuple):
    """One column: its key, its heading, whether it holds numbers."""

    key: str
    heading: str
    numeric: bool


class Table(NamedTuple):
    """The table as the template reads it.

    `shared` holds (heading, value) of what is the same in all rows; `filters` the columns that a
    reader can choose a value of, as (key, heading, values).
    """

    columns: list[Column]
    rows: list[list[Value]]
    shared: list[tuple[str, str]]
    filters: list[tuple[str, str, list[str]]]


def main_table(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> Table:
    """Return the table of `Run.rows`.

    Parameters
    ----------
    rows : sequence of mapping
        One per cell.
    metrics : sequence of str
        Columns that come with an interval.

    Returns
    -------
    Table
        Columns in which all rows agree are told once in `shared`, those that are empty everywhere
        are left out; metrics always have a column.
    """
    columns, shared, filters = [], [], []
    same_name = all(row["subject"] == row["strategy"] for row in rows)
    for key in rows[0]:
        if key.endswith(("_ci95", "_ci95_low", "_ci95_high")) or (key == "strategy" and same_name):
            continue
        heading = HEADINGS.get(key, key.replace("_", " "))
        values = list(dict.fromkeys(row[key] for row in rows))
        if key not in metrics and all(value in ("", None) for value in values):
            continue
        if key not in (*metrics, "subject", "invalid_rate", "episodes") and len(values) == 1:
            if len(rows) > 1 or key not in _DESCRIPTIVE:
                shared.append((heading, str(values[0])))
                continue
        elif key in _FILTERS and 1 < len(values) <= _MOST_CHOICES:
            filters.append((key, heading, [str(value) for value in values]))
        columns.append(Column(key, heading, isinstance(rows[0][key], int | float)))
    body = [[value_of(row, column.key) for column in columns] for row in rows]
    return Table(columns, body, shared, filters)


def value_of(row: Mapping[str, Any], key: str) -> Value:
    """Return one cell of the table."""
    value = row[key]
    if not isinstance(value, float):
        return Value("" if value is None else str(value), "", "" if value is None else str(value))
    if math.isnan(value):
        return Value("–", "", "")
    if key == "invalid_rate":
        return Value(f"{100 * value:.1f}", "", repr(value))
    digits = 2 if key.endswith("percent") else 3
    return Value(minus(f"{value:.{digits}f}"), _interval(row, key, digits), repr(value))


def _interval(row: Mapping[str, Any], key: str, digits: int) -> str:
    """Return the interval of a metric in words, or an empty string where there is none."""
    half = row.get(f"{key}_ci95")
    if half is None or math.isnan(half):
        return ""
    low, high = row.get(f"{key}_ci95_low"), row.get(f"{key}_ci95_high")
    if low is not None and high is not None:
        return minus(f"[{low:.{digits}f}, {high:.{digits}f}]")
    return f"± {half:.{digits}f}"


def minus(text: str) -> str:
    """Return a number's text with a true minus sign."""
    return text.replace("-", "−")
