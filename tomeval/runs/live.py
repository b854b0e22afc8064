"""What is true of a run while it plays, for a display.

The run writes, a display reads, from another thread if it likes. Counts are of all sessions of the
folder, but for the retries of requests, which are of this one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.text import excerpt
from tomeval.models import model_name
from tomeval.models.base import Reply, Scores
from tomeval.models.naming import brief_names
from tomeval.models.waiting import Waiting
from tomeval.runs import tallies
from tomeval.runs.domain import Cell
from tomeval.runs.remaining import Remaining, Work
from tomeval.runs.store import Store
from tomeval.runs.tallies import Asked

logger = logging.getLogger(__name__)

LONGEST = 300
"""Characters of what servers and machines said."""

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all); steps of a stopped cell leave the second number."""


@dataclass(frozen=True)
class Counts:
    """What a run holds so far, over all its sessions.

    Attributes
    ----------
    complete, void, failed : int
        Episodes by what became of them.
    asked_again : int
        Attempts beyond the first at a question of a language model.

    Examples
    --------
    >>> print(Counts(12, 3, 0, 40))
    12 complete, 3 void, 0 failed; 40 questions asked again
    """

    complete: int = 0
    void: int = 0
    failed: int = 0
    asked_again: int = 0

    @property
    def ended(self) -> int:
        """Episodes that are over."""
        return self.complete + self.void + self.failed

    def __str__(self) -> str:
        again = "question" if self.asked_again == 1 else "questions"
        return (
            f"{self.complete:,} complete, {self.void:,} void, {self.failed:,} failed; "
            f"{self.asked_again:,} {again} asked again"
        )


OnCounts = Callable[[Counts], None]
"""Called at the start and whenever a count has changed."""


@dataclass
class ModelCount:
    """What one language model was asked, and how its server is waited for.

    Attributes
    ----------
    name : str
        Without an address.
    asked : Asked
    ended, wanted : int
        Episodes with it that are over, and in all.
    retries : int
        Attempts at a request beyond its first.
    left, unseen : float or None, int
        See `State`.
    waits : str
        What its server is waited for; empty if it is not.
    """

    name: str
    asked: Asked = field(default_factory=Asked)
    ended: int = 0
    wanted: int = 0
    retries: int = 0
    left: float | None = None
    unseen: int = 0
    waits: str = ""

    @property
    def unreadable_share(self) -> float | None:
        """The share of answers that could not be read; None before the first."""
        return self.asked.unreadable / self.asked.answers if self.asked.answers else None

    def add(self, more: Asked) -> None:
        """Add what it was asked elsewhere."""
        self.asked = self.asked.plus(more)

    def replied(self, reply: Reply | Scores) -> None:
        """Count a reply that came."""
        usage = reply.usage
        self.add(Asked(1, usage.prompt, usage.completion, reply.details.get("cost")))

    def judged(self, readable: bool) -> None:
        """Count an answer."""
        self.add(Asked(answers=1, unreadable=int(not readable)))


@dataclass
class State:
    """What is shown of a run; no prompt, no reply and no address of a server."""

    steps: int = 0  # done; those of episodes that end early count as done
    total: int = 0  # steps in all
    counts: Counts = field(default_factory=Counts)
    wanted: int = 0  # episodes in all
    left: float | None = None  # seconds, without the kinds of cells that were not seen
    unseen: int = 0  # kinds of cells
    note: str = ""  # what else is to be shown, such as that the run is to stop
    models: dict[str, ModelCount] = field(default_factory=dict)
    replicas: list[str] = field(default_factory=list)  # a line each

    @property
    def cost(self) -> float | None:
        """What the models with a price cost so far; None if none has one."""
        costs = [model.asked.cost for model in self.models.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known else None


class Live(State):
    """The state of a run that plays; `models` by `engine.spec_key`, in the order of play.

    Attributes
    ----------
    remaining : Remaining
        Knows the time left.
    waiting : dict of str to Waiting
        How the server of each model is waited for.
    replica_lines : callable
        Returns what an engine says of its replicas.
    closing : list of str
        What an engine says of them at the end.
    asking : bool
        Whether language models play by now.
    shown : str
        How the run is shown: ``field`` (which is updated), ``lines`` (now and then), or empty.
    """

    def __init__(self) -> None:
        super().__init__()
        self.remaining = Remaining()
        self.waiting: dict[str, Waiting] = {}
        self.replica_lines: Callable[[], list[str]] = list
        self.closing: list[str] = []
        self.asking = False
        self.shown: Literal["", "field", "lines"] = ""

    def begin(
        self,
        store: Store,
        cells: Sequence[Cell],
        keys: Sequence[Mapping[str, str]],
        wanted: Sequence[int],
        missing: Sequence[int],
        slots: int,
    ) -> int:
        """Begin with what the store holds; return how many questions were asked again in it.

        `keys` has the models of each cell by seat, `wanted` and `missing` its episodes in all and
        those to play; `slots` are played at a time.
        """
        works = [
            Work(tuple(sorted(set(mine.values()))), _players(cell), cell.length, lacks)
            for cell, mine, lacks in zip(cells, keys, missing, strict=True)
        ]
        counts: dict[str, ModelCount] = {}
        self.remaining = Remaining(
            works, slots, lambda: sum(count.asked.calls for count in counts.values())
        )
        self.wanted = sum(wanted)
        ended = tallies.episodes(store) if any(keys) else {}
        for number, mine in enumerate(keys):
            for key in dict.fromkeys(mine.values()):
                count = counts.setdefault(key, ModelCount(model_name(json.loads(key))))
                count.wanted += wanted[number]
                over = ended.get(number, {})
                count.ended += over.get(COMPLETE, 0) + over.get(VOID, 0)
        said = tallies.by_seat(store) if counts else {}
        for (number, seat), asked in said.items():
            if number < len(keys) and seat in keys[number]:
                counts[keys[number][seat]].add(asked)
        self.models = counts
        brief = brief_names([count.name for count in counts.values()])
        for (key, count), count.name in zip(counts.items(), brief, strict=True):
            self.waiting.setdefault(key, Waiting()).model = count.name
        return sum(asked.again for asked in said.values())

    def now(self) -> State:
        """Bring the time left, and what is waited for, up to date."""
        left, self.unseen = self.remaining.left()
        self.left = left if self.total else None
        self.replicas = self.replica_lines()
        for key, count in list(self.models.items()):
            count.left, count.unseen = self.remaining.left(key)
            if (waiting := self.waiting.get(key)) is not None:
                count.retries, count.waits = waiting.retries, excerpt(waiting.line(), LONGEST)
        return self


def _players(cell: Cell) -> tuple[tuple[str, str, str], ...]:
    """Return what tells players from others, but for their models."""
    return tuple(
        (seat, who.kind, who.strategy or ("" if who.model else who.name))
        for seat, who in cell.seats.items()
        if who
    )
