"""The table of comparisons in a report: a row per task, level and metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tomeval.core.numbers import MISSING, fixed, p_words, signed, typeset
from tomeval.report.sentences import Measures
from tomeval.report.table import Column, Table, Value
from tomeval.runs.measures import Measure

if TYPE_CHECKING:
    from tomeval.comparing.comparison import Comparison

_MOST_CHOICES = 40


def comparison_table(found: Comparison, measures: Measures) -> Table:
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
    rows = [_row(found.by, row, measures[row["metric"]]) for row in found.rows()]
    filters = []
    for key, heading in (("scope", "task"), ("metric", "metric"), ("verdict", "verdict")):
        index = [column.key for column in columns].index(key)
        values = list(dict.fromkeys(row[index].text for row in rows))
        if 1 < len(values) <= _MOST_CHOICES:
            filters.append((key, heading, values))
    return Table(columns, rows, [], filters)


def _row(by: str, row: dict[str, Any], measure: Measure) -> list[Value]:
    """Return one row of `Comparison.rows` as shown."""
    digits = measure.digits

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
        text(row["verdict"]),
    ]
