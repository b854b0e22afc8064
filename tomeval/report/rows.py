"""Rows as a table for reading: which columns stay, and the text of every cell."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tomeval.core.numbers import MISSING, decimals, fixed, interval, plus_minus
from tomeval.report.tables import Grid
from tomeval.runs.columns import (
    LENIENT,
    OF_CELLS,
    RATES,
    SETTINGS,
    has_interval,
    heading,
    interval_of,
    is_attainable,
    is_even,
    is_interval,
)
from tomeval.runs.measures import Measure, digits_of

INTERVAL = "interval"
"""The column that says of which kind a row's intervals are."""

_NUMBER = re.compile(r"–?|[-+<]?\d[\d.,]*(e-?\d+)?( [±\[].*)?")

Row = Mapping[str, Any]
Rows = Sequence[Row]


def grid_of(
    rows: Rows,
    measures: Mapping[str, Measure] | None = None,
    keep: Sequence[str] = (),
    words: Callable[[str], str] = str,
    spare: Sequence[str] = (),
) -> Grid:
    """Return rows of equal keys as a grid: a measure and its interval share a column.

    Columns in which all rows agree are said once, above the table.

    Parameters
    ----------
    measures : mapping of str to Measure, optional
        Headings, decimals and better sides of the columns that are measures: `Run.measures`.
    keep : sequence of str
        Columns that stay, even where all rows agree in them.
    words : callable
        Makes a text safe for the format.
    spare : sequence of str
        Columns that a narrow terminal leaves out, the first one first.

    Examples
    --------
    >>> from tomeval.report.tables import set_grid
    >>> row = {"game": "RPS", "tom_percent": 97.41, "tom_percent_ci95": 0.4}
    >>> print(set_grid(grid_of([row]), "text"))
    game  tom %
    RPS   97.41 ± 0.40
    """
    rows = [{k: words(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    columns = columns_of(rows, keep)
    body = [list(row) for row in zip(*(texts(rows, column) for column in columns), strict=True)]
    return Grid(
        above=shared_words(rows, columns, measures),
        heads=[words(heading(column, measures)) for column in columns],
        body=body,
        lead=_lead(rows, columns),
        spare=[columns.index(name) for name in spare if name in columns],
    )


def sorted_rows(rows: Rows, measure: Measure, task: Sequence[str]) -> list[Row]:
    """Return rows sorted within their task, the better side first, those without a value last."""
    side = -(measure.better or -1)
    tasks = list(dict.fromkeys(tuple(row.get(part) for part in task) for row in rows))

    def key(row: Row) -> tuple[int, bool, Any]:
        value, place = row[measure.name], tasks.index(tuple(row.get(part) for part in task))
        return (place, not is_number(value), side * value if is_number(value) else 0)

    return sorted(rows, key=key)


def texts(rows: Rows, column: str) -> list[str]:
    """Return the cells of one column, all with as many decimals."""
    digits, even = digits_for(rows, column), is_even(rows, column)
    return [_cell(row, column, digits, even) for row in rows]


def digits_for(rows: Rows, column: str) -> int:
    """Return how many decimals a column's values have by their intervals."""
    halves = [float(row[f"{column}_ci95"] or 0) for row in rows if has_interval(row, column)]
    return decimals(halves, digits_of(column))


def _cell(row: Row, column: str, digits: int, even: bool) -> str:
    """Return one cell; `even`: with half the width of its interval in place of the ends."""
    value = row[column]
    if column in RATES and isinstance(value, float):
        return fixed(100 * value, 1)
    if has_interval(row, column):
        if value is None:
            return MISSING
        spread = interval_of(row, column)
        if spread is None:
            return fixed(value, digits)
        if math.isinf(value) and spread.ends is not None:
            known = spread.ends[value < 0]  # the other end is infinite too
            return f"{'<' if value < 0 else '>'} {fixed(known, digits)}"
        if even or spread.ends is None:
            return plus_minus(value, spread.half, digits)
        return interval(value, *spread.ends, digits)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and (column.endswith("_percent") or is_attainable(column)):
        value = round(value, digits)
    if isinstance(value, float):
        return MISSING if math.isnan(value) else f"{value + 0.0:.6g}"
    return "" if value is None else str(value)


def is_number(value: Any) -> bool:
    """Return whether a value of a table is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def repeats(rows: Rows) -> set[str]:
    """Return the columns that say nothing.

    The parts of a strategy, as it says them; ``strategy``, where language models' subjects are
    named by it with their options, and the share of answers that were read leniently, where none
    was.
    """
    silent = set(OF_CELLS.values()) - {"strategy"} if "strategy" in rows[0] else set()
    silent |= set() if any(row.get(LENIENT.name, 0) > 0 for row in rows) else {LENIENT.name}
    for name in ("subject", "player"):
        if {name, "strategy"} <= rows[0].keys() and all(
            not row["strategy"] or f"{row[name]}(".startswith(f"{row['strategy']}(") for row in rows
        ):
            silent.add("strategy")
    return silent


def columns_of(rows: Rows, keep: Sequence[str] = ()) -> list[str]:
    """Return the columns to show: those in which rows differ, measures, and what is to `keep`.

    Not those that say nothing: empty ones, the ends of intervals, and what `repeats`. Rows that are
    all the same are shown as they are.
    """
    first = rows[0]
    drop = {name for name in first if is_interval(name)} | (repeats(rows) - set(keep))
    measured = [name for name in first if has_interval(first, name)]
    drop |= {n for n in first if n not in measured and all(_is_empty(row[n]) for row in rows)}
    empty = {name for name in measured if not any(is_number(row[name]) for row in rows)}
    drop |= empty if len(empty) < len(measured) else set()
    kept = [
        name
        for name in first
        if name not in drop
        and (len(rows) == 1 or name in keep or name in measured or _differ(rows, name))
    ]
    return kept or list(first)


def _is_empty(value: Any) -> bool:
    return value in ("", None) or (isinstance(value, float) and math.isnan(value))


def _differ(rows: Rows, name: str) -> bool:
    return len({row[name] for row in rows}) > 1


def shared_words(
    rows: Rows, shown: Sequence[str], measures: Mapping[str, Measure] | None = None
) -> list[str]:
    """Return what rows share besides the columns shown, and the range of what they do not.

    That is episodes and the rates of answers; of a rate that differs the row with most is named.
    """
    said = []
    silent = {*repeats(rows), *shown}
    for name, value in rows[0].items():
        if name in silent or is_interval(name) or has_interval(rows[0], name):
            continue
        values = [row[name] for row in rows]
        known = [value for value in values if is_number(value)]
        if not _differ(rows, name):
            if value not in ("", None):
                said.append(f"{heading(name, measures)} {texts(rows[:1], name)[0]}")
        elif name == "episodes":
            said.append(f"episodes {min(values)} to {max(values)}")
        elif name in RATES and known:
            ends = fixed(100 * min(known), 1)
            if max(known) > min(known):
                row = next(row for row in rows if row[name] == max(known))
                where = ", ".join(str(row[key]) for key in shown if row[key] != "")
                ends += f" to {fixed(100 * max(known), 1)} (most: {where})"
            said.append(f"{heading(name)} {ends}")
        elif name == INTERVAL:
            kinds = sorted({value or "none" for value in values})
            said.append(f"{heading(name)} {' or '.join(kinds)}")
    return said


def _lead(rows: Rows, columns: Sequence[str]) -> list[int]:
    """Return which columns tell the rows apart: leading ones with words, and settings if needed."""

    def worded(name: str) -> bool:
        words = [row[name] for row in rows if isinstance(row[name], str)]
        return bool(words) and not all(map(_NUMBER.fullmatch, words))

    first = next((i for i, name in enumerate(columns) if not worded(name)), len(columns))
    lead = list(range(first))
    if len({tuple(row[columns[i]] for i in lead) for row in rows}) < len(rows):
        lead += [i for i, name in enumerate(columns) if name in SETTINGS and i >= first]
    return lead or [0]
