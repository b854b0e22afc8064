"""What language models have still to play: hands out episodes, and stops cells.

A cell stops after so many void episodes in a row, or when a prompt is longer than the model's
context; what of it is under way goes on, what has not begun is left out. Voids are counted in the
order of episodes, not in that in which they end: void episodes end early, so the first to end would
nearly always be void, even in cells where most get to their end.
"""

from __future__ import annotations

import asyncio
import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tomeval.core.outcomes import COMPLETE, FAILED
from tomeval.runs.jobs import Job, Jobs, Waiting


class Schedule:
    """The episodes of one session that language models play.

    Parameters
    ----------
    jobs : mapping of int to sequence of int, or sequence of (cell, episode)
        By cell the episodes, in order, which are played episode by episode over all cells; or what
        is played in the order given, which takes memory for each.
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

    def __init__(
        self,
        jobs: Mapping[int, Sequence[int]] | Sequence[Job],
        stop_after_voids: int,
        more: bool = False,
    ) -> None:
        self.reasons: dict[int, str] = {}
        self.more = more
        self._after = stop_after_voids
        by_cell: Mapping[int, Sequence[int]] = jobs if isinstance(jobs, Mapping) else {}
        self._waiting = Waiting(by_cell)
        self._order = {cell: numbers for cell, numbers in sorted(by_cell.items()) if len(numbers)}
        self._begun: Counter[int] = Counter()
        self._got_through: set[int] = set()
        self._void, self._passed_over = Jobs(), Jobs()
        self._change = asyncio.Event()
        if not isinstance(jobs, Mapping):
            self._order = {cell: [] for cell in sorted({cell for cell, _ in jobs})}
            self.add(jobs)

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Job]:
        """Yield what has not begun, in the order of play if no cell is held up."""
        return iter(self._waiting)

    @property
    def cells(self) -> list[int]:
        """The numbers of the cells that play in this session."""
        return list(self._order)

    def left(self, cell: int) -> int:
        """Return how many episodes of a cell have not begun."""
        return self._waiting.of(cell)

    async def begin(self) -> Job | None:
        """Return the next episode once one may begin; None: there are no more."""
        while len(self) or self.more:
            if (job := self.take()) is not None:
                return job
            self._change.clear()
            await self._change.wait()
        return None

    def take(self) -> Job | None:
        """Return the next episode, which begins by that; None: none may begin now."""
        job = self._waiting.take(self._may_begin)
        if job is not None:
            self._begun[job[0]] += 1
        return job

    def give_back(self, job: Job, last: bool = False) -> None:
        """Put an episode that was taken and has not ended back to the front, or to the end."""
        self._one_less(job[0])
        if last:
            self._waiting.add((job,))
        else:
            self._waiting.put_back(job)
        self._change.set()

    def _one_less(self, cell: int) -> None:
        """Count one episode of a cell less as begun."""
        self._begun[cell] -= 1
        self._waiting.free(cell)

    def claim(self, job: Job) -> bool:
        """Take this very episode; return whether it was still to begin."""
        found = self._waiting.claim(job)
        if found:
            self._begun[job[0]] += 1
        return found

    def add(self, jobs: Sequence[Job]) -> None:
        """Play these too, after the others."""
        self._waiting.add(jobs)
        for job in jobs:
            cell, episode = job
            known = self._order.get(cell)
            if not isinstance(known, list):
                known = self._order[cell] = list(known or ())
            place = bisect.bisect_left(known, episode)
            if place == len(known) or known[place] != episode:
                known.insert(place, episode)
            self._passed_over.discard(job)
        self._change.set()

    def close(self) -> None:
        """Wait for no more than there is."""
        self.more = False
        self._change.set()

    def withdraw(self, cell: int) -> list[Job]:
        """Leave out the episodes of a cell that have not begun, and return them."""
        left = self._waiting.withdraw(cell)
        self._change.set()
        return left

    def _may_begin(self, cell: int) -> bool:
        free = not self._after or cell in self._got_through
        return free or self._begun[cell] < self._after

    def stepped(self, cell: int) -> None:
        """Note that an episode of a cell has got through a step."""
        if cell not in self._got_through:
            self._get_through(cell)
            self._change.set()

    def _get_through(self, cell: int) -> None:
        self._got_through.add(cell)
        self._waiting.free(cell)

    def ended(self, cell: int, episode: int, status: str = FAILED) -> list[int]:
        """Note the end of an episode; return the voids in a row if these are to stop its cell now.

        An episode that was broken off counts as failed.
        """
        self._change.set()
        if status == COMPLETE:
            self._get_through(cell)
        elif status == FAILED:
            self._one_less(cell)
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
        left = self.left(cell)
        self._waiting.drop(cell)
        self._change.set()
        return left

    def clear(self) -> None:
        """Let no more episodes begin."""
        self._waiting.clear()
        self.close()

    def _row(self, cell: int, episode: int) -> list[int]:
        """Return the void episodes without a gap around one, in order."""
        order = self._order[cell]
        place = bisect.bisect_left(order, episode)
        before = self._voids(cell, range(place - 1, -1, -1))
        return [*before[::-1], episode, *self._voids(cell, range(place + 1, len(order)))]

    def _voids(self, cell: int, places: range) -> list[int]:
        """Return the void episodes at these places, up to the first one that is not void."""
        found: list[int] = []
        for place in places:
            episode = self._order[cell][place]
            if (cell, episode) in self._void:
                found.append(episode)
            elif (cell, episode) not in self._passed_over:
                break
        return found
