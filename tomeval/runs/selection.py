"""Which cells and which measures of a run are meant: one rule for every command that selects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.runs.columns import HEADINGS

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.measures import Measure
    from tomeval.runs.results import Run

WHERE = "COLUMN=VALUE[,VALUE], with * for any text; COLUMN!=VALUE for all others"


MANY = 1000
"""Cells of a run that is too large for pictures and reports of all of it."""
SHOWN = 40
"""Cells that these show of such a run: as many as one picture has room for."""


class Condition(NamedTuple):
    """What a column of a cell must be: one of some values, or, if `negated`, none of them."""

    column: str
    values: str
    negated: bool

    def __str__(self) -> str:
        return f"{self.column}{'!=' if self.negated else '='}{self.values}"


def parse_where(texts: Iterable[str]) -> list[Condition]:
    """Read conditions of the form `WHERE`.

    Raises
    ------
    TomevalError
        A condition without ``=``, a column or a value.

    Examples
    --------
    >>> parse_where(["game=RPS,IPD", "strategy!=CoT*"])[1]
    Condition(column='strategy', values='CoT*', negated=True)
    """
    conditions = []
    for text in texts:
        column, equals, values = (part.strip() for part in text.partition("="))
        negated = column.endswith("!")
        column = column.removesuffix("!").strip()
        if not (column and equals and values):
            raise TomevalError(f"--where {text!r}: write {WHERE}")
        conditions.append(Condition(column, values, negated))
    return conditions


def select(cells: Sequence[RunCell], conditions: Iterable[Condition]) -> list[RunCell]:
    """Return the cells that meet every condition, in their order.

    Columns are those of tables, with seed, reference and on_invalid; a heading names its column.

    Raises
    ------
    TomevalError
        An unknown column, a value that no cell has, or conditions that no cell meets together.
    """
    chosen = list(cells)
    conditions = list(conditions)
    for condition in conditions:
        column = _column(condition, cells)
        have = [str(cell.facts.get(column, "")) for cell in cells]
        wanted = _matching(condition, list(dict.fromkeys(have)))
        held = {id(cell) for cell, value in zip(cells, have, strict=True) if value in wanted}
        chosen = [cell for cell in chosen if (id(cell) in held) != condition.negated]
    if cells and not chosen:
        raise TomevalError(f"no cell has {' and '.join(map(str, conditions))}")
    return chosen


def first_part(run: Run) -> tuple[Run, str]:
    """Return what figures and reports show of a run, and words for what that leaves out.

    A run of at most `MANY` cells is shown whole, without words; of a larger one the first `SHOWN`.
    """
    if len(run.cells) <= MANY:
        return run, ""
    return run.part(run.cells[:SHOWN]), (
        f"the first {SHOWN} of the {len(run.cells):,} cells are shown; choose others with --where"
    )


def _column(condition: Condition, cells: Sequence[RunCell]) -> str:
    """Return the column that a condition names, by its own name or by its heading."""
    known = list(dict.fromkeys(name for cell in cells for name in cell.facts))
    headings = {HEADINGS[name]: name for name in known if name in HEADINGS}
    column = headings.get(condition.column, condition.column)
    if column not in known:
        raise unknown("column", column, known, f"--where {condition}")
    return column


def _matching(condition: Condition, have: list[str]) -> set[str]:
    """Return those of a column's values that a condition names."""
    if condition.values in have:  # also a name that holds a comma or an asterisk
        return {condition.values}
    named: set[str] = set()
    for value in split(condition.values):
        matching = {text for text in have if text == value or fnmatchcase(text, value)}
        if not matching:
            raise unknown(condition.column, value, have, f"--where {condition}")
        named |= matching
    return named


def split(values: str) -> list[str]:
    """Return values separated by commas, of which those in brackets separate nothing.

    Examples
    --------
    >>> split("rmax, simulated(p=0.5, q=1.0)")
    ['rmax', 'simulated(p=0.5, q=1.0)']
    """
    parts, depth = [""], 0
    for character in values:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def choose_measures(measures: Mapping[str, Measure], asked: Iterable[str]) -> list[str]:
    """Return the measures that are asked for, in the order asked, each once.

    A measure is known by its column, its heading and its short name (`Measure.short`); case, spaces
    and underscores do not matter.

    Raises
    ------
    TomevalError
        A name that no measure has, with the near match.
    """
    chosen = []
    for text in list(asked):
        name = _named(measures, text)
        if name is None:
            other = [name for m in measures.values() for name in (m.short, m.heading)]
            near = did_you_mean(text, measures) or did_you_mean(text, other)
            raise TomevalError(f"unknown metric {text!r}{near}; known: {', '.join(measures)}")
        chosen.append(name)
    return list(dict.fromkeys(chosen))


def _named(measures: Mapping[str, Measure], text: str) -> str | None:
    """Return the measure of a name."""
    if text in measures:
        return text
    wanted = _plain(text)
    known = ((name, (name, one.heading, one.short, one.bare)) for name, one in measures.items())
    return next((name for name, called in known if wanted in map(_plain, called)), None)


def _plain(text: str) -> str:
    """Return a name without case and separators."""
    spelled = text.replace("Δ", "delta").replace("%", "percent").replace("/T", "perstep").lower()
    return "".join(character for character in spelled if character.isalnum())
