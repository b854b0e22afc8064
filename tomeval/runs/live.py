"""What is true of a run while it plays, for a display.

The run writes, a display reads, from another thread if it likes. Counts are of all sessions of the
folder, but for the retries of requests, which are of this one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tomeval.core.outcomes import COMPLETE, VOID
from tomeval.core.text import excerpt
from tomeval.models import model_name
from tomeval.models.naming import brief_names
from tomeval.models.waiting import Waiting
from tomeval.runs import tallies
from tomeval.runs.record import Spent, total
from tomeval.runs.store import Store

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
    """What one language model was asked in episodes that are over.

    Attributes
    ----------
    name : str
        Without an address.
    spent : Spent
    ended, wanted : int
        Episodes with it that are over, and in all.
    """

    name: str
    spent: Spent = field(default_factory=Spent)
    ended: int = 0
    wanted: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return (self.spent.prompt or 0) + (self.spent.completion or 0)

    @property
    def unreadable_share(self) -> float | None:
        """The share of answers that could not be read; None before the first."""
        return self.spent.unreadable / self.spent.answers if self.spent.answers else None

    def add(self, *more: Sequence[Any]) -> None:
        """Add what it was asked in other episodes."""
        self.spent = total([self.spent, *more])


class Live:
    """The state of a run that plays: no prompt, no reply and no address of a server.

    Attributes
    ----------
    progress, on_counts : callable, optional
        Are told of changes.
    steps, total : int
        Those done, in earlier sessions too, and in all; those of episodes that end early count as
        done.
    counts : Counts
    models : dict of str to ModelCount
        By `engine.spec_key`, in the order of play.
    waiting : dict of str to Waiting
        How the server of each model is waited for.
    note : str
        What else is to be shown, such as that the run is to stop.
    replica_line : callable
        Returns what an engine says of its replicas.
    closing : list of str
        What is said at the end, such as of replicas.
    asking : bool
        Whether language models play by now.
    shown : str
        How the run is shown: ``field`` (which is updated), ``lines`` (now and then), or empty.
    """

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.on_counts: OnCounts | None = None
        self.steps = self.total = 0
        self.counts = Counts()
        self.note = ""
        self.models: dict[str, ModelCount] = {}
        self.waiting: dict[str, Waiting] = {}
        self.replica_line: Callable[[], str] = str
        self.closing: list[str] = []
        self.asking = False
        self.shown: Literal["", "field", "lines"] = ""
        self._begun, self._before = time.monotonic(), 0

    def begin(
        self,
        store: Store,
        keys: Sequence[Mapping[str, str]],
        wanted: Sequence[int],
        steps: int,
    ) -> None:
        """Begin with what the store holds.

        `keys` has the models of each cell by seat, `wanted` its episodes in all, and `steps` are
        done before.
        """
        self._begun, self.steps, self._before = time.monotonic(), steps, steps
        self.models = {}
        ended = tallies.episodes(store) if any(keys) else {}
        for number, mine in enumerate(keys):
            for key in dict.fromkeys(mine.values()):
                count = self.models.setdefault(key, ModelCount(model_name(json.loads(key))))
                count.wanted += wanted[number]
                over = ended.get(number, {})
                count.ended += over.get(COMPLETE, 0) + over.get(VOID, 0)
            for (seat, _), spent in store.summary(number).spent.items() if mine else ():
                if seat in mine:
                    self.models[mine[seat]].add(spent)
        brief = brief_names([count.name for count in self.models.values()])
        for (key, count), count.name in zip(self.models.items(), brief, strict=True):
            self.waiting.setdefault(key, Waiting()).model = count.name

    def tell_steps(self) -> None:
        """Tell who listens how many steps are done."""
        if self.progress:
            self.progress(self.steps, self.total)

    def tell_counts(self, counts: Counts) -> None:
        """Take what became of episodes, and tell who listens."""
        self.counts = counts
        if self.on_counts:
            self.on_counts(counts)

    @property
    def left(self) -> float | None:
        """Seconds left, if a step takes as long as those of this session; None before the first."""
        done = self.steps - self._before
        spent = time.monotonic() - self._begun
        return spent / done * (self.total - self.steps) if done > 0 else None

    @property
    def cost(self) -> float | None:
        """What the models with a price cost so far; None if none has one."""
        costs = [model.spent.cost for model in self.models.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known else None

    def waits(self, key: str) -> str:
        """Return what the server of a model is waited for; empty if it is not."""
        return excerpt(self.waiting[key].line(), LONGEST)
