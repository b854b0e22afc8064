"""The time left: the steps left of each kind of cell, times what its steps took of late.

Cells are of one kind if they have the same models and their players the same strategies. With
language models that time is of a step of one episode, of which several play at a time, and models
are played one after the other. Without, it is the time from one stretch of episodes to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tomeval.runs.jobs import Job

FADES = 0.99
"""What a step counts for in the recent time of its kind, to one that came after it."""

LEAST = 3
"""Steps of a kind from which on their time is known."""


class Work(NamedTuple):
    """What is to be played of a cell: episodes of so many steps at most, by players of a kind."""

    models: tuple[str, ...]
    players: Hashable
    length: int
    episodes: int


@dataclass
class _Kind:
    """What is left and what was seen of the cells of one kind."""

    models: tuple[str, ...]
    steps: int = 0  # left, if every episode goes to its length
    episodes: int = 0  # that have not ended
    had: int = 0  # steps of the episodes that ended,
    length: int = 0  # and their lengths
    seen: int = 0  # steps that were timed;
    took: float = 0.0  # of these, the older the less, the seconds
    counted: float = 0.0  # and the number

    def timed(self, seconds: float, steps: int) -> None:
        keep = FADES**steps
        self.seen += steps
        self.took, self.counted = self.took * keep + seconds, self.counted * keep + steps

    @property
    def each(self) -> float | None:
        """The seconds of a step, of late; None as long as that is not known."""
        return self.took / self.counted if self.seen >= LEAST else None

    def seconds(self, steps: int) -> float:
        """Return the seconds of so many steps, fewer if episodes do not reach their length."""
        return steps * (self.each or 0.0) * (self.had / self.length if self.length else 1.0)


@dataclass
class _Playing:
    """An episode under way: when it was heard of, its steps, the replies before it began."""

    since: float
    replies: int
    done: int = 0


class Remaining:
    """Is told what happens in a run, and says how long it still takes.

    Parameters
    ----------
    works : sequence of Work
        Of all cells, by number.
    slots : int
        Episodes of language models that are played at a time, until that is seen.
    replies : callable
        Returns how many replies have come.
    clock : callable
        Returns seconds, from any start.
    """

    def __init__(
        self,
        works: Sequence[Work] = (),
        slots: int = 1,
        replies: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._works, self._slots, self._replies, self._clock = works, slots, replies, clock
        kinds: dict[Hashable, _Kind] = {}
        self._of = [kinds.setdefault(work[:2], _Kind(work.models)) for work in works]
        for kind, work in zip(self._of, works, strict=True):
            kind.steps += work.episodes * work.length
            kind.episodes += work.episodes
        self._kinds = list(kinds.values())
        self._playing: dict[Job, _Playing] = {}
        self._last = clock()

    def together(self, cell: int, episodes: int) -> None:
        """Record that episodes without a model were played at once, wherever that was."""
        now = self._clock()
        self._of[cell].timed(now - self._last, episodes * self._works[cell].length)
        self.dropped(cell, episodes)
        self._last = now

    def begun(self, cell: int, episode: int) -> None:
        """Record that an episode of a language model begins."""
        self._playing.setdefault((cell, episode), _Playing(self._clock(), self._replies()))

    def stepped(self, cell: int, episode: int, count: int = 1) -> None:
        """Record that an episode has got through so many steps since it was last heard of.

        Until a reply has come since it began, they repeat replies kept from an earlier session.
        """
        if (mine := self._playing.get((cell, episode))) is None:
            return
        now, kind = self._clock(), self._of[cell]
        if self._replies() > mine.replies:
            kind.timed(now - mine.since, count)
        kind.steps -= count
        mine.since, mine.done = now, mine.done + count

    def ended(self, cell: int, episode: int) -> None:
        """Record that an episode is over, or broken off."""
        if (mine := self._playing.pop((cell, episode), None)) is not None:
            kind, length = self._of[cell], self._works[cell].length
            kind.had, kind.length = kind.had + mine.done, kind.length + length
            kind.steps -= length - mine.done
            kind.episodes -= 1

    def returned(self, cell: int, episode: int) -> None:
        """Record that an episode under way is to be played again."""
        if (mine := self._playing.pop((cell, episode), None)) is not None:
            self._of[cell].steps += mine.done

    def dropped(self, cell: int, episodes: int) -> None:
        """Record that episodes of a cell will not begin."""
        self._of[cell].steps -= episodes * self._works[cell].length
        self._of[cell].episodes -= episodes

    def left(self, model: str = "") -> tuple[float | None, int]:
        """Return the seconds left, of one model or in all, and how many kinds were not seen yet.

        The seconds are those of the other kinds; None if all that are left are unseen.
        """
        kinds = [kind for kind in self._kinds if kind.episodes]
        kinds = [kind for kind in kinds if not model or model in kind.models]
        unseen = sum(kind.each is None for kind in kinds)
        if kinds and unseen == len(kinds):
            return None, unseen
        return sum(map(self._seconds, {kind.models for kind in kinds})), unseen

    def _seconds(self, models: tuple[str, ...]) -> float:
        """Return the seconds of the kinds with these models, as far as they were seen."""
        now, rests, spent = self._clock(), [], 0.0
        for (cell, _), mine in list(self._playing.items()):
            if (kind := self._of[cell]).models == models:
                since = min(now - mine.since, kind.each or 0.0)
                rests.append(kind.seconds(self._works[cell].length - mine.done) - since)
                spent += since
        kinds = [kind for kind in self._kinds if kind.models == models]
        work = sum(kind.seconds(kind.steps) for kind in kinds) - spent
        waiting = sum(kind.episodes for kind in kinds)
        at_a_time = (len(rests) or min(self._slots, waiting)) if models else 1
        return max(0.0, work / at_a_time, *rests)
