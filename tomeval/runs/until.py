"""What a run must know to stop: the goals of its cells, by a condition (`conditions.py`).

Comparisons are of paired episodes; all of a condition are one family, see `FAMILY`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.runs.conditions import Kind, Statement, parse
from tomeval.runs.domain import get_domain
from tomeval.runs.selection import choose_measures
from tomeval.statistics.estimates import SEQUENCE
from tomeval.statistics.sequences import e_value

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.measures import FloatArray, Measure
    from tomeval.runs.store import Store

FAMILY = 0.95
"""With at least this probability every sequence of a condition's comparisons holds, at all looks:
each has a share of the rest, a union over them."""


@dataclass(frozen=True)
class Goal:
    """What a statement asks of one cell, or of cells that are compared.

    Attributes
    ----------
    kind : {"width", "decided", "best"}
    text : str
        The statement.
    measure : Measure
    cells : tuple of int
        One cell; two that are compared; or all players of a task.
    number : float
        The width that the interval of a cell is to have; or by how much a player may be worse than
        the best and be taken for it, 0: by nothing.
    confidence : float
        Of each sequence of paired differences; 0: there is none.
    """

    kind: Kind
    text: str
    measure: Measure
    cells: tuple[int, ...]
    number: float = 0.0
    confidence: float = 0.0

    @property
    def key(self) -> str:
        """What tells it from other goals of its experiment, in text."""
        return f"{self.text}: {', '.join(map(str, self.cells))}"

    def met(self, cells: Mapping[int, RunCell], done: Mapping[int, str]) -> dict[int, str]:
        """Return which cells it asks no more of, each with why, by all that they hold now.

        `done` has those of which that was known before.
        """
        left = [number for number in self.cells if number not in done]
        gone = {n: _LACKS.format(self.measure.words) for n in left if not _valued(cells[n], self)}
        if self.kind == "width":
            whole = [n for n in left if n not in gone and width(cells[n], self) < self.number]
            return gone | dict.fromkeys(whole, self.text)
        if self.kind == "decided" and gone:
            return dict.fromkeys(left, next(iter(gone.values())))
        left = [number for number in left if number not in gone]
        better = {(a, b): self.compare(cells[a], cells[b]) for a, b in combinations(left, 2)}
        worse = {a if sign < 0 else b for (a, b), sign in better.items() if sign}
        rest = [number for number in left if number not in worse]
        equal = all(better[pair] == 0 for pair in combinations(rest, 2))
        how = f"{self.text}: equal in every episode" if equal and len(rest) > 1 else self.text
        if self.kind == "decided":
            return dict.fromkeys(left, how) if worse or equal else {}
        gone |= dict.fromkeys(worse, f"{self.text}: not the best")
        if equal or not self.number:
            return gone | (dict.fromkeys(rest, how) if equal else {})
        near = [a for a in rest if all(self.near(cells[a], cells[b]) for b in rest if b != a)]
        means = {a: self.side * self.mean(cells[a]) for a in near}
        if near:
            gone |= dict.fromkeys(rest, f"{self.text}: within the margin")
            gone[max(means, key=means.__getitem__)] = self.text
        return gone

    def soonest(self, cells: Mapping[int, RunCell], done: Mapping[int, str]) -> float:
        """Return at how many times as many episodes it is expected to ask less, at the soonest.

        Evidence grows as exp(n) once the largest bet is paid for, a width falls between as n^(-1/2)
        and as 1 / n.
        """
        left = [number for number in self.cells if number not in done]
        if self.kind == "width":
            ratio = max((width(cells[n], self) / self.number for n in left), default=1.0)
            return math.pow(ratio, 1.5)
        enough = -math.log1p(-self.confidence) + BET

        def times(a: int, b: int, null: float = 0.0) -> float:
            known = self.evidence(cells[a], cells[b], null)
            return enough / (math.log(max(known, 1.0)) + BET)

        apart = [known for a, b in combinations(left, 2) if (known := times(a, b))]  # 0: no sample
        margin = -self.side * self.number
        near = [[times(a, b, margin) for b in left if b != a] for a in left] if margin else []
        return min([*apart, *(max(one) for one in near if one)], default=1.0)

    def compare(self, a: RunCell, b: RunCell) -> int | None:
        """Return 1 if a cell is better than another, -1 if worse, 0 if equal; None: not known.

        The sequence of the paired difference leaves 0 out if and only if its e-value is that large.
        """
        values = paired(a, b, self.measure.name)
        mean = float(values.mean()) if len(values) else math.nan
        if a.each_once and b.each_once and abs(mean) < EXACT:  # nothing is sampled
            return 0
        known = self.evidence(a, b) >= 1 / (1 - self.confidence)
        return round(math.copysign(1, mean * self.side)) if known else None

    def near(self, a: RunCell, b: RunCell) -> bool:
        """Tell whether a cell is known to be worse than another by less than the margin."""
        values, margin = paired(a, b, self.measure.name), -self.side * self.number
        above = len(values) and (float(values.mean()) - margin) * self.side > 0
        return bool(above and self.evidence(a, b, margin) >= 1 / (1 - self.confidence))

    def evidence(self, a: RunCell, b: RunCell, null: float = 0.0) -> float:
        """Return the e-value against an expected difference; infinite where nothing is sampled."""
        values = paired(a, b, self.measure.name)
        if a.each_once and b.each_once and len(values):
            return math.inf
        bounds = self.difference_bounds(a, b)
        return e_value(values, null, bounds=bounds, confidence=self.confidence)

    def mean(self, cell: RunCell) -> float:
        """Return the mean of a cell's episodes."""
        return float(np.nanmean(cell.totals(self.measure.name).parts))

    def difference_bounds(self, a: RunCell, b: RunCell) -> tuple[float, float]:
        """Return between what the expected difference of two cells lies."""
        (low_a, high_a), (low_b, high_b) = (cell.limits(self.measure.name) for cell in (a, b))
        return low_a - high_b, high_a - low_b

    @property
    def side(self) -> int:
        """1 if more is better, -1 if less is; 1 of a measure without a better side."""
        return self.measure.better or 1


BET = math.log(6)
"""What it takes before evidence grows: a sixth of the capital is on the largest bet, each way."""
EXACT = 1e-12
"""What rounding can make of equal means."""

_LACKS = "it has no value for {}"


def _valued(cell: RunCell, goal: Goal) -> bool:
    return bool(np.isfinite(cell.totals(goal.measure.name).values).any())


def width(cell: RunCell, goal: Goal) -> float:
    """Return the width of a cell's 95 % sequence; 0 where nothing is sampled, inf where none is."""
    if cell.each_once:
        return 0.0
    half = float(cell.estimate([goal.measure.name], SEQUENCE).half[0])
    return math.inf if math.isnan(half) else 2 * half


def paired(a: RunCell, b: RunCell, measure: str) -> FloatArray:
    """Return the differences of a measure by sampling unit, in the order of play, shape (U,).

    Episodes pair by number; of a cell that has each distinct episode once, by what was drawn.
    """
    x, y = (cell.totals(measure).parts for cell in (a, b))
    if a.each_once == b.each_once:
        _, at_a, at_b = np.intersect1d(a.episodes, b.episodes, return_indices=True)
        differences, labels = x[at_a] - y[at_b], a.clusters[at_a]
    else:
        once, drawn, known = (a, b, x) if a.each_once else (b, a, y)
        of_draw = dict(zip(once.which.tolist(), known.tolist(), strict=True))
        there = np.array([of_draw.get(draw, math.nan) for draw in drawn.which.tolist()])
        differences, labels = (there - y if a.each_once else x - there), drawn.clusters
    some = np.isfinite(differences)
    differences, labels = differences[some], labels[some]
    _, first, at = np.unique(labels, return_index=True, return_inverse=True)
    means = np.bincount(at, differences, len(first)) / np.maximum(np.bincount(at), 1)
    return np.asarray(means[np.argsort(first)], dtype=np.float64)


def goals(experiment: Experiment) -> list[Goal]:
    """Return what the condition `until` of an experiment asks of its cells; empty without one.

    Raises
    ------
    TomevalError
        It cannot be read, names what the experiment has not, or can never hold.
    """
    cells = unplayed_cells(experiment)
    if not cells:
        raise TomevalError("every cell has a fixed number of episodes: nothing can be stopped")
    asked = [goal for said in parse(experiment.until) for goal in _goals(said, cells)]
    sizes = (len(goal.cells) - 1 for goal in asked)
    share = 1 - (1 - FAMILY) / max(1, sum(sizes))
    return [
        Goal(*(g.kind, g.text, g.measure, g.cells, g.number, share if len(g.cells) > 1 else 0.0))
        for g in asked
    ]


def unplayed_cells(experiment: Experiment) -> dict[int, RunCell]:
    """Return the cells that a condition may be about, by number; they hold no episode."""
    domain = get_domain(experiment.domain)
    store = cast("Store", SimpleNamespace(domain=domain))  # of which nothing else is read
    apart = experiment.apart
    return {
        number: domain.read.cell(store, number, cell.definition)
        for number, cell in enumerate(experiment.cells)
        if number not in apart
    }


def _goals(said: Statement, cells: Mapping[int, RunCell]) -> Iterator[Goal]:
    """Yield what one statement asks."""
    domain = next(iter(cells.values())).domain
    chosen = choose_measures(domain.measures, [said.measure] if said.measure else [])
    measure = domain.measures[(chosen or list(domain.show.headline))[0]]
    if said.unit and said.unit != measure.unit:
        raise unknown(f"unit of {measure.words}", said.unit, [measure.unit])
    every = (cell.limits(measure.name) for cell in cells.values())
    low, high = max(every, key=lambda ends: ends[1] - ends[0])
    if said.number > high - low:
        raise TomevalError(
            f"{said.text}: always holds, as {measure.words} lies between {low:g} and {high:g}"
        )
    if said.kind == "width":
        yield from (Goal("width", said.text, measure, (n,), said.number) for n in cells)
        return
    if said.kind == "best" and not measure.better:
        raise TomevalError(f"{said.text}: {measure.words} has no better side")
    by, wanted = _column(said, cells)
    tasks: dict[tuple[Any, ...], list[int]] = {}
    for number, cell in cells.items():
        if not wanted or str(cell.columns[by]) in wanted:
            task = (*domain.compare.task_of(cell, by).values(), cell.seed)
            tasks.setdefault(task, []).append(number)
    members = [tuple(mine) for mine in tasks.values() if len(mine) > 1]
    if wanted:
        pairs = [pair for mine in members for pair in combinations(mine, 2)]
        members = [(a, b) for a, b in pairs if _meet(cells[a], cells[b], by)]
    if not members:
        who = " and ".join(wanted) or "two players"
        raise TomevalError(f"{said.text}: {who} have no task in common, so it can never hold")
    yield from (Goal(said.kind, said.text, measure, mine, said.number) for mine in members)


def _meet(a: RunCell, b: RunCell, by: str) -> bool:
    """Tell whether two cells of a task are compared, see `tomeval.comparing.pairing`."""
    held = [cell.domain.compare.held(cell, by) for cell in (a, b)]
    return a.columns[by] != b.columns[by] and ("" in held or held[0] == held[1])


def _column(said: Statement, cells: Mapping[int, RunCell]) -> tuple[str, tuple[str, ...]]:
    """Return the column that the players of a statement stand in, and their names."""
    first = next(iter(cells.values()))
    columns = [by for by in first.domain.compare.by if by in first.columns]
    levels = {by: {str(cell.columns[by]) for cell in cells.values()} for by in columns}
    if not said.names:
        return columns[0], ()
    if said.names[0] == said.names[1]:
        raise TomevalError(f"{said.text}: compares {said.names[0]} with itself; it can never hold")
    for by, names in levels.items():
        if names >= set(said.names):
            return by, said.names
    known = sorted({name for names in levels.values() for name in names if name})
    for name in said.names:
        if name not in known:
            raise unknown("player", name, known, said.text)
    raise TomevalError(f"{said.text}: {' and '.join(said.names)} are not in the same column")
