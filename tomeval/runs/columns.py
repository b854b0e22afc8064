"""Tables: what a table is, headings of columns, and values with their intervals in flat rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import exact
from tomeval.strategies.parts import KINDS

if TYPE_CHECKING:
    from tomeval.runs.measures import Measure
    from tomeval.runs.results import Run
    from tomeval.statistics import Estimate
    from tomeval.statistics.estimates import Share


class Rate(NamedTuple):
    """A share of answers, from 0 to 1, which tables print in percent.

    Attributes
    ----------
    name : str
        Column of tables and exports.
    heading : str
        What tables print.
    meaning : str
        One or two sentences for readers who do not know it.
    """

    name: str
    heading: str
    meaning: str


INVALID = Rate(
    "invalid_rate",
    "invalid %",
    "Share of all answers, void episodes included, that could not be used: unreadable, illegal, "
    "cut off or refused; in the arena of the measured player's answers.",
)
REASK = Rate(
    "reask_rate",
    "re-asked %",
    "Share of all answers, void episodes included, for which the question was asked again, "
    "because an earlier reply could not be used; in the arena of the measured player's answers.",
)
LENIENT = Rate(
    "lenient_rate",
    "lenient %",
    "Share of all answers, void episodes included, that were read although the reply did not end "
    "in the exact form asked for: with marks, a reason or text below it, or after another answer; "
    "in the arena of the measured player's answers.",
)
RATES = {rate.name: rate for rate in (INVALID, REASK, LENIENT)}
"""All rates, by name."""


HEADINGS = {"horizon": "T", "on_invalid": "on_invalid", "interval": "95 % interval"}
HEADINGS |= {"tom_percent_attainable": "attainable ToM %"}
HEADINGS |= {
    f"delta_tom_{rule}_attainable": f"attainable ΔToM/T ({rule.replace('_', ' ')})"
    for rule in ("best_response", "misprediction")
}
HEADINGS |= {rate.name: rate.heading for rate in RATES.values()}
HEADINGS |= {"regret_min": "ΔFunctional/T, least", "regret_max": "ΔFunctional/T, most"}
HEADINGS |= {
    f"misprediction_{end}": f"ΔToM/T (misprediction) of an error, {word}"
    for end, word in (("min", "least"), ("max", "most"))
}
"""Headings of columns that are not measures."""

ANSWER = "answer"
"""The column of a domain's verdict."""

PROMPTED = ("strategy", *KINDS)
"""Columns that say how language models are asked, see `RunCell.prompted`."""

OF_CELLS = {name: name if name != ANSWER else "answer_part" for name in PROMPTED}
"""What tables of cells call these: `ANSWER` is another column there."""

SETTINGS = ("seed", "on_invalid")
"""Columns that tell cells apart which are else alike."""

ATTAINABLE = "_attainable"
"""How columns end that say what can be attained of a measure, see `RunCell.attainable`."""

_HALF, _LOW, _HIGH = "_ci95", "_ci95_low", "_ci95_high"


class Interval(NamedTuple):
    """A 95 % interval around a value; `ends` is None if only half of its width is known."""

    half: float
    ends: tuple[float, float] | None


def heading(column: str, measures: Mapping[str, Measure] | None = None) -> str:
    """Return the heading of a column; shares in percent end in ``%``."""
    measure = (measures or {}).get(column)
    if measure:
        return measure.heading
    words = column.removesuffix("_percent") + " %" * column.endswith("_percent")
    return HEADINGS.get(column, words.replace("_", " "))


def flat(names: Sequence[str], found: Estimate) -> dict[str, float]:
    """Return estimates as columns: value, half of the interval's width, and both of its ends."""
    row: dict[str, float] = {}
    for index, name in enumerate(names):
        for ending, part in zip(("", _HALF, _LOW, _HIGH), found, strict=True):
            row[f"{name}{ending}"] = exact(float(part[index]))
    return row


def interval_columns(name: str, value: float, low: float, high: float) -> dict[str, float]:
    """Return a value as columns, with both ends of its interval, NaN without one.

    Examples
    --------
    >>> list(interval_columns("sd", 1.0, 0.5, 3.0).items())
    [('sd', 1.0), ('sd_ci95', 1.25), ('sd_ci95_low', 0.5), ('sd_ci95_high', 3.0)]
    """
    row = {name: value, f"{name}{_HALF}": (high - low) / 2}
    row |= {f"{name}{_LOW}": low, f"{name}{_HIGH}": high}
    return {column: exact(number) for column, number in row.items()}


def flat_share(name: str, found: Share) -> dict[str, float]:
    """Return a share as columns, in percent, with both ends of its interval."""
    return interval_columns(name, 100 * found.share, 100 * found.low, 100 * found.high)


def is_attainable(column: str) -> bool:
    """Return whether a column says what can be attained of a measure, see `RunCell.attainable`."""
    return column.endswith(ATTAINABLE)


def is_interval(column: str) -> bool:
    """Return whether a column belongs to the interval of another one."""
    return column.endswith((_HALF, _LOW, _HIGH))


def has_interval(row: Mapping[str, Any], name: str) -> bool:
    """Return whether a column comes with an interval."""
    return f"{name}{_HALF}" in row


def interval_of(row: Mapping[str, Any], name: str) -> Interval | None:
    """Return the interval of a column; None if there is no interval or it is NaN."""
    half = row.get(f"{name}{_HALF}")
    if half is None or math.isnan(half):
        return None
    low, high = row.get(f"{name}{_LOW}"), row.get(f"{name}{_HIGH}")
    return Interval(half, None if low is None or high is None else (low, high))


def is_even(rows: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Return whether all intervals of a column are symmetric, so that ± says all about them."""
    for row in rows:
        ends = interval_of(row, name)
        if ends is None or ends.ends is None:
            continue
        if math.isinf(ends.half):  # open at one end, or at both: ± would not say at which
            return False
        middle = (ends.ends[0] + ends.ends[1]) / 2
        if abs(middle - row[name]) > 1e-9 * max(ends.half, abs(row[name])):
            return False
    return True


def in_order(lists: Iterable[Iterable[str]]) -> list[str]:
    """Return the names of several lists once each, in an order that is theirs.

    Examples
    --------
    >>> in_order([["a", "c"], ["a", "b", "c", "d"]])
    ['a', 'b', 'c', 'd']
    """
    result: list[str] = []
    for names in lists:
        place = 0
        for name in names:
            if name not in result:
                result.insert(place, name)
            place = result.index(name) + 1
    return result


def filled(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with the columns of all; where a row lacks one: "" among texts, else NaN."""
    order = in_order(dict.fromkeys(map(tuple, rows)))
    texts = {key for row in rows for key, value in row.items() if isinstance(value, str)}
    blank = {key: "" if key in texts else math.nan for key in order}
    return [{**blank, **row} for row in rows]


def as_text(value: Any) -> str:
    """Return a value of a definition as a table shows it: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def unique(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without repetitions, in their order."""
    return list({json.dumps(row, sort_keys=True): row for row in rows}.values())


Rows = list[dict[str, Any]]


def always(run: Run) -> bool:
    """Return True: every run has the data."""
    return True


def never(run: Run) -> bool:
    """Return False: no report shows a table."""
    return False


def _no_notes(run: Run) -> list[str]:
    return []


def fixed(of: Callable[[Run], Rows]) -> Callable[[Run, Sequence[str]], Rows]:
    """Return `Table.rows` of a table whose rows no columns of ``--by`` choose."""

    def rows(run: Run, by: Sequence[str]) -> Rows:
        if by:
            raise TomevalError("the rows of this table cannot be split: leave out --by")
        return of(run)

    return rows


@dataclass(frozen=True)
class Table:
    """One table of a run.

    Attributes
    ----------
    about : str
        What it shows, in a few words, for ``tomeval list tables`` and above it in a report.
    rows : callable
        Returns its rows, given a run and the columns of ``--by``: names of columns as elsewhere, a
        mean followed by its interval.
    present : callable
        Tells whether a run has the data; of other runs the table is neither offered nor reported.
        Those of an extension are offered only where the run has what the extension needs.
    notes : callable
        Returns the sentences that stand below it.
    reported : callable
        Tells whether a report shows it, of runs where it is present.
    needs : str
        What an experiment must have for it to be present, and where the manual says more; empty
        if any run has it when asked for it.
    brief : tuple of str
        The columns with numbers or judgements that readers see unless they ask for all; empty: all.
    asked : bool
        Whether it is there only when it is asked for by name: nothing loads it before.
    """

    about: str
    rows: Callable[[Run, Sequence[str]], Rows]
    present: Callable[[Run], bool] = always
    notes: Callable[[Run], list[str]] = _no_notes
    reported: Callable[[Run], bool] = always
    needs: str = ""
    brief: tuple[str, ...] = ()
    asked: bool = False
