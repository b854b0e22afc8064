"""How many seconds steps take, and how many an episode has, by what was seen of each cell.

A step of a cell is taken to last ``a + b t`` seconds, t its number, as prompts grow with the past;
``b`` lies between 0 (no growth) and the slope of a line through the origin. What a cell has not
shown yet is taken from cells with the same players, then from those with the same models, then from
all. How often episodes end early is counted in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_RECENT = 30.0
"""Seconds after which what was measured of the present speed counts 1/e; longer for long steps."""

_ENOUGH = 10
"""Steps from which on a cell speaks for itself."""

_SURE = 2.5
"""Standard errors from zero from which on a slope begins to count as growth."""

_NEVER = 1e-7
"""A share of episodes that end at a step which is taken for none."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Work(NamedTuple):
    """A cell, as far as its pace is concerned.

    Attributes
    ----------
    length : int
        The most steps of an episode.
    models : tuple
        What tells its language models from others; empty without any. Cells with the same models
        are played together, and groups of them one after the other.
    players : tuple
        What else tells its players from others, such as their strategies.
    local : bool
        Whether its models run in this process.
    """

    length: int
    models: Hashable = ()
    players: Hashable = ()
    local: bool = False


class Seen:
    """What was seen of one cell: sums over steps of their number t and their seconds y."""

    __slots__ = ("early", "ended", "first", "recent", "risk", "sums")

    def __init__(self) -> None:
        self.sums = [0.0] * 6  # n, t, tt, y, ty, yy
        self.first = [0.0] * 6  # the same, of steps that began before the models were warm
        self.recent = [0.0] * 3  # n, t, y, the older the less
        self.risk = self.ended = self.early = 0.0


class Fit:
    """Lines through what was seen, by cell.

    Attributes
    ----------
    level, slope : array, shape (cells,)
        a and b, in seconds; a is nan as long as nothing is known.
    hazard : array, shape (cells,)
        The share of steps at which an episode ends before its length.
    group : array, shape (cells,)
        Numbers that cells with the same models share.
    at : float
        When this was fitted.
    span : float
        Seconds after which what was measured of the present speed counts 1/e.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        self._lengths = np.array([w.length for w in works], dtype=np.float64)
        self.at, self.span = -math.inf, _RECENT
        self.level, self.slope = np.full(len(works), np.nan), np.zeros(len(works))
        self.hazard = np.zeros(len(works))
        own = [w.models != () for w in works]
        self._ladders = [
            labels([(cell, w.models, w.players) for cell, w in enumerate(works)]),
            labels([(w.models, w.players) for w in works]),
            labels([w.models for w in works]),
            labels(list(zip(own, (w.players for w in works), strict=True))),
            labels(own),
        ]
        self.group = self._ladders[2]

    def again(self, seen: Sequence[Seen], now: float) -> float:
        """Fit all cells anew; return the factor by which what was recent has grown older."""
        age = 1.0
        if math.isfinite(self.at):
            counted = sum(s.recent[0] for s in seen)
            mean = sum(s.recent[2] for s in seen) / counted if counted else 0.0
            self.span = max(_RECENT, 10 * mean)
            age = math.exp(-(now - self.at) / self.span)
            for one in seen:
                if one.recent[0]:
                    one.recent = [value * age for value in one.recent]
        self.at = now
        sums, first = np.array([s.sums for s in seen]), np.array([s.first for s in seen])
        ends = np.array([(s.ended, s.early, s.risk) for s in seen])
        self.level, self.slope = np.full(len(seen), np.nan), np.zeros(len(seen))
        own, others = self._ladders[:3], self._ladders[3:]
        for rungs, table, least in (
            (own, sums, _ENOUGH),
            (own, sums, 1),
            (own, first, 1),
            (others, sums, 1),
            (others, first, 1),
        ):
            for labels in rungs:
                self._take(_pooled(table, labels), least)
        self.hazard = np.zeros(len(seen))
        unknown = np.ones(len(seen), dtype=bool)
        for labels in self._ladders:
            over, early, risk = _pooled(ends, labels).T
            taken = unknown & (over > 0) & (risk > 0)
            self.hazard[taken] = np.minimum(1.0, early[taken] / risk[taken])
            unknown &= ~taken
        return age

    def seconds(self, cells: Ints, done: Floats) -> Floats:
        """Return the seconds of episodes of these cells after so many steps of them.

        The sum over their other steps, of number t, of (1 - h)^(t - done - 1) (a + b t), with h the
        share of episodes that end at a step.
        """
        left = np.maximum(self._lengths[cells] - done, 0.0)
        hazard = np.clip(self.hazard[cells], _NEVER, 1 - 1e-12)
        ends = left * np.log1p(-hazard)
        steps = -np.expm1(ends) / hazard
        numbers = (steps - left * np.exp(ends)) / hazard
        none = self.hazard[cells] <= _NEVER
        steps = np.where(none, left, steps)
        numbers = np.where(none, left * (left + 1) / 2, numbers)
        level, slope = self.level[cells], self.slope[cells]
        seconds: Floats = (level + slope * done) * steps + slope * numbers
        return seconds

    def slower(self, seen: Sequence[Seen]) -> Floats:
        """Return by group how many times as long steps take at present as the fit says."""
        recent = np.array([one.recent for one in seen])
        level = np.where(recent[:, 0] > 0, self.level, 0.0)
        count = len(self.level)
        took = np.bincount(self.group, recent[:, 2], count)
        said = np.bincount(self.group, level * recent[:, 0] + self.slope * recent[:, 1], count)
        known = (said > 0) & (took > 0)
        slower: Floats = np.divide(took, said, out=np.ones(count), where=known)
        return slower

    def _take(self, sums: Floats, least: float) -> None:
        """Fit a line by these sums, shape (cells, 6), to cells that have none and steps enough."""
        taken = np.isnan(self.level) & (sums[:, 0] >= least)
        if not taken.any():
            return
        n, t, tt, y, ty, yy = sums[taken].T
        mean_t, mean_y = t / n, y / n
        spread = np.maximum(tt / n - mean_t**2, 0.0)
        covered = ty / n - mean_t * mean_y
        slope = np.divide(covered, spread, out=np.zeros_like(spread), where=spread > 1e-9)
        residual = np.maximum(yy / n - mean_y**2 - slope * covered, 0.0)
        # Steps of one batch take the same time: as many numbers t as there are, not as many steps.
        apart = np.minimum(n, np.sqrt(12 * spread + 1)) - 2
        weight = np.maximum(apart, 0) * spread
        error = np.divide(residual, weight, out=np.full_like(spread, np.inf), where=weight > 1e-9)
        square = slope**2
        # What chance alone could make is no growth: far ahead it would count many times over.
        sure = np.divide(error, square, out=np.ones_like(square), where=square > 0)
        slope = np.clip(slope * np.maximum(0.0, 1 - _SURE**2 * sure), 0.0, mean_y / mean_t)
        self.slope[taken] = slope
        self.level[taken] = mean_y - slope * mean_t


def labels(keys: Sequence[Hashable]) -> Ints:
    """Return numbers that equal keys share."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _pooled(table: Floats, labels: Ints) -> Floats:
    """Return for every row the sum of all rows with its label."""
    sums = np.zeros((int(labels.max(initial=-1)) + 1, table.shape[1]))
    np.add.at(sums, labels, table)
    pooled: Floats = sums[labels]
    return pooled


def add(sums: list[float], t: float, y: float, times: int = 1) -> None:
    """Add steps of number t that took y seconds each to sums n, t, tt, y, ty, yy."""
    sums[0] += times
    sums[1] += times * t
    sums[2] += times * t * t
    sums[3] += times * y
    sums[4] += times * t * y
    sums[5] += times * y * y
