"""Episodes in little memory: which of a cell's, and which of all cells, as bits."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

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
