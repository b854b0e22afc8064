"""Rows as a table for reading: which columns stay, and the text of every cell."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tomeval.core.numbers import MISSING, decimals, fixed, interval, plus_minus
from tomeval.report.tables import Grid
from tomeval.runs.columns import (
    LENIENT,
    RATES,
    has_interval,
    heading,
    interval_of,
    is_attainable,
    is_even,
    is_interval,
)
from tomeval.runs.measures import SCORES, Measure, digits_of

_NUMBER = re.compile(r"–?|[-+<]?\d[\d.,]*(e-?\d+)?( [±\[].*)?")
_SETTINGS = ("seed", "on_invalid")
"""Columns at the end that tell rows apart where those at the front do not."""

K = TypeVar("K")
Row = Mapping[str, Any]
Rows = Sequence[Row]


def grid_of(
    rows: Rows,
    measures: Mapping[str, Measure] | None = None,
    task: Sequence[str] | None = None,
    aside: Sequence[str] = (),
    keep: Sequence[str] = (),
    words: Callable[[str], str] = str,
    spare: Sequence[str] = (),
) -> Grid:
    """Return rows of equal keys as a grid: a measure and its interval share a column.

    Parameters
    ----------
    measures, task
        As for `tomeval.report.tables.render`.
    aside : sequence of str
        Measures that are left out, and named above, where all rows share one value, or where each
        has the value of an earlier measure.
    keep : sequence of str
        Columns that stay, even where all rows agree in them.
    words : callable
        Makes a text safe for the format.
    spare : sequence of str
        Columns that a narrow terminal leaves out, the first one first.
    """
    rows = [{k: words(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    same, columns = columns_of(rows, keep)
    shared = [f"{heading(name, measures)} {texts(rows[:1], name)[0]}" for name in same]
    said, columns = _put_aside(rows, columns, measures, aside)
    body = [[""] * len(columns) for _ in rows]
    for index, column in enumerate(columns):
        for line, text in zip(body, texts(rows, column), strict=True):
            line[index] = text
    return Grid(
        above=[*shared, *said],
        heads=[words(heading(column, measures)) for column in columns],
        body=body,
        lead=_lead(rows, columns),
        best=best_cells(rows, columns, measures or {}, task) if task is not None else set(),
        spare=[columns.index(name) for name in spare if name in columns],
    )


def texts(rows: Rows, column: str, digits: int | None = None) -> list[str]:
    """Return the cells of one column; default: with `digits_for` it."""
    digits = digits_for(rows, column) if digits is None else digits
    even = is_even(rows, column)
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


def best_cells(
    rows: Rows, columns: Sequence[str], measures: Mapping[str, Measure], task: Sequence[str]
) -> set[tuple[int, int]]:
    """Return row and column of the best mean of each measure in a task, see `clearly_best`."""
    groups: dict[tuple[Any, ...], dict[int, Row]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(tuple(row.get(name) for name in task), {})[number] = row
    return {
        (number, index)
        for index, name in enumerate(columns)
        if name in measures and has_interval(rows[0], name)
        for group in groups.values()
        for number in clearly_best(group, name, measures[name].better)
    }


def clearly_best(rows: Mapping[K, Row], name: str, side: int) -> set[K]:
    """Return which row has the best mean of a measure, if its interval meets that of no other.

    None of a single row with a value, or if one with a value lacks its interval.

    Examples
    --------
    >>> rows = {who: {"x": x, "x_ci95": 1.0} for who, x in (("a", 1.0), ("b", 3.5), ("c", 9.0))}
    >>> clearly_best(rows, "x", -1), clearly_best(rows, "x", 1)
    ({'a'}, {'c'})
    >>> clearly_best(rows | {"b": {"x": 2.5, "x_ci95": 1.0}}, "x", -1)
    set()
    """
    ends: dict[K, tuple[float, float]] = {}
    for key, row in rows.items():
        if not is_number(row[name]):
            continue
        if (spread := interval_of(row, name)) is None:
            return set()
        low, high = spread.ends or (row[name] - spread.half, row[name] + spread.half)
        ends[key] = (low, high) if side > 0 else (-high, -low)
    if len(ends) < 2 or side == 0:
        return set()
    best = max(ends, key=lambda key: side * rows[key][name])
    return {best} if all(ends[best][0] > ends[key][1] for key in ends if key != best) else set()


def is_number(value: Any) -> bool:
    """Tell whether a value of a table is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def repeats(rows: Rows) -> set[str]:
    """Return the columns that say nothing.

    ``strategy``, where language models' subjects are named by it with their options, and the share
    of answers that were read leniently, where none was.
    """
    silent = {LENIENT.name} & rows[0].keys()
    if any(row.get(LENIENT.name, 0) > 0 for row in rows):
        silent = set()
    for name in ("subject", "player"):
        if {name, "strategy"} <= rows[0].keys() and all(
            not row["strategy"] or f"{row[name]}(".startswith(f"{row['strategy']}(") for row in rows
        ):
            silent |= {"strategy"}
    return silent


def columns_of(rows: Rows, keep: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return the columns in which all rows agree, unless they are to `keep`, and those to show.

    Those that say nothing are neither: empty ones, the ends of intervals, and what `repeats`.
    """
    first = rows[0]
    drop = {name for name in first if is_interval(name)} | repeats(rows)
    drop |= {name for name in first if all(row[name] in ("", None) for row in rows)}
    measured = [name for name in first if has_interval(first, name)]
    empty = {name for name in measured if not any(is_number(row[name]) for row in rows)}
    drop |= empty if len(empty) < len(measured) else set()
    left = [name for name in first if name not in drop]
    same = [
        name
        for name in (left if len(rows) > 1 else ())
        if not has_interval(first, name)
        and name not in keep
        and len({row[name] for row in rows}) == 1
    ]
    # Rows that are all the same are shown as they are.
    return (same, kept) if (kept := [n for n in left if n not in same]) else ([], list(first))


def _put_aside(
    rows: Rows, columns: list[str], measures: Mapping[str, Measure] | None, aside: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return what is said above the table in place of measures that add nothing, and the rest."""
    said, kept = [], list(columns)
    for name in [one for one in columns if one in aside and one not in SCORES and len(rows) > 1]:
        values = {row[name] for row in rows if is_number(row[name])}
        before = [one for one in kept[: kept.index(name)] if has_interval(rows[0], one)]
        same = next((one for one in before if values and _same(rows, name, one)), None)
        if len(values) == 1:
            said.append(f"{heading(name, measures)} {fixed(values.pop(), digits_of(name))}")
        elif same is not None:
            said.append(f"{heading(name, measures)}: as {heading(same, measures)}")
        else:
            continue
        kept.remove(name)
    return said, kept


def _same(rows: Rows, name: str, other: str) -> bool:
    """Tell whether a measure has the value of another wherever both have one."""
    pairs = [(row[name], row[other]) for row in rows]
    return all(a == b or not (is_number(a) and is_number(b)) for a, b in pairs)


def _worded(rows: Rows, name: str) -> bool:
    """Tell whether a column holds words: texts of which some are no number."""
    texts = [row[name] for row in rows if isinstance(row[name], str)]
    return bool(texts) and not all(_NUMBER.fullmatch(text) for text in texts)


def _lead(rows: Rows, columns: Sequence[str]) -> list[int]:
    """Return which columns tell the rows apart: leading ones with words, and settings if needed."""
    words = next((i for i, name in enumerate(columns) if not _worded(rows, name)), len(columns))
    lead = list(range(words))
    if len({tuple(row[columns[i]] for i in lead) for row in rows}) < len(rows):
        lead += [i for i, name in enumerate(columns) if name in _SETTINGS and i >= words]
    return lead or [0]
