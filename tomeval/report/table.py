"""The tables of a report, ready for the template: results, the domain's own, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.numbers import MISSING, decimals, fixed, p_words, signed, typeset
from tomeval.report.comparisons import verdict_text
from tomeval.report.rows import digits_for, repeats
from tomeval.runs.columns import ATTAINABLE, RATES, heading, interval_of, is_even, is_interval
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.statistics.estimates import AUTO, FEW

if TYPE_CHECKING:
    from tomeval.comparing.comparison import Comparison

_MOST_CHOICES = 40
_ALWAYS = (*RATES, "episodes")
_UNFILTERED = (*_ALWAYS, "seed")


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

    `shared` holds the (heading, value) pairs that are the same in all rows, `filters` the columns
    by whose values a reader can filter, as (key, heading, values).
    """

    columns: list[Column]
    rows: list[list[Value]]
    shared: list[tuple[str, str]]
    filters: list[tuple[str, str, list[str]]]


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
    wanted = set(measures if shown is None else shown)
    columns, shared, filters = [], [], []
    first = next(iter(rows[0]))
    valued = {name for name in measures if any(row[name] == row[name] for row in rows)}
    same = repeats(rows)
    for key in rows[0]:
        if is_interval(key) or key in same:
            continue
        if valued and key in measures and key not in valued:
            continue
        if key.removesuffix(ATTAINABLE) in measures and key.removesuffix(ATTAINABLE) not in wanted:
            continue
        named = heading(key, measures)
        values = list(dict.fromkeys(row[key] for row in rows))
        if key not in measures and all(value in ("", None) for value in values):
            continue
        if key not in (*measures, first, *_ALWAYS) and len(values) == 1:
            if len(rows) > 1 or key in ("reference", "on_invalid"):
                shared.append((named, str(values[0])))
                continue
        elif (
            key not in (*measures, first, *_UNFILTERED)
            and len(values) <= _MOST_CHOICES
            and not isinstance(rows[0][key], float)
        ):
            filters.append((key, named, [str(value) for value in values]))
        columns.append(Column(key, named, isinstance(rows[0][key], int | float)))
    digits = {column.key: digits_for(rows, column.key) for column in columns}
    even = {column.key: is_even(rows, column.key) for column in columns}
    body = [[value_of(row, c.key, digits[c.key], even[c.key]) for c in columns] for row in rows]
    return Table(columns, body, shared, filters)


def value_of(row: Mapping[str, Any], key: str, digits: int, even: bool = False) -> Value:
    """Return one cell of the table, with as many decimals if it is a number with any.

    `even`: with half the width of its interval in place of the ends.
    """
    value = row[key]
    if not isinstance(value, float):
        return Value("" if value is None else str(value), "", "" if value is None else str(value))
    if math.isnan(value):
        return Value(MISSING, "", "")
    if key in RATES:
        return Value(f"{100 * value:.1f}", "", repr(value))
    return Value(typeset(fixed(value, digits)), _interval(row, key, digits, even), repr(value))


def _interval(row: Mapping[str, Any], key: str, digits: int, even: bool) -> str:
    """Return the interval of a measure as text, empty if there is none."""
    found = interval_of(row, key)
    if found is None:
        return ""
    if even or found.ends is None:
        return f"± {fixed(found.half, digits)}"
    low, high = found.ends
    return typeset(f"[{fixed(low, digits)}, {fixed(high, digits)}]")


def comparison_table(found: Comparison, measures: Mapping[str, Measure]) -> Table:
    """Return every comparison as a table: first those over all tasks, then task by task."""
    columns = [
        Column(found.by, found.by, False),
        Column("scope", "task", False),
        Column("metric", "metric", False),
        Column("pairs", "pairs", True),
        Column("level_mean", "mean", True),
        Column("baseline_mean", f"mean of {found.baseline}", True),
        Column("difference", "difference", True),
        Column("p_holm", "p, corrected", True),
        Column("effect_size", "Hedges' g", True),
        Column("improvement", "probability of improvement", True),
        Column("verdict", "verdict", False),
    ]
    rows = [_compared(found.by, row, measures[row["metric"]]) for row in found.rows()]
    filters = []
    for index, column in enumerate(columns):
        values = list(dict.fromkeys(row[index].text for row in rows))
        if column.key in ("scope", "metric", "verdict") and 1 < len(values) <= _MOST_CHOICES:
            filters.append((column.key, column.heading, values))
    return Table(columns, rows, [], filters)


def _compared(by: str, row: dict[str, Any], measure: Measure) -> list[Value]:
    """Return one row of `Comparison.rows` as shown."""
    half = (row["difference_high"] - row["difference_low"]) / 2
    digits = decimals([half], measure.digits)

    def number(name: str, places: int) -> Value:
        value = row[name]
        if math.isnan(value):
            return Value(MISSING, "", "")
        return Value(typeset(fixed(value, places)), "", repr(value))

    def text(value: str) -> Value:
        return Value(value, "", value)

    low, high = row["difference_low"], row["difference_high"]
    ends = "" if math.isnan(low) else f"[{signed(low, digits)}, {signed(high, digits)}]"
    difference = Value(signed(row["difference"], digits), ends, number("difference", digits).sort)
    p = row["p_holm"]
    said = MISSING if math.isnan(p) else p_words(p).removeprefix("p ").removeprefix("= ")
    return [
        text(row[by]),
        text(row["scope"]),
        text(measure.heading),
        Value(f"{row['pairs']:,}", "", str(row["pairs"])),
        number("level_mean", digits),
        number("baseline_mean", digits),
        difference,
        Value(said, "", "" if math.isnan(p) else repr(p)),
        number("effect_size", 2),
        number("improvement", 2),
        text(verdict_text(row)),
    ]


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
    words = _INTERVALS[interval].format(few=FEW, unit=run.domain.compare.unit)
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
    """A table besides that of cells: its name, what it shows, the table, sentences below it."""

    name: str
    about: str
    table: Table
    notes: list[str]


def further(run: Run) -> list[Further]:
    """Return the further tables that a run has data for and a report shows."""
    found = []
    for name, table in run.tables.items():
        rows = table.rows(run, []) if table.reported(run) else []
        if rows:
            known = {key: run.measures[key] for key in run.measures if key in rows[0]}
            found.append(Further(name, table.about, main_table(rows, known), table.notes(run)))
    return found


def valued(run: Run, rows: Sequence[Mapping[str, Any]]) -> list[Measure]:
    """Return the measures with a value in some cell; all measures if none has."""
    found = [
        measure
        for name, measure in run.measures.items()
        if any(math.isfinite(float(row[name])) for row in rows)
    ]
    return found or list(run.measures.values())
