"""How many episodes a run with a condition will need: by a pilot run, or by a guess."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.runs.allocation import most_episodes
from tomeval.runs.until import Goal, goals, paired, unplayed_cells
from tomeval.statistics.sequences import CONFIDENCE, expected_units

if TYPE_CHECKING:
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.measures import FloatArray
    from tomeval.runs.results import Run

GUESSED_SPREAD = 1 / 4
"""Of the distance of a measure's bounds: the standard deviation of episodes without a pilot."""
GUESSED_EFFECT = 1 / 2
"""Of the standard deviation of differences: how far players are apart without a pilot."""
FEWEST_VALUES = 2


class Expected:
    """The expected number of episodes of each cell of an experiment with a condition.

    Parameters
    ----------
    pilot : Run, optional
        A run of the same cells, or of some: each cell is known by its columns. Default: a guess.

    Attributes
    ----------
    episodes : list of int
        By cell: where all its goals are met, or the most episodes.
    guessed : int
        How many cells a guess was needed for.
    short : int
        How many cells are expected to get to the most episodes first.
    """

    def __init__(self, experiment: Experiment, pilot: Run | None = None) -> None:
        self._unplayed = unplayed_cells(experiment)
        played = {str(cell.columns): cell for cell in pilot.cells} if pilot else {}
        self._pilot = {n: played.get(str(cell.columns)) for n, cell in self._unplayed.items()}
        first, most = experiment.episodes, most_episodes(experiment)
        needs = dict.fromkeys(range(len(experiment.cells)), 0)
        self._guesses: set[int] = set()
        for goal in goals(experiment):
            for cell, count in self._of(goal).items():
                needs[cell] = max(needs[cell], count)
        self.episodes = [min(max(first, need), most) for need in needs.values()]
        self.guessed = len(self._guesses)
        self.short = sum(need > most for need in needs.values())

    def _of(self, goal: Goal) -> dict[int, int]:
        """Return after how many episodes a goal asks no more of each of its cells."""
        if goal.kind == "width":
            (cell,) = goal.cells
            return {cell: self._width(goal, cell)}
        best = max(goal.cells, key=lambda n: self._mean(goal, n) * goal.side)
        others = [cell for cell in goal.cells if cell != best]
        needs = {cell: self._pair(goal, cell, best) for cell in others}
        if not goal.number:
            return needs | {best: max(needs.values())}
        last = max(self._pair(goal, cell, best, goal.number) for cell in others)
        return {cell: min(need, last) for cell, need in needs.items()} | {best: last}

    def _width(self, goal: Goal, cell: int) -> int:
        values, bounds = self._values(goal, cell), self._unplayed[cell].limits(goal.measure.name)
        played = self._pilot[cell]
        if played and played.each_once:
            return 0
        if values is None:
            self._guesses.add(cell)
            return expected_units(self._guess(goal, cell), goal.number, bounds=bounds)
        spread, mean = float(values.std(ddof=1)), float(values.mean())
        return expected_units(spread, goal.number, CONFIDENCE, bounds=bounds, mean=mean)

    def _pair(self, goal: Goal, one: int, other: int, margin: float = 0.0) -> int:
        """Return when the sequence of a paired difference leaves out 0, or a margin beyond it."""
        a, b = self._pilot[one], self._pilot[other]
        values = paired(a, b, goal.measure.name) if a and b else np.zeros(0)
        bounds = goal.difference_bounds(self._unplayed[one], self._unplayed[other])
        if len(values) < FEWEST_VALUES:
            self._guesses |= {one, other}
            spread = self._guess(goal, one) * math.sqrt(2)
            mean = GUESSED_EFFECT * spread
        else:
            spread, mean = float(values.std(ddof=1)), float(values.mean())
        if not (away := abs(mean) + margin):
            return 10**9
        return expected_units(spread, 2 * away, goal.confidence, bounds=bounds, mean=mean)

    def _mean(self, goal: Goal, cell: int) -> float:
        values = self._values(goal, cell)
        return -math.inf if values is None else float(values.mean())

    def _values(self, goal: Goal, cell: int) -> FloatArray | None:
        """Return what the pilot's episodes of a cell have; None if they are too few."""
        if (played := self._pilot[cell]) is None:
            return None
        values = played.totals(goal.measure.name).parts
        values = values[np.isfinite(values)]
        return values if len(values) >= FEWEST_VALUES else None

    def _guess(self, goal: Goal, cell: int) -> float:
        low, high = self._unplayed[cell].limits(goal.measure.name)
        if not math.isfinite(high - low):
            raise TomevalError(
                f"{goal.text}: the spread of {goal.measure.words} cannot be guessed, as it has no "
                "bounds; name a run of a few episodes with --pilot"
            )
        return GUESSED_SPREAD * (high - low)


def expected_notes(found: Expected, cells: Sequence[object]) -> list[str]:
    """Say where expected numbers come from."""
    guess = (
        f"guessed, assuming a standard deviation of {GUESSED_SPREAD:g} of the measure's range and "
        f"differences of {GUESSED_EFFECT:g} of theirs; --pilot RUN takes both from a run"
    )
    some = "" if found.guessed == len(cells) else f"in {found.guessed} of {len(cells)} cells "
    how = f"{some}{guess}" if found.guessed else "from the pilot"
    notes = [f"the numbers of episodes are expectations, {how}"]
    if found.short:
        notes.append(
            f"{found.short} of {len(cells)} cells are expected to reach --max-episodes before the "
            "condition holds"
        )
    return notes
