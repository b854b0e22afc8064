"""How long a run still takes, by the steps that it has played.

Work is counted by kind of cell, never as steps per second over all: tabular cells are instant and
those of language models slow. What steps take is fitted in `pace_fit`.

Where several replicas play, news of them come in batches: seconds lie between two of them, and
whole episodes may lie in one. What is summed is the time between the news that an episode began and
the last that was heard of its steps, by the clock of the listener. That is late at both ends by the
same amount on average, so sums over many steps are right where single steps are not. A mean over
steps, of which fast replicas make more, with as many episodes at a time as play, is the speed of
all together; how long the last episodes take is told from the speeds of the replicas.
"""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tomeval.runs.pace_fit import Fit, Floats, Ints, Seen, Work, add, labels

_SIMULATED = 3000
"""Episodes whose order of play is followed; of more, only their sum counts."""

_COUNTED = 20.0
"""Seconds after which the episodes that play at a time are what is counted, not what may play."""

_REFIT = 1.0
"""Seconds between two fits."""

_ALONE = {False: 0.8, True: 0.5}
"""How little the last episodes gain by being few, from 0 (all of it) to 1 (nothing): of served
models, and of local ones, whose batches shrink."""

Job = tuple[int, int]
"""Cell, episode."""


class _Playing:
    """An episode under way."""

    __slots__ = ("done", "known", "replica", "since", "warm")

    def __init__(self, since: float, warm: bool, known: int, replica: str) -> None:
        self.done, self.replica = 0, replica
        self.since = since  # when it was last heard of
        self.warm = warm
        self.known = known  # its first steps, which an earlier try got through: replies are kept


class Pace:
    """Estimates the seconds left; what happens is told it in order, from any thread.

    Parameters
    ----------
    works : sequence of Work
        All cells, by number.
    waiting : mapping of int to int
        Episodes of each cell that are to be played.
    slots : int
        Episodes of language models that are played at a time, on each replica.
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
        self._waiting = np.zeros(len(works), dtype=np.int64)
        for cell, count in waiting.items():
            self._waiting[cell] = count
        self._seen = [Seen() for _ in works]
        self._under_way: dict[Job, _Playing] = {}
        self._known: dict[Job, int] = {}  # steps of episodes whose replica was lost
        self._replicas = 1
        self._marks = {"": clock()}  # when a replica's last episodes without a model were over
        self._speeds: dict[str, list[float]] = {}  # by replica, seconds of late, and as fitted
        self._loading: float | None = None
        self._loads: list[float] = []
        self._warm = False  # whether a step of the present models is over
        self._lock = threading.Lock()
        self._fit = Fit(works)
        self._group = self._fit.group
        self._of_models = np.array([w.models != () for w in works], dtype=bool)
        self._todo = np.bincount(self._group, self._waiting, len(works)).astype(np.int64)
        self._at_work: dict[int, int] = {}  # by group, episodes under way
        self._busy = [0.0, 0.0, clock()]  # episodes under way times seconds, seconds, until when

    # What happens

    def replicas(self, number: int) -> None:
        """Hear on how many replicas episodes are played from now on; 0 counts as 1."""
        with self._lock:
            if self._replicas != max(1, number):
                self._replicas = max(1, number)
                self._busy = [0.0, 0.0, self._clock()]

    def together(self, cell: int, episodes: int, replica: str = "") -> None:
        """Hear that episodes without a model were played at once; `replica` tells who says so."""
        with self._lock:
            now, steps = self._clock(), episodes * self._works[cell].length
            if replica:
                self._marks.pop("", None)
            seen, took = self._seen[cell], now - self._marks.get(replica, now)
            if steps and replica in self._marks:
                add(seen.sums, 1.0, took / steps, steps)
            seen.risk += steps
            self._wait(cell, -episodes)
            self._marks[replica] = now

    def leased(self, replica: str) -> None:
        """Hear that a replica begins with episodes without a model, having played none before."""
        with self._lock:
            self._marks.pop("", None)
            self._marks[replica] = self._clock()

    def gone(self, replica: str) -> None:
        """Hear that a replica plays no episodes without a model any more."""
        with self._lock:
            self._marks.pop(replica, None)

    def group(self) -> None:
        """Hear that models are being loaded, those before them are done."""
        with self._lock:
            self._loading, self._warm = self._clock(), False

    def begun(self, cell: int, episode: int, replica: str = "") -> None:
        """Hear that an episode of a language model begins; `replica` tells where."""
        with self._lock:
            now = self._clock()
            if (cell, episode) in self._under_way:  # of a replica that was silent, too
                return
            if self._loading is not None:
                self._loads.append(now - self._loading)
                self._loading = None
            self._count_busy(now)
            self._wait(cell, -1)
            known = self._known.pop((cell, episode), 0)
            self._under_way[cell, episode] = _Playing(now, self._warm, known, replica)
            group = int(self._group[cell])
            self._at_work[group] = self._at_work.get(group, 0) + 1

    def stepped(self, cell: int, episode: int, count: int = 1) -> None:
        """Hear that an episode has got through so many steps since it was last heard of."""
        with self._lock:
            self._step(cell, episode, count)

    def ended(self, cell: int, episode: int, steps: int | None = None) -> None:
        """Hear that an episode is over, or broken off; `steps` says how many it had, if known."""
        with self._lock:
            mine = self._under_way.get((cell, episode))
            if mine is None:
                if self._known.pop((cell, episode), None) is not None:  # heard of after all
                    self._wait(cell, -1)
                return
            if steps is not None and steps > mine.done:
                self._step(cell, episode, steps - mine.done)
            self._leave(cell, episode)
            seen = self._seen[cell]
            seen.ended += 1
            seen.early += mine.done < self._works[cell].length
            seen.risk += mine.done == 0  # one that never got through a step says so too

    def returned(self, cell: int, episode: int) -> None:
        """Hear that an episode under way is to be played again, from what is kept of it."""
        with self._lock:
            mine = self._under_way.get((cell, episode))
            if mine is not None:
                self._leave(cell, episode)
                self._known[cell, episode] = max(mine.done, mine.known)
                self._wait(cell, 1)

    def dropped(self, cell: int, count: int) -> None:
        """Hear that episodes of a cell will not begin."""
        with self._lock:
            self._wait(cell, -count)

    def _step(self, cell: int, episode: int, count: int) -> None:
        mine = self._under_way.get((cell, episode))
        if mine is None or count < 1:
            return
        now, seen, warm = self._clock(), self._seen[cell], mine.warm
        took, before = now - mine.since, max(mine.done, mine.known)
        mine.done, mine.since, mine.warm = mine.done + count, now, True
        fresh = mine.done - before
        if fresh < 1:  # replayed
            return
        number = (before + 1 + mine.done) / 2  # of those at once, the middle: nothing more is known
        seen.risk += fresh
        add(seen.sums if warm else seen.first, number, took / fresh, fresh)
        if warm:
            recent = seen.recent
            recent[0] += fresh
            recent[1] += fresh * number
            recent[2] += took
            usual = float(self._fit.level[cell] + self._fit.slope[cell] * number)
            if mine.replica and usual > 0:
                speed = self._speeds.setdefault(mine.replica, [0.0, 0.0])
                speed[0] += took
                speed[1] += fresh * usual
        self._warm = True
        self._refit(now)

    def _refit(self, now: float) -> None:
        if now - self._fit.at >= _REFIT:
            age = self._fit.again(self._seen, now)
            for speed in self._speeds.values():
                speed[:] = [value * age for value in speed]

    def _wait(self, cell: int, more: int) -> None:
        """Count so many more episodes of a cell, or fewer, that wait."""
        before = int(self._waiting[cell])
        self._waiting[cell] = max(0, before + more)
        self._todo[self._group[cell]] += self._waiting[cell] - before

    def _leave(self, cell: int, episode: int) -> None:
        """Take an episode from those under way."""
        self._count_busy(self._clock())
        del self._under_way[cell, episode]
        group = int(self._group[cell])
        self._at_work[group] -= 1
        if not self._at_work[group]:
            del self._at_work[group]

    def _count_busy(self, now: float) -> None:
        """Count how many episodes were under way until now, while others waited for their turn."""
        area, seconds, until = self._busy
        if any(self._todo[group] for group in self._at_work):
            passed = now - until
            age = math.exp(-passed / self._fit.span)
            area = area * age + len(self._under_way) * passed
            seconds = seconds * age + passed
        self._busy = [area, seconds, now]

    # What follows from it

    @property
    def unseen(self) -> int:
        """How many groups of models have still to play and have not got through a step."""
        with self._lock:
            left = np.unique(self._group[(self._waiting > 0) & self._of_models])
            seen = self._group[np.array([seen.risk > 0 for seen in self._seen], dtype=bool)]
            return len(np.setdiff1d(left, seen))

    def left(self) -> float | None:
        """Return the seconds left, 0 if nothing is; None as long as nothing is known."""
        with self._lock:
            now = self._clock()
            cells = np.flatnonzero(self._waiting)
            if not cells.size and not self._under_way:
                return 0.0
            self._refit(now)
            fit = self._fit
            playing = np.array([cell for cell, _ in self._under_way], dtype=np.int64)
            if np.isnan(fit.level[cells]).any() or np.isnan(fit.level[playing]).any():
                return None
            whole = fit.seconds(cells, np.zeros(len(cells)))
            alone = ~self._of_models[cells]
            total = float((self._waiting[cells] * whole)[alone].sum()) / max(1, len(self._marks))
            slots, slower, speeds = self._slots_now(now), fit.slower(self._seen), self._factors()
            rests = self._rests(playing, speeds, now)
            where = labels([mine.replica for mine in self._under_way.values()])
            groups = np.concatenate((self._group[playing], self._group[cells[~alone]]))
            for group in dict.fromkeys(groups.tolist()):
                mine = ~alone & (self._group[cells] == group)
                todo = {
                    cell: (int(self._waiting[cell]), seconds)
                    for cell, seconds in zip(
                        cells[mine].tolist(), whole[mine].tolist(), strict=True
                    )
                }
                here = self._group[playing] == group
                of = (rests[here].tolist(), speeds[here].tolist(), where[here].tolist())
                begun = list(zip(*of, strict=True))
                local = self._works[int(np.argmax(self._group == group))].local
                total += slower[group] * _span(begun, todo, slots, _ALONE[local])
                if not begun and self._loads:
                    load = sum(self._loads) / len(self._loads)
                    spent = 0.0 if self._loading is None else now - self._loading
                    total += max(0.0, load - spent)
            return float(total)

    def _slots_now(self, now: float) -> int:
        """Return how many episodes play at a time: so many as do of late while others wait."""
        self._count_busy(now)
        most = self._slots * self._replicas
        area, seconds, _ = self._busy
        if seconds < _COUNTED or area <= 0:
            return most
        return max(1, min(most, round(area / seconds)))

    def _factors(self) -> Floats:
        """Return how many times as long steps of the episodes under way take as those of all.

        Their harmonic mean is 1: together they are as fast as the fit says.
        """
        found = {name: took / said for name, (took, said) in self._speeds.items() if said > 0}
        factors: Floats = np.array([found.get(m.replica, 1.0) for m in self._under_way.values()])
        factors = np.maximum(factors, 1e-3)
        if factors.size:
            factors *= float(np.mean(1 / factors))
        return factors

    def _rests(self, cells: Ints, factors: Floats, now: float) -> Floats:
        """Return the seconds that the episodes under way, of these cells, still take."""
        done = np.array([mine.done for mine in self._under_way.values()], dtype=np.float64)
        since = np.array([mine.since for mine in self._under_way.values()], dtype=np.float64)
        full = factors * self._fit.seconds(cells, done)
        step = factors * (self._fit.level[cells] + self._fit.slope[cells] * (done + 1))
        spent = now - since
        # A step that is overdue, as one that waits for a server, is not over the next moment.
        rest: Floats = full - step + np.maximum(step - spent, np.minimum(step, spent) / 2)
        rest[rest < 0] = 0.0
        return rest


def _span(
    begun: Sequence[tuple[float, float, int]],
    todo: Mapping[int, tuple[int, float]],
    slots: int,
    alone: float,
) -> float:
    """Return the seconds in which episodes end that are under way or follow, so many at a time.

    `begun` has of those under way the seconds, how many times as long steps take there as usual,
    and on which replica; `todo` by cell a number of episodes and the usual seconds of each. As
    fewer of them play on a replica, batches shrink and servers are less busy, so those left are
    faster, by a factor that is not known: a geometric mean of no gain and the largest, by `alone`.
    """
    count = len(begun) + sum(number for number, _ in todo.values())
    if not count:
        return 0.0
    slots = max(1, min(slots, count))
    if count > _SIMULATED:
        work = sum(rest / slow for rest, slow, _ in begun)
        return (work + sum(number * each for number, each in todo.values())) / slots
    free = sorted(begun) + [(0.0, 1.0, -1)] * (slots - len(begun))
    heapq.heapify(free)
    left = {cell: number for cell, (number, _) in todo.items()}
    while left:  # an episode of every cell in turn, as runs play them
        for cell in list(left):
            end, slow, where = free[0]
            heapq.heapreplace(free, (end + slow * todo[cell][1], slow, where))
            left[cell] -= 1
            if not left[cell]:
                del left[cell]
    ends: dict[int, list[float]] = {}
    for end, _, where in free:
        ends.setdefault(where, []).append(end)
    shared = max(sum(mine) / len(mine) for mine in ends.values())
    blended: float = max(free)[0] ** alone * shared ** (1 - alone)
    return blended
