"""How long a run still takes, by the steps that it has played.

Work is counted by kind of cell, never as steps per second over all: tabular cells are instant and
those of language models slow. A step of a cell is taken to last ``a + b t`` seconds, t its number,
as prompts grow with the past; ``b`` lies between 0 (no growth) and the slope of a line through the
origin. What a cell has not shown yet is taken from cells with the same players, then from those
with the same models, then from all. How often episodes end early is counted in the same way.
"""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_RECENT = 30.0
"""Seconds after which what was measured of the present speed counts 1/e; longer for long steps."""

_ENOUGH = 10
"""Steps from which on a cell speaks for itself."""

_SIMULATED = 3000
"""Episodes whose order of play is followed; of more, only their sum counts."""

_SURE = 2.5
"""Standard errors from zero from which on a slope begins to count as growth."""

_REFIT = 1.0
"""Seconds between two fits."""

_ALONE = {False: 0.8, True: 0.5}
"""How little the last episodes gain by being few, from 0 (all of it) to 1 (nothing): of served
models, and of local ones, whose batches shrink."""

Floats = NDArray[np.float64]


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


class _Seen:
    """What was seen of one cell: sums over steps of their number t and their seconds y."""

    __slots__ = ("early", "ended", "first", "recent", "risk", "sums")

    def __init__(self) -> None:
        self.sums = [0.0] * 6  # n, t, tt, y, ty, yy
        self.first = [0.0] * 6  # the same, of steps that began before the models were warm
        self.recent = [0.0] * 3  # n, t, y, the older the less
        self.risk = self.ended = self.early = 0.0


class Pace:
    """Estimates the seconds left; what happens is told it in order, from any thread.

    Parameters
    ----------
    works : sequence of Work
        All cells, by number.
    waiting : mapping of int to int
        Episodes of each cell that are to be played.
    slots : int
        Episodes of language models that are played at a time.
    clock : callable
        Returns seconds, from any start.
    """

    def __init__(
        self,
        works: Sequence[Work],
        waiting: Mapping[int, int],
        slots: int = 32,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._works, self._slots, self._clock = list(works), slots, clock
        self._waiting = {cell: count for cell, count in waiting.items() if count}
        self._seen = [_Seen() for _ in works]
        self._under_way: dict[tuple[int, int], list[float]] = {}  # steps done, since when, warm
        self._mark = clock()
        self._loading: float | None = None
        self._loads: list[float] = []
        self._warm = False  # whether a step of the present models is over
        self._fitted = -math.inf
        self._slope, self._level = np.zeros(len(works)), np.full(len(works), np.nan)
        self._hazard = np.zeros(len(works))
        self._lock = threading.Lock()
        own = [w.models != () for w in works]
        self._ladders = [
            _labels([(cell, w.models, w.players) for cell, w in enumerate(works)]),
            _labels([(w.models, w.players) for w in works]),
            _labels([w.models for w in works]),
            _labels(list(zip(own, (w.players for w in works), strict=True))),
            _labels(own),
        ]

    # What happens

    def together(self, cell: int, episodes: int) -> None:
        """Hear that episodes without a model were played at once."""
        with self._lock:
            now, steps = self._clock(), episodes * self._works[cell].length
            seen, took = self._seen[cell], now - self._mark
            if steps:
                _add(seen.sums, 1.0, took / steps, steps)
            seen.risk += steps
            self._waiting[cell] = max(0, self._waiting.get(cell, 0) - episodes)
            self._mark = now

    def group(self) -> None:
        """Hear that models are being loaded, those before them are done."""
        with self._lock:
            self._loading, self._warm = self._clock(), False

    def begun(self, cell: int, episode: int) -> None:
        """Hear that an episode of a language model begins."""
        with self._lock:
            now = self._clock()
            if self._loading is not None:
                self._loads.append(now - self._loading)
                self._loading = None
            self._waiting[cell] = max(0, self._waiting.get(cell, 0) - 1)
            self._under_way[cell, episode] = [0.0, now, float(self._warm)]

    def stepped(self, cell: int, episode: int) -> None:
        """Hear that an episode has got through a step."""
        with self._lock:
            mine = self._under_way.get((cell, episode))
            if mine is None:
                return
            now, seen = self._clock(), self._seen[cell]
            done, since, warm = mine
            took = now - since
            mine[:] = done + 1, now, 1.0
            seen.risk += 1
            _add(seen.sums if warm else seen.first, done + 1, took)
            if warm:
                recent = seen.recent
                recent[0] += 1
                recent[1] += done + 1
                recent[2] += took
            self._warm = True
            if now - self._fitted >= _REFIT:
                self._fit(now)

    def ended(self, cell: int, episode: int) -> None:
        """Hear that an episode is over, or broken off."""
        with self._lock:
            done = self._under_way.pop((cell, episode), [0.0])[0]
            seen = self._seen[cell]
            seen.ended += 1
            seen.early += done < self._works[cell].length
            seen.risk += done == 0  # one that never got through a step says so too

    def lost(self, cell: int, episode: int) -> None:
        """Hear that an episode under way will begin anew: how far it came says nothing."""
        with self._lock:
            if self._under_way.pop((cell, episode), None) is not None:
                self._waiting[cell] = self._waiting.get(cell, 0) + 1

    def dropped(self, cell: int, count: int) -> None:
        """Hear that episodes of a cell will not begin."""
        with self._lock:
            self._waiting[cell] = max(0, self._waiting.get(cell, 0) - count)

    # What follows from it

    @property
    def unseen(self) -> int:
        """How many groups of models have still to play and have not got through a step."""
        with self._lock:
            left = {self._works[cell].models for cell, count in self._waiting.items() if count}
            seen = {w.models for w, seen in zip(self._works, self._seen, strict=True) if seen.risk}
            return len(left - seen - {()})

    def left(self) -> float | None:
        """Return the seconds left, 0 if nothing is; None as long as nothing is known."""
        with self._lock:
            now = self._clock()
            waiting = {cell: count for cell, count in self._waiting.items() if count}
            if not waiting and not self._under_way:
                return 0.0
            self._fit(now)
            if np.isnan(self._level[list(waiting) + [cell for cell, _ in self._under_way]]).any():
                return None
            groups: dict[Hashable, list[int]] = {}
            for cell in waiting:
                groups.setdefault(self._works[cell].models, []).append(cell)
            playing = {self._works[cell].models for cell, _ in self._under_way}
            total = sum(waiting[cell] * self._episode(cell, 0) for cell in groups.pop((), ()))
            local = {work.models: work.local for work in self._works}
            for models in dict.fromkeys([*playing, *groups]):
                begun = [
                    self._rest(place[0], mine[0], mine[1], now)
                    for place, mine in self._under_way.items()
                    if self._works[place[0]].models == models
                ]
                todo = {
                    cell: (waiting[cell], self._episode(cell, 0)) for cell in groups.get(models, ())
                }
                total += self._now_slower(models) * _span(
                    begun, todo, self._slots, _ALONE[local[models]]
                )
                if models not in playing and self._loads:
                    load = sum(self._loads) / len(self._loads)
                    spent = 0.0 if self._loading is None else now - self._loading
                    total += max(0.0, load - spent)
            return total

    def _rest(self, cell: int, done: float, since: float, now: float) -> float:
        """Return the seconds that an episode under way still takes."""
        full = self._episode(cell, int(done))
        step = float(self._level[cell] + self._slope[cell] * (done + 1))
        spent = now - since
        # A step that is overdue, as one that waits for a server, is not over the next moment.
        return full - step + max(step - spent, min(step, spent) / 2)

    def _episode(self, cell: int, done: int) -> float:
        """Return the seconds of an episode after so many steps of it."""
        numbers = np.arange(done + 1, self._works[cell].length + 1)
        stays = (1 - self._hazard[cell]) ** (numbers - done - 1)
        return float((stays * (self._level[cell] + self._slope[cell] * numbers)).sum())

    def _now_slower(self, models: Hashable) -> float:
        """Return how many times as long steps take at present as the fit says."""
        took = said = 0.0
        for cell, seen in enumerate(self._seen):
            if self._works[cell].models == models and seen.recent[0]:
                took += seen.recent[2]
                said += self._level[cell] * seen.recent[0] + self._slope[cell] * seen.recent[1]
        return took / said if said > 0 and took > 0 else 1.0

    def _fit(self, now: float) -> None:
        """Fit all cells anew, and let what was recent grow older."""
        if now - self._fitted < _REFIT and math.isfinite(self._fitted):
            return
        seen = self._seen
        counted = sum(s.recent[0] for s in seen)
        mean = sum(s.recent[2] for s in seen) / counted if counted else 0.0
        if math.isfinite(self._fitted):
            age = math.exp(-(now - self._fitted) / max(_RECENT, 10 * mean))
            for one in seen:
                one.recent = [value * age for value in one.recent]
        self._fitted = now
        sums, first = np.array([s.sums for s in seen]), np.array([s.first for s in seen])
        ends = np.array([(s.ended, s.early, s.risk) for s in seen])
        self._level, self._slope = np.full(len(seen), np.nan), np.zeros(len(seen))
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
        self._hazard = np.zeros(len(seen))
        unknown = np.ones(len(seen), dtype=bool)
        for labels in self._ladders:
            over, early, risk = _pooled(ends, labels).T
            taken = unknown & (over > 0) & (risk > 0)
            self._hazard[taken] = np.minimum(1.0, early[taken] / risk[taken])
            unknown &= ~taken

    def _take(self, sums: Floats, least: float) -> None:
        """Fit a line by these sums, shape (cells, 6), to cells that have none and steps enough."""
        taken = np.isnan(self._level) & (sums[:, 0] >= least)
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
        self._slope[taken] = slope
        self._level[taken] = mean_y - slope * mean_t


def _labels(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return numbers that equal keys share."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _pooled(table: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return for every row the sum of all rows with its label."""
    sums = np.zeros((int(labels.max(initial=-1)) + 1, table.shape[1]))
    np.add.at(sums, labels, table)
    pooled: Floats = sums[labels]
    return pooled


def _add(sums: list[float], t: float, y: float, times: int = 1) -> None:
    sums[0] += times
    sums[1] += times * t
    sums[2] += times * t * t
    sums[3] += times * y
    sums[4] += times * t * y
    sums[5] += times * y * y


def _span(
    begun: Sequence[float], todo: Mapping[int, tuple[int, float]], slots: int, alone: float
) -> float:
    """Return the seconds in which episodes end that are under way or follow, so many at a time.

    `begun` has the seconds of those under way, `todo` by cell a number of episodes and the seconds
    of each. As fewer of them play, batches shrink and servers are less busy, so those left are
    faster, by a factor that is not known: a geometric mean of no gain and the largest, by `alone`.
    """
    count = len(begun) + sum(number for number, _ in todo.values())
    if not count:
        return 0.0
    slots = max(1, min(slots, count))
    shared = (sum(begun) + sum(number * each for number, each in todo.values())) / slots
    if count > _SIMULATED:
        return shared
    free = sorted(begun) + [0.0] * (slots - len(begun))
    heapq.heapify(free)
    last, left = max(begun, default=0.0), {cell: number for cell, (number, _) in todo.items()}
    while left:  # an episode of every cell in turn, as runs play them
        for cell in list(left):
            end = heapq.heappop(free) + todo[cell][1]
            heapq.heappush(free, end)
            last = max(last, end)
            left[cell] -= 1
            if not left[cell]:
                del left[cell]
    blended: float = last**alone * shared ** (1 - alone)
    return blended
