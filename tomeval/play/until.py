"""A run that stops when it knows: ``width(MEASURE) < NUMBER`` or ``decided(A, B)``.

``width``: the 95 % sequence of every cell is this narrow. ``decided(A, B[, MEASURE])``: in every
task that both play, the sequence of the paired difference leaves 0 out; with several tasks all of
these hold together. Names with commas stand in double quotes.

Every cell that the condition asks more of gets another batch, as large as the first, and a run
looks at it when its batch is complete. So what is played next is a function of the rows, and not of
when or where they were played.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.runs.analyses import known_measures
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import located
from tomeval.runs.notes import NOT_MET
from tomeval.runs.selection import choose_measures
from tomeval.statistics.estimates import SEQUENCE
from tomeval.statistics.sequences import CONFIDENCE, mean_sequence

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.measures import FloatArray, Measure
    from tomeval.runs.store import Store
    from tomeval.runs.writing import WritableStore

FORMS = "width(MEASURE) < NUMBER or decided(A, B)"
AT_MOST = 10
"""How many batches a cell gets at most."""


@dataclass(frozen=True)
class Goal:
    """What a condition asks of one cell, or of two that are compared.

    Attributes
    ----------
    text : str
        The condition.
    measure : Measure
    cells : tuple of int
    names : tuple of str
        Of two players, in the order of their cells.
    width : float
        That the interval of one cell is to have.
    confidence : float
        Of the sequence of the paired difference of two.
    """

    text: str
    measure: Measure
    cells: tuple[int, ...]
    names: tuple[str, ...] = ()
    width: float = 0.0
    confidence: float = CONFIDENCE

    @property
    def key(self) -> str:
        """The cells as text, which tells it from other goals of its experiment."""
        return ", ".join(map(str, self.cells))

    def met(self, cells: Mapping[int, RunCell]) -> str:
        """Return why it asks no more of its cells, by all that they hold now; empty: it does."""
        mine, name = [cells[number] for number in self.cells], self.measure.name
        if not all(np.isfinite(cell.totals(name).values).any() for cell in mine):
            return f"it has no value for {self.measure.heading}"
        if len(mine) == 1:
            (cell,) = mine
            half = float(cell.estimate([name], SEQUENCE).half[0])
            return self.text if cell.each_once or 2 * half < self.width else ""
        values = paired(mine[0], mine[1], name)
        mean = float(values.mean()) if len(values) else math.nan
        (low_a, high_a), (low_b, high_b) = (cell.part_limits(name) for cell in mine)
        low, high = mean_sequence(values, self.confidence, bounds=(low_a - high_b, high_a - low_b))
        if all(cell.each_once for cell in mine):  # nothing is sampled
            low = high = mean
            if abs(mean) < 1e-12:  # but for rounding
                return f"{self.text}: equal in every episode"
        if not (low > 0 or high < 0):
            return ""
        better = self.names[mean * (self.measure.better or 1) < 0]
        ends = sorted((abs(low), abs(high)))
        return f"{self.text}: {better} is better, by {ends[0]:.3g} to {ends[1]:.3g}"


def paired(a: RunCell, b: RunCell, measure: str) -> FloatArray:
    """Return the differences of a measure by sampling unit, in the order of play, shape (U,).

    Episodes pair by number; with a cell in which nothing is drawn, each with its mean.
    """
    x, y = (cell.totals(measure).parts for cell in (a, b))
    if a.each_once == b.each_once:
        _, at_a, at_b = np.intersect1d(a.episodes, b.episodes, return_indices=True)
        differences, labels = x[at_a] - y[at_b], a.clusters[at_a]
    elif a.each_once:
        differences, labels = np.nanmean(x) - y, b.clusters
    else:
        differences, labels = x - np.nanmean(y), a.clusters
    some = np.isfinite(differences)
    differences, labels = differences[some], labels[some]
    _, first, at = np.unique(labels, return_index=True, return_inverse=True)
    means = np.bincount(at, differences, len(first)) / np.maximum(np.bincount(at), 1)
    return np.asarray(means[np.argsort(first)], dtype=np.float64)


def goals(experiment: Experiment) -> list[Goal]:
    """Return what the condition of an experiment asks of its cells.

    Raises
    ------
    TomevalError
        It cannot be read, names what the experiment has not, or can never hold.
    """
    domain, text = get_domain(experiment.domain), " ".join(experiment.until.split())
    store = cast("Store", SimpleNamespace(domain=domain))  # of which nothing else is read
    cells = {
        number: domain.run_cell(store, number, cell.definition)
        for number, cell in enumerate(experiment.cells)
        if number not in experiment.apart
    }
    if not cells:
        raise TomevalError("every cell has a fixed number of episodes: nothing can be stopped")
    said = re.fullmatch(r"width\s*\(([^()]+)\)\s*<\s*(\S+)|decided\s*\((.*)\)", text)
    if said is None:
        head = text.partition("(")[0].strip()
        near = "" if head in ("width", "decided") else did_you_mean(head, ("width", "decided"))
        raise TomevalError(f"unknown condition {text!r}{near}; write {FORMS}")
    if said[1]:
        measure, number = _measure(domain, said[1]), _number(said[2])
        every = (cell.limits(measure.name) for cell in cells.values())
        low, high = max(every, key=lambda ends: ends[1] - ends[0])
        if number > high - low:
            raise TomevalError(
                f"{text}: always holds, as {measure.heading} lies between {low:g} and {high:g}"
            )
        asked = [Goal(text, measure, (cell,), width=number) for cell in cells]
    else:
        parts = [part.strip(' "') for part in re.findall(r'\s*"[^"]*"|[^,"]+', said[3])]
        if len(parts) not in (2, 3) or not all(parts):
            raise TomevalError(f"{text!r} must name two players: write decided(A, B)")
        a, b, *named = parts
        measure, pairs = _measure(domain, *named), _pairs(text, a, b, cells)
        share = 1 - (1 - CONFIDENCE) / len(pairs)  # a union over all sequences
        asked = [Goal(text, measure, pair, (a, b), confidence=share) for pair in pairs]
    if not all(np.isfinite(cell.limits(measure.name)).all() for cell in cells.values()):
        raise TomevalError(f"{text}: {measure.heading} has no bounds, and so no sequence")
    return asked


def _measure(domain: Any, name: str = "") -> Measure:
    measures = known_measures(domain)
    chosen = choose_measures(measures, [name.strip()] if name else [])
    measure: Measure = measures[(chosen or list(domain.headline))[0]]
    return measure


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise TomevalError(f"a width must be compared with a finite number above 0, not {text!r}")
    return number


def _pairs(text: str, a: str, b: str, cells: Mapping[int, RunCell]) -> list[tuple[int, int]]:
    """Return the cells of two players in every task that both play, as comparisons pair them."""
    domain = next(iter(cells.values())).domain
    levels = {
        by: {str(cell.columns[by]) for cell in cells.values()}
        for by in domain.by
        if all(by in cell.columns for cell in cells.values())
    }
    known = sorted({name for names in levels.values() for name in names if name})
    for name in (a, b):
        if name not in known:
            raise unknown("player", name, known, text)
    if a == b:
        raise TomevalError(f"{text}: compares {a} with itself; it can never hold")
    by = next((by for by, names in levels.items() if names >= {a, b}), "")
    pairs = []
    for (one, cell), (other, like) in combinations(cells.items(), 2) if by else ():
        tasks = [(each.task_without(by), each.seed) for each in (cell, like)]
        fixed = [each.fixed(by) for each in (cell, like)]
        same = tasks[0] == tasks[1] and ("" in fixed or fixed[0] == fixed[1])
        names = str(cell.columns[by]), str(like.columns[by])
        if same and names in ((a, b), (b, a)):
            pairs.append((one, other) if names == (a, b) else (other, one))
    if not pairs:
        raise TomevalError(f"{text}: {a} and {b} have no task in common, so it can never hold")
    return pairs


def most_episodes(experiment: Experiment) -> int:
    """Return how many episodes a cell of an experiment with a condition gets at most."""
    return AT_MOST * experiment.episodes


def check(experiment: Experiment) -> None:
    """Raise `TomevalError` if the experiment has a condition that it cannot stop by."""
    if experiment.until:
        with located(f"{experiment.where}: until"):
            goals(experiment)


class Looks:
    """How many episodes each cell of a run with a condition has, and why it got no more.

    Parameters
    ----------
    experiment : Experiment
        With a condition, which was checked.
    store : WritableStore
        Of the run. What was found is kept in it, so that a run that was killed
        goes on from the last look.
    """

    def __init__(self, experiment: Experiment, store: WritableStore) -> None:
        self._store, self._goals, self._text = store, goals(experiment), experiment.until
        self._batch, self._most = experiment.episodes, most_episodes(experiment)
        before = store.until()
        same = before.get("condition") == self._text
        self._met: dict[str, str] = dict(before["met"]) if same else {}
        known = before["cells"] if same else {}
        held = {n: of[-1] + 1 for n in store.played_cells() if (of := store.finished(n))}
        self._mine = [n for n in range(len(experiment.cells)) if n not in experiment.apart]
        self.episodes = [0] * len(experiment.cells)
        for cell in self._mine:
            told = known.get(str(cell), {}).get("episodes", 0)
            self.episodes[cell] = told or max(self._batch, held.get(cell, 0))
        self._keep(ended=False)

    def _left(self, cell: int) -> list[Goal]:
        """Return the goals that ask more of a cell."""
        return [goal for goal in self._goals if cell in goal.cells and goal.key not in self._met]

    def look(self, complete: Sequence[bool]) -> bool:
        """Look at what was played; return whether any cell is to get more.

        `complete` tells of each cell whether it holds the episodes that it was given; others wait.
        """
        definitions = dict(self._store.cells())
        read: dict[int, RunCell] = {}
        for goal in self._goals:
            if goal.key in self._met or not all(complete[cell] for cell in goal.cells):
                continue
            for cell in set(goal.cells) - set(read):
                read[cell] = self._store.domain.run_cell(self._store, cell, definitions[cell])
            if why := goal.met(read):
                self._met[goal.key] = why
        before = list(self.episodes)
        for cell in self._mine:
            if complete[cell] and self._left(cell):
                more = max(self.episodes[cell], min(self._most, self.episodes[cell] + self._batch))
                self.episodes[cell] = more
        self._keep(ended=self.episodes == before)
        return self.episodes != before

    def _keep(self, ended: bool) -> None:
        """Keep in the store what is known, in one piece."""
        unmet = f"at the maximum number of episodes, {NOT_MET}: {self._text}" * ended
        cells = {}
        for cell in self._mine:
            met = [self._met[g.key] for g in self._goals if cell in g.cells and g.key in self._met]
            why = "; ".join(dict.fromkeys(met)) or "the condition does not involve it"
            if self._left(cell):
                why = unmet
            cells[str(cell)] = {"episodes": self.episodes[cell], "stopped": why}
        self._store.note_until({"condition": self._text, "cells": cells, "met": self._met})
