"""The main table of a report: a row per cell, ready for the template."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tomeval.core.numbers import MISSING, fixed, typeset
from tomeval.runs.columns import heading, interval_of, is_interval
from tomeval.runs.measures import Measure

_MOST_CHOICES = 40
_ALWAYS = ("invalid_rate", "episodes")
_UNFILTERED = (*_ALWAYS, "seed")


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


def main_table(rows: Sequence[Mapping[str, Any]], measures: Mapping[str, Measure]) -> Table:
    """Return the table of `Run.rows`.

    Parameters
    ----------
    rows : sequence of mapping
        One per cell.
    measures : mapping of str to Measure
        Columns that come with an interval.

    Returns
    -------
    Table
        Columns in which all rows agree are told once in `shared`, those that are empty everywhere
        are left out, but no measure of a run that has no value at all.
    """
    columns, shared, filters = [], [], []
    first = next(iter(rows[0]))
    valued = {name for name in measures if any(row[name] == row[name] for row in rows)}
    same_name = all(row.get("strategy") == row[first] for row in rows)
    for key in rows[0]:
        if is_interval(key) or (key == "strategy" and same_name):
            continue
        if valued and key in measures and key not in valued:
            continue
        named = heading(key, measures)
        values = list(dict.fromkeys(row[key] for row in rows))
        if key not in measures and all(value in ("", None) for value in values):
            continue
        if key not in (*measures, first, *_ALWAYS) and len(values) == 1:
            if len(rows) > 1 or key in ("reference", "on_invalid"):
                shared.append((named, str(values[0])))
                continue
        elif key not in (*measures, first, *_UNFILTERED) and len(values) <= _MOST_CHOICES:
            filters.append((key, named, [str(value) for value in values]))
        columns.append(Column(key, named, isinstance(rows[0][key], int | float)))
    body = [[value_of(row, column.key, measures) for column in columns] for row in rows]
    return Table(columns, body, shared, filters)


def value_of(row: Mapping[str, Any], key: str, measures: Mapping[str, Measure]) -> Value:
    """Return one cell of the table."""
    value = row[key]
    if not isinstance(value, float):
        return Value("" if value is None else str(value), "", "" if value is None else str(value))
    if math.isnan(value):
        return Value(MISSING, "", "")
    if key == "invalid_rate":
        return Value(f"{100 * value:.1f}", "", repr(value))
    digits = measures[key].digits if key in measures else 3
    return Value(typeset(fixed(value, digits)), _interval(row, key, digits), repr(value))


def _interval(row: Mapping[str, Any], key: str, digits: int) -> str:
    """Return the interval of a measure in words, or an empty string where there is none."""
    found = interval_of(row, key)
    if found is None:
        return ""
    if found.ends is None:
        return f"± {fixed(found.half, digits)}"
    low, high = found.ends
    return typeset(f"[{fixed(low, digits)}, {fixed(high, digits)}]")
