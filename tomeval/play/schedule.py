"""What is to be played: the episodes of a shard, their order, and what stops a cell.

A cell stops after so many void episodes in a row, or when a prompt is longer than the model's
context; what of it is under way goes on, what has not begun is left out. Voids are counted in the
order of episodes, not in that in which they end: void episodes end early, so the first to end would
nearly always be void, even in cells where most get to their end.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import COMPLETE, FAILED

Job = tuple[int, int]
"""Cell number and episode."""


def without(numbers: Sequence[int], others: Iterable[int]) -> Sequence[int]:
    """Return numbers without some others.

    Examples
    --------
    >>> without(range(6), [0, 4, 9]), without(range(6), [])
    ([1, 2, 3, 5], range(0, 6))
    """
    gone = set(others)
    return [number for number in numbers if number not in gone] if gone else numbers


class Schedule:
    """The episodes of one session that language models play, episode by episode over all cells.

    Parameters
    ----------
    jobs : mapping of int to sequence of int
        By cell the episodes, in order.
    stop_after_voids : int
        How many void episodes in a row stop a cell; 0: any number is played. Failed episodes say
        nothing and are passed over, unless the caller counts them as void, because their replies
        came and could not be used; those of earlier sessions do not count. A cell also begins with
        no more episodes than this: the others wait until one of them has got through a step, so
        that a model that is never understood is not asked for all of them at once.

    Attributes
    ----------
    reasons : dict of int to str
        Why each stopped cell plays no more.
    most : int
        How many episodes may be under way, see `limit`; 0: any number.
    """

    def __init__(self, jobs: Mapping[int, Sequence[int]], stop_after_voids: int) -> None:
        self.reasons: dict[int, str] = {}
        self.most = 0
        self._after = stop_after_voids
        self._order = {cell: numbers for cell, numbers in sorted(jobs.items()) if len(numbers)}
        every = sorted((e, cell) for cell, some in self._order.items() for e in some)
        self._left: list[Job] = [(cell, e) for e, cell in every]
        self._under_way = 0
        self._begun: Counter[int] = Counter()
        self._got_through: set[int] = set()
        self._void: set[Job] = set()
        self._passed_over: set[Job] = set()
        self._change = asyncio.Event()

    def __len__(self) -> int:
        return len(self._left)

    @property
    def cells(self) -> list[int]:
        """The numbers of the cells that play in this session."""
        return list(self._order)

    async def begin(self) -> Job | None:
        """Return the next episode once one may begin; None: there are no more."""
        while len(self):
            if (job := self.take()) is not None:
                return job
            self._change.clear()
            await self._change.wait()
        return None

    def take(self) -> Job | None:
        """Return the next episode, which begins by that; None: none may begin now."""
        if 0 < self.most <= self._under_way:
            return None
        for at, (cell, _) in enumerate(self._left):
            if not self._after or cell in self._got_through or self._begun[cell] < self._after:
                self._begun[cell] += 1
                self._under_way += 1
                return self._left.pop(at)
        return None

    def give_back(self, job: Job) -> None:
        """Put an episode that was taken and has not ended to the end: it may end every player."""
        self._begun[job[0]] -= 1
        self._under_way -= 1
        self._left.append(job)
        self._change.set()

    def limit(self, most: int) -> None:
        """Limit how many episodes are played at a time; 0: no limit."""
        self.most = most
        self._change.set()

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
        self._under_way -= 1
        if status == COMPLETE:
            self.stepped(cell)
        elif status == FAILED:
            self._begun[cell] -= 1
            self._passed_over.add((cell, episode))
        else:
            self._void.add((cell, episode))
            if self._after and cell not in self.reasons:
                row = self._row(cell, episode)
                return row if len(row) >= self._after else []
        return []

    def _row(self, cell: int, episode: int) -> list[int]:
        """Return the void episodes without a gap around one, in order."""
        told = [e for e in self._order[cell] if (cell, e) not in self._passed_over]
        rows = (list(row) for _, row in groupby(told, lambda e: (cell, e) in self._void))
        return next(row for row in rows if episode in row)

    def stop(self, cell: int, reason: str) -> int:
        """Stop a cell; return how many of its episodes are left out. The first reason stays."""
        self.reasons.setdefault(cell, reason)
        before = len(self)
        self._left = [job for job in self._left if job[0] != cell]
        self._change.set()
        return before - len(self)

    def clear(self) -> None:
        """Begin no more episodes."""
        self._left = []
        self._change.set()


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of an experiment; the first is 1.

    Which part an episode belongs to follows from its cell and number alone, so parts stay what they
    are when an experiment gets more episodes.

    Examples
    --------
    >>> [Shard(number, 3).among(0, range(6)) for number in (1, 2, 3)]
    [[0, 3], [1, 4], [2, 5]]
    """

    number: int
    count: int

    @property
    def part(self) -> str:
        """What the names of its files end with."""
        return f".{self.number}-of-{self.count}"

    def among(self, cell: int, episodes: Iterable[int], together: int = 1) -> list[int]:
        """Return which episodes of a cell are of this shard; so many, played at once, stay so."""
        each = max(1, together)
        return [e for e in episodes if (cell + e // each) % self.count == self.number - 1]

    def __str__(self) -> str:
        """Return the shard as `parse_shard` reads it."""
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """Read a shard such as ``3/16``.

    Raises
    ------
    TomevalError
        It is not a shard, or its number is out of range.
    """
    said = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
    if said is None:
        raise TomevalError(f"shard {text!r}: write K/N, such as 3/16 for the third of 16 parts")
    shard = Shard(int(said[1]), int(said[2]))
    if not 1 <= shard.number <= shard.count:
        raise TomevalError(f"shard {text!r}: the number is out of range, it counts from 1 to N")
    return shard
