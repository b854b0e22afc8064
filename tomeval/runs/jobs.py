"""The order in which episodes begin, in memory that grows with cells and not with episodes."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Job = tuple[int, int]
"""Cell number and episode."""


class Jobs:
    """A set of jobs, a bit for each episode of a cell up to its last one in the set.

    Examples
    --------
    >>> jobs = Jobs([(0, 3), (2, 1000)])
    >>> jobs.discard((0, 3))
    >>> (0, 3) in jobs, (2, 1000) in jobs, (2, 5000) in jobs, (7, 0) in jobs
    (False, True, False, False)
    """

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self._bits: dict[int, bytearray] = {}
        for job in jobs:
            self.add(job)

    def add(self, job: Job) -> None:
        """Put a job into the set."""
        cell, episode = job
        place = episode >> 3
        bits = self._bits.setdefault(cell, bytearray())
        if place >= len(bits):
            bits.extend(bytes(place + 1 - len(bits)))
        bits[place] |= 1 << (episode & 7)

    def discard(self, job: Job) -> None:
        """Take a job out of the set, if it is in it."""
        if job in self:
            self._bits[job[0]][job[1] >> 3] &= ~(1 << (job[1] & 7))

    def __contains__(self, job: Job) -> bool:
        """Tell whether a job is in the set."""
        cell, episode = job
        bits = self._bits.get(cell, b"")
        place = episode >> 3
        return place < len(bits) and bool(bits[place] >> (episode & 7) & 1)


def compact(numbers: Sequence[int] | NDArray[np.int64]) -> Sequence[int]:
    """Return increasing numbers as a range if none is left out, else in eight bytes each.

    Equal numbers are equal sequences.

    Examples
    --------
    >>> compact([2, 3, 4]), compact([2, 4]), compact([])
    (range(2, 5), array('q', [2, 4]), range(0, 0))
    """
    if isinstance(numbers, range) and numbers.step == 1:
        return numbers
    count = len(numbers)
    if not count:
        return range(0)
    if int(numbers[-1]) - int(numbers[0]) + 1 == count:
        return range(int(numbers[0]), int(numbers[-1]) + 1)
    return array("q", np.asarray(numbers, dtype=np.int64).tobytes())


def without(numbers: Sequence[int], others: Iterable[int]) -> Sequence[int]:
    """Return increasing numbers without some others, which need not be among them, see `compact`.

    Examples
    --------
    >>> without(range(6), [0, 4, 9]), without(range(6), [0, 1, 9])
    (array('q', [1, 2, 3, 5]), range(2, 6))
    """
    gone = np.fromiter(others, dtype=np.int64)
    if not gone.size or not len(numbers):
        return compact(numbers)
    mine = (
        np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
        if isinstance(numbers, range)
        else np.asarray(numbers, dtype=np.int64)
    )
    return compact(mine[~np.isin(mine, gone)])


class Waiting:
    """Jobs that wait: first those that were put back, then episode by episode over all cells.

    After these come those that were added, in the order given.

    Parameters
    ----------
    episodes : mapping of int to sequence of int
        By cell, each in order.
    """

    def __init__(self, episodes: Mapping[int, Sequence[int]]) -> None:
        self._front: deque[Job] = deque()
        self._added: deque[Job] = deque()
        self._of = {cell: numbers for cell, numbers in episodes.items() if len(numbers)}
        self._next = dict.fromkeys(self._of, 0)  # by cell, the place of the next one
        self._heads = [(numbers[0], cell) for cell, numbers in self._of.items()]
        heapq.heapify(self._heads)
        self._aside: dict[int, int] = {}  # heads of cells that were found not to begin
        self._gone = Jobs()  # taken before their turn
        self._left = Counter({cell: len(numbers) for cell, numbers in self._of.items()})
        self._count = self._left.total()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Job]:
        """Yield what waits, in order."""
        yield from self._front
        turns = (((e, c) for c, e in self._turns(cell)) for cell in self._of)
        yield from ((cell, episode) for episode, cell in heapq.merge(*turns))
        yield from self._added

    def of(self, cell: int) -> int:
        """Return how many jobs of a cell wait."""
        return self._left[cell]

    def take(self, may_begin: Callable[[int], bool]) -> Job | None:
        """Return the first job whose cell may begin one, which waits no more; None: there is none.

        A cell that may not is not asked about again until `free` names it.
        """
        if not self._count:
            return None
        return (
            self._from(self._front, may_begin)
            or self._turn(may_begin)
            or self._from(self._added, may_begin)
        )

    def _from(self, jobs: deque[Job], may_begin: Callable[[int], bool]) -> Job | None:
        for place, job in enumerate(jobs):
            if may_begin(job[0]):
                del jobs[place]
                self._less(job[0], 1)
                return job
        return None

    def _turn(self, may_begin: Callable[[int], bool]) -> Job | None:
        while self._heads:
            episode, cell = self._heads[0]
            if cell not in self._of:
                heapq.heappop(self._heads)  # dropped
            elif (cell, episode) in self._gone:
                self._advance(cell)
            elif may_begin(cell):
                self._advance(cell)
                self._less(cell, 1)
                return cell, episode
            else:
                self._aside[cell] = episode
                heapq.heappop(self._heads)
        return None

    def _advance(self, cell: int) -> None:
        """Put the next episode of a cell in the place of its head, which is the first of all."""
        self._next[cell] += 1
        place, numbers = self._next[cell], self._of[cell]
        if place < len(numbers):
            heapq.heapreplace(self._heads, (numbers[place], cell))
        else:
            heapq.heappop(self._heads)

    def free(self, cell: int) -> None:
        """Hear that a cell may begin one now."""
        if (episode := self._aside.pop(cell, None)) is not None:
            heapq.heappush(self._heads, (episode, cell))

    def put_back(self, job: Job) -> None:
        """Let a job that was taken be the first."""
        self._front.appendleft(job)
        self._less(job[0], -1)

    def add(self, jobs: Sequence[Job]) -> None:
        """Let more jobs wait."""
        self._added.extend(jobs)
        self._left.update(cell for cell, _ in jobs)
        self._count += len(jobs)

    def claim(self, job: Job) -> bool:
        """Take this very job; return whether it waited."""
        for jobs in (self._front, self._added):
            if job in jobs:
                jobs.remove(job)
                self._less(job[0], 1)
                return True
        cell, episode = job
        numbers = self._of.get(cell, ())
        place = bisect_left(numbers, episode, self._next.get(cell, 0))
        if place == len(numbers) or numbers[place] != episode or job in self._gone:
            return False
        self._gone.add(job)
        self._less(cell, 1)
        return True

    def withdraw(self, cell: int) -> list[Job]:
        """Leave out what waits of a cell, and return it in order."""
        left = [job for jobs in (self._front, self._turns(cell), self._added) for job in jobs]
        left = [job for job in left if job[0] == cell]
        self.drop(cell)
        return left

    def _turns(self, cell: int) -> Iterator[Job]:
        numbers = self._of.get(cell, ())
        for place in range(self._next.get(cell, 0), len(numbers)):
            if (job := (cell, numbers[place])) not in self._gone:
                yield job

    def drop(self, cell: int) -> None:
        """Leave out what waits of a cell."""
        for jobs in (self._front, self._added):
            if any(job[0] == cell for job in jobs):
                kept = [job for job in jobs if job[0] != cell]
                jobs.clear()
                jobs.extend(kept)
        self._of.pop(cell, None)
        self._next.pop(cell, None)
        self._aside.pop(cell, None)
        self._less(cell, self._left[cell])

    def clear(self) -> None:
        """Let nothing wait."""
        for cell in [cell for cell, count in self._left.items() if count]:
            self.drop(cell)

    def _less(self, cell: int, count: int) -> None:
        self._left[cell] -= count
        self._count -= count
