"""What language models have still to play: hands out episodes, and stops cells.

A cell stops after so many void episodes in a row, or when a prompt is longer than the model's
context; what of it is under way goes on, what has not begun is left out. Voids are counted in the
order of episodes, not in that in which they end: void episodes end early, so the first to end would
nearly always be void, even in cells where most get to their end.
"""

from __future__ import annotations

import asyncio
import bisect
from collections import Counter, deque
from collections.abc import Sequence

from tomeval.core.outcomes import COMPLETE, FAILED

Job = tuple[int, int]
"""Cell number and episode."""


class Schedule:
    """The episodes of one session that language models play, in the order given.

    Parameters
    ----------
    jobs : sequence of (cell, episode)
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
    """

    def __init__(self, jobs: Sequence[Job], stop_after_voids: int, more: bool = False) -> None:
        self.reasons: dict[int, str] = {}
        self.more = more
        self._after = stop_after_voids
        self._jobs = deque(jobs)
        self._order: dict[int, list[int]] = {}
        for cell, episode in sorted(jobs):
            self._order.setdefault(cell, []).append(episode)
        self._begun: Counter[int] = Counter()
        self._got_through: set[int] = set()
        self._void: dict[int, set[int]] = {cell: set() for cell in self._order}
        self._change = asyncio.Event()

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def cells(self) -> list[int]:
        """The numbers of the cells that play in this session."""
        return list(self._order)

    def left(self, cell: int) -> int:
        """Return how many episodes of a cell have not begun."""
        return sum(number == cell for number, _ in self._jobs)

    async def begin(self) -> Job | None:
        """Return the next episode once one may begin; None: there are no more."""
        while self._jobs or self.more:
            if (job := self.take()) is not None:
                return job
            self._change.clear()
            await self._change.wait()
        return None

    def take(self) -> Job | None:
        """Return the next episode, which begins by that; None: none may begin now."""
        for place, (cell, episode) in enumerate(self._jobs):
            if self._may_begin(cell):
                del self._jobs[place]
                self._begun[cell] += 1
                return cell, episode
        return None

    def give_back(self, job: Job, last: bool = False) -> None:
        """Put an episode that was taken and has not ended back to the front, or to the end."""
        self._begun[job[0]] -= 1
        if last:
            self._jobs.append(job)
        else:
            self._jobs.appendleft(job)
        self._change.set()

    def claim(self, job: Job) -> bool:
        """Take this very episode; return whether it was still to begin."""
        found = job in self._jobs
        if found:
            self._jobs.remove(job)
            self._begun[job[0]] += 1
        return found

    def add(self, jobs: Sequence[Job]) -> None:
        """Play these too, after the others."""
        self._jobs.extend(jobs)
        for cell, episode in jobs:
            known = self._order.setdefault(cell, [])
            self._void.setdefault(cell, set())
            if episode not in known:
                bisect.insort(known, episode)
        self._change.set()

    def close(self) -> None:
        """Wait for no more than there is."""
        self.more = False
        self._change.set()

    def withdraw(self, cell: int) -> list[Job]:
        """Leave out the episodes of a cell that have not begun, and return them."""
        left = [job for job in self._jobs if job[0] == cell]
        self._jobs = deque(job for job in self._jobs if job[0] != cell)
        self._change.set()
        return left

    def _may_begin(self, cell: int) -> bool:
        free = not self._after or cell in self._got_through
        return free or self._begun[cell] < self._after

    def stepped(self, cell: int) -> None:
        """Note that an episode of a cell has got through a step."""
        if cell not in self._got_through:
            self._got_through.add(cell)
            self._change.set()

    def ended(self, cell: int, episode: int, status: str = FAILED) -> list[int]:
        """Note the end of an episode; return the voids in a row if these are to stop its cell now.

        An episode that was broken off counts as failed.
        """
        self._change.set()
        if status == COMPLETE:
            self._got_through.add(cell)
        elif status == FAILED:
            self._begun[cell] -= 1
            self._order[cell].remove(episode)
        else:
            self._void[cell].add(episode)
            row = self._row(cell, episode)
            if cell not in self.reasons and 0 < self._after <= len(row):
                return row
        return []

    def stop(self, cell: int, reason: str) -> int:
        """Stop a cell; return how many of its episodes are left out. The first reason stays."""
        self.reasons.setdefault(cell, reason)
        return len(self.withdraw(cell))

    def clear(self) -> None:
        """Let no more episodes begin."""
        self._jobs.clear()
        self.close()

    def _row(self, cell: int, episode: int) -> list[int]:
        """Return the void episodes without a gap around one, in order."""
        order, void = self._order[cell], self._void[cell]
        first = last = order.index(episode)
        while first > 0 and order[first - 1] in void:
            first -= 1
        while last + 1 < len(order) and order[last + 1] in void:
            last += 1
        return order[first : last + 1]
