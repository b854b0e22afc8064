"""The time left: the steps left of each kind of cell, times what one of its steps took of late.

Cells are of one kind if they have the same models and their players the same strategies. With
language models that time is of a step of one episode, of which several play at a time, and models
are played one after the other. Without, it is the time from one stretch of episodes to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tomeval.runs.schedule import Job

RECENT = 100
"""Of about so many steps the mean time is taken."""

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
    """What is left of the cells of one kind, and the recent seconds of a step."""

    models: tuple[str, ...]
    steps: int = 0
    episodes: int = 0
    seen: int = 0
    each: float = 0.0

    def timed(self, seconds: float, steps: int) -> None:
        self.seen += steps
        self.each += (seconds / steps - self.each) * min(1.0, steps / min(self.seen, RECENT))


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
        self._kinds = list(kinds.values())
        for number, work in enumerate(works):
            self.dropped(number, -work.episodes)
        # Of episodes under way: when they were heard of, the replies by then, their steps.
        self._playing: dict[Job, tuple[float, int, int]] = {}
        self._last = clock()

    def together(self, cell: int, episodes: int) -> None:
        """Record that episodes without a model were played at once, wherever that was."""
        now = self._clock()
        self._of[cell].timed(now - self._last, max(1, episodes * self._works[cell].length))
        self.dropped(cell, episodes)
        self._last = now

    def begun(self, cell: int, episode: int) -> None:
        """Record that an episode of a language model begins."""
        self._playing.setdefault((cell, episode), (self._clock(), self._replies(), 0))

    def stepped(self, cell: int, episode: int, count: int = 1) -> None:
        """Record that an episode has got through so many steps since it was last heard of."""
        if (mine := self._playing.get((cell, episode))) is None:
            return
        (since, replies, done), now = mine, self._clock()
        if self._replies() > replies:  # else it repeats replies kept from an earlier session
            self._of[cell].timed(now - since, count)
        self._of[cell].steps -= count
        self._playing[cell, episode] = now, replies, done + count

    def ended(self, cell: int, episode: int) -> None:
        """Record that an episode is over, or broken off."""
        if (mine := self._playing.pop((cell, episode), None)) is not None:
            self.dropped(cell, 1)
            self._of[cell].steps += mine[2]

    def returned(self, cell: int, episode: int) -> None:
        """Record that an episode under way is to be played again."""
        if (mine := self._playing.pop((cell, episode), None)) is not None:
            self._of[cell].steps += mine[2]

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
        unseen = sum(kind.seen < LEAST for kind in kinds)
        if kinds and unseen == len(kinds):
            return None, unseen
        return sum(map(self._seconds, {kind.models for kind in kinds})), unseen

    def _seconds(self, models: tuple[str, ...]) -> float:
        """Return the seconds of the kinds with these models, as far as they were seen."""
        kinds = [kind for kind in self._kinds if kind.models == models]
        work = sum(kind.steps * kind.each for kind in kinds if kind.seen >= LEAST)
        playing = sum(self._of[cell].models == models for cell, _ in list(self._playing))
        waiting = sum(kind.episodes for kind in kinds)
        at_a_time = (playing or min(self._slots, waiting)) if models else 1
        return max(0.0, work / max(1, at_a_time))
