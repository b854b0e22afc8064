"""What language models have still to play: in which order episodes begin, and what stops a cell.

A cell stops after so many void episodes in a row, or when a prompt is longer than the model's
context; what of it is under way goes on, what has not begun is left out. Voids are counted in the
order of episodes, not in that in which they end: void episodes end early, so the first to end would
nearly always be void, even in cells where most get to their end.
"""

from __future__ import annotations

import asyncio
import heapq
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tomeval.core.outcomes import COMPLETE, FAILED

Job = tuple[int, int]
"""Cell number and episode."""


class Jobs:
    """A set of jobs, a bit for each episode of a cell up to its last one in the set.

    Examples
    --------
    >>> jobs = Jobs()
    >>> jobs.add((2, 1000))
    >>> (0, 3) in jobs, (2, 1000) in jobs, (2, 5000) in jobs
    (False, True, False)
    """

    def __init__(self) -> None:
        self._bits: dict[int, bytearray] = {}

    def add(self, job: Job) -> None:
        """Put a job into the set."""
        cell, episode = job
        bits = self._bits.setdefault(cell, bytearray())
        bits.extend(bytes(max(0, (episode >> 3) + 1 - len(bits))))
        bits[episode >> 3] |= 1 << (episode & 7)

    def __contains__(self, job: Job) -> bool:
        """Tell whether a job is in the set."""
        cell, episode = job
        bits = self._bits.get(cell, b"")
        return episode >> 3 < len(bits) and bool(bits[episode >> 3] >> (episode & 7) & 1)


def without(numbers: Sequence[int], others: Iterable[int] = ()) -> Sequence[int]:
    """Return increasing numbers without some others, which need not be among them.

    It is a range if none between its ends is left out, else eight bytes for each; equal numbers are
    equal sequences.

    Examples
    --------
    >>> without(range(6), [0, 4, 9]), without(range(6), [0, 1, 9]), without([])
    (array('q', [1, 2, 3, 5]), range(2, 6), range(0, 0))
    """
    gone = np.fromiter(others, dtype=np.int64)
    mine: Sequence[int] = numbers
    if gone.size:
        whole = np.asarray(numbers, dtype=np.int64)
        mine = array("q", whole[~np.isin(whole, gone)].tobytes())
    if not len(mine):
        return range(0)
    if mine[-1] - mine[0] + 1 == len(mine):
        return range(int(mine[0]), int(mine[-1]) + 1)
    return mine if isinstance(mine, array) else array("q", mine)


class Schedule:
    """The episodes of one session that language models play.

    First those that were given back, then episode by episode over all cells, then those that were
    added, in the order given.

    Parameters
    ----------
    jobs : mapping of int to sequence of int, or sequence of (cell, episode)
        By cell the episodes, in order, which are played episode by episode over all cells, in
        memory that does not grow with them; or what is played in the order given.
    stop_after_voids : int
        How many void episodes in a row stop a cell; 0: any number is played. Failed episodes say
        nothing and are passed over, unless the caller counts them as void, because their replies
        came and could not be used; those of earlier sessions do not count. A cell also begins with
        no more episodes than this: the others wait until one of them has got through a step, so
        that a model that is never understood is not asked for all of them at once.
    more : bool
        Whether `add` may bring more, so that `begin` waits for them until `close` or `clear`.

    Attributes
    ----------
    reasons : dict of int to str
        Why each stopped cell plays no more.
    most : int
        How many episodes may be under way, see `limit`; 0: any number.
    """

    def __init__(
        self,
        jobs: Mapping[int, Sequence[int]] | Sequence[Job],
        stop_after_voids: int,
        more: bool = False,
    ) -> None:
        self.reasons: dict[int, str] = {}
        self.more, self.most = more, 0
        self._after = stop_after_voids
        by_cell: Mapping[int, Sequence[int]] = jobs if isinstance(jobs, Mapping) else {}
        self._turns = {cell: numbers for cell, numbers in sorted(by_cell.items()) if len(numbers)}
        self._order: dict[int, Sequence[int]] = dict(self._turns)
        self._at = dict.fromkeys(self._turns, 0)  # by cell, the place of the next one
        # What can begin next, as (rank, episode, cell): of the turns (rank 0) one for each cell.
        self._heap = [(0, numbers[0], cell) for cell, numbers in self._turns.items()]
        heapq.heapify(self._heap)
        self._held: dict[int, list[tuple[int, int, int]]] = {}  # the same, of cells that may not
        self._left = Counter({cell: len(numbers) for cell, numbers in self._turns.items()})
        self._count, self._under_way = self._left.total(), 0
        self._ranked = 0
        self._begun: Counter[int] = Counter()
        self._got_through: set[int] = set()
        self._void, self._passed_over = Jobs(), Jobs()
        self._change = asyncio.Event()
        if not isinstance(jobs, Mapping):
            listed: dict[int, list[int]] = {}
            for cell, episode in sorted(jobs):
                listed.setdefault(cell, []).append(episode)
            self._order |= listed
            self.add(jobs)

    def __len__(self) -> int:
        return self._count

    @property
    def cells(self) -> list[int]:
        """The numbers of the cells that play in this session."""
        return list(self._order)

    def left(self, cell: int) -> int:
        """Return how many episodes of a cell have not begun."""
        return self._left[cell]

    async def begin(self) -> Job | None:
        """Return the next episode once one may begin; None: there are no more."""
        while self._count or self.more:
            if (job := self.take()) is not None:
                return job
            self._change.clear()
            await self._change.wait()
        return None

    def take(self) -> Job | None:
        """Return the next episode, which begins by that; None: none may begin now."""
        while self._heap and not 0 < self.most <= self._under_way:
            entry = rank, episode, cell = heapq.heappop(self._heap)
            free = not self._after or cell in self._got_through or self._begun[cell] < self._after
            if free:
                if rank == 0:
                    self._advance(cell)
                self._begun[cell] += 1
                self._left[cell] -= 1
                self._count -= 1
                self._under_way += 1
                return cell, episode
            self._held.setdefault(cell, []).append(entry)
        return None

    def _advance(self, cell: int) -> None:
        """Put the next episode of a cell in its turn."""
        self._at[cell] += 1
        if self._at[cell] < len(self._turns[cell]):
            heapq.heappush(self._heap, (0, self._turns[cell][self._at[cell]], cell))

    def _free(self, cell: int) -> None:
        """Let a cell begin what it was held from."""
        for entry in self._held.pop(cell, ()):
            heapq.heappush(self._heap, entry)
        self._change.set()

    def give_back(self, job: Job, last: bool = False) -> None:
        """Put an episode that was taken and has not ended back to the front, or to the end."""
        self._begun[job[0]] -= 1
        self._under_way -= 1
        self._free(job[0])
        self._wait(job, last)

    def limit(self, most: int) -> None:
        """Let no more than so many episodes be under way; 0: any number."""
        self.most = most
        self._change.set()

    def add(self, jobs: Sequence[Job]) -> None:
        """Play these too, after the others."""
        for job in jobs:
            self._order.setdefault(job[0], ())
            self._wait(job, last=True)

    def _wait(self, job: Job, last: bool) -> None:
        cell, episode = job
        self._ranked += 1
        heapq.heappush(self._heap, (self._ranked if last else -self._ranked, episode, cell))
        self._left[cell] += 1
        self._count += 1
        self._change.set()

    def close(self) -> None:
        """Wait for no more than there is."""
        self.more = False
        self._change.set()

    def stepped(self, cell: int) -> None:
        """Note that an episode of a cell has got through a step."""
        if cell not in self._got_through:
            self._got_through.add(cell)
            self._free(cell)

    def ended(self, cell: int, episode: int, status: str = FAILED) -> list[int]:
        """Note the end of an episode; return the voids in a row if these are to stop its cell now.

        An episode that was broken off counts as failed.
        """
        self._change.set()
        self._under_way -= 1
        if status == COMPLETE:
            self.stepped(cell)
        elif status == FAILED:
            self._begun[cell] -= 1
            self._free(cell)
            self._passed_over.add((cell, episode))
        else:
            self._void.add((cell, episode))
            row = self._row(cell, episode)
            if cell not in self.reasons and 0 < self._after <= len(row):
                return row
        return []

    def stop(self, cell: int, reason: str) -> int:
        """Stop a cell; return how many of its episodes are left out. The first reason stays."""
        self.reasons.setdefault(cell, reason)
        self._held.pop(cell, None)
        self._heap = [entry for entry in self._heap if entry[2] != cell]
        heapq.heapify(self._heap)
        left = self._left.pop(cell, 0)
        self._count -= left
        self._change.set()
        return left

    def clear(self) -> None:
        """Let no more episodes begin."""
        self._heap, self._held = [], {}
        self._left.clear()
        self._count = 0
        self.close()

    def _row(self, cell: int, episode: int) -> list[int]:
        """Return the void episodes without a gap around one, in order."""
        order = self._order[cell]
        index = bisect_left(order, episode)
        before = self._voids(cell, range(index - 1, -1, -1))
        return [*before[::-1], episode, *self._voids(cell, range(index + 1, len(order)))]

    def _voids(self, cell: int, places: range) -> list[int]:
        """Return the void episodes at these places, up to the first one that is not void."""
        voids: list[int] = []
        for index in places:
            episode = self._order[cell][index]
            if (cell, episode) in self._void:
                voids.append(episode)
            elif (cell, episode) not in self._passed_over:
                break
        return voids
