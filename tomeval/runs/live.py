"""What is true of a run while it plays: steps, episodes, what each model was asked, the time left.

The run writes, a display reads, from another thread if it likes. Counts are of all sessions of the
folder, but for the retries of requests, which are of this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tomeval.models.base import Reply, Scores
from tomeval.models.naming import brief_names
from tomeval.models.waiting import Waiting
from tomeval.runs import tallies
from tomeval.runs.counts import Asked, Counts
from tomeval.runs.domain import Cell, Player
from tomeval.runs.remaining import Remaining, Work
from tomeval.runs.store import Store


@dataclass
class ModelCount:
    """What one language model was asked.

    Attributes
    ----------
    name : str
        As tables show it; where lines go by, `Waiting.model` is shorter.
    calls, prompt, completion : int
        Replies that came, and their tokens.
    cost : float or None
        In the currency of the price file; None without a price.
    answers, unreadable : int
        Replies that were to hold an answer, and those of them that could not be read.
    ended, wanted : int
        Episodes with it that are over, and in all.
    waiting : Waiting
        How its server is waited for, with the retries; of local models it stays as it is.
    """

    name: str
    calls: int = 0
    prompt: int = 0
    completion: int = 0
    cost: float | None = None
    answers: int = 0
    unreadable: int = 0
    ended: int = 0
    wanted: int = 0
    waiting: Waiting = field(default_factory=Waiting)

    @property
    def unreadable_share(self) -> float | None:
        """The share of answers that could not be read; None before the first."""
        return self.unreadable / self.answers if self.answers else None

    @property
    def asked(self) -> Asked:
        """The sums of what it was asked."""
        return Asked(
            *(self.calls, self.prompt, self.completion, self.cost, self.answers, self.unreadable)
        )

    def add(self, more: Asked) -> None:
        """Add what it was asked elsewhere."""
        self.calls += more.calls
        self.prompt += more.prompt
        self.completion += more.completion
        self.answers += more.answers
        self.unreadable += more.unreadable
        if more.cost is not None:
            self.cost = (self.cost or 0.0) + more.cost

    def replied(self, reply: Reply | Scores) -> None:
        """Count a reply that came."""
        usage = reply.usage
        self.add(Asked(1, usage.prompt, usage.completion, reply.details.get("cost")))

    def judged(self, readable: bool) -> None:
        """Count an answer."""
        self.answers += 1
        self.unreadable += not readable


class Live:
    """The state of a run.

    Attributes
    ----------
    steps, total : int
        Steps done and in all; those of episodes that end early count as done.
    counts : Counts
        Episodes by what became of them.
    models : dict of str to ModelCount
        By `engine.spec_key`, in the order of play.
    replicas : callable
        Returns what an engine says of its replicas, see `live_file.State`.
    closing : list of str
        What an engine says of them at the end.
    wanted : int
        Episodes in all.
    remaining : Remaining
        Knows the time left.
    asking : bool
        Whether language models play by now.
    shown : str
        Where servers that are waited for are shown, see `Waiting.shown`.
    note : str
        What else is to be shown, such as that the run is to stop.
    """

    def __init__(self) -> None:
        self.steps, self.total, self.counts = 0, 0, Counts()
        self.models: dict[str, ModelCount] = {}
        self.replicas: Callable[[], list[dict[str, str | int]]] = list
        self.closing: list[str] = []
        self.wanted = 0
        self.remaining = Remaining()
        self.shown: Literal["", "field", "lines"] = ""
        self.asking, self.note = False, ""

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
            Work(tuple(sorted(set(mine.values()))), _players(cell.seats), cell.length, lacks)
            for cell, mine, lacks in zip(cells, keys, missing, strict=True)
        ]
        self.remaining = Remaining(works, slots, lambda: sum(m.calls for m in counts.values()))
        self.wanted = sum(wanted)
        counts: dict[str, ModelCount] = {}
        ended = tallies.episodes(store) if any(keys) else {}
        for number, (cell, mine) in enumerate(zip(cells, keys, strict=True)):
            names = {
                key: who.model_name
                for seat, key in mine.items()
                if (who := cell.seats[seat]) is not None
            }
            for key, name in names.items():
                count = counts.setdefault(key, ModelCount(name))
                count.wanted += wanted[number]
                over = Counter(ended.get(number, {}))
                count.ended += over["complete"] + over["void"]
        asked = tallies.by_seat(store) if counts else {}
        for (number, seat), said in asked.items():
            whose = keys[number].get(seat) if number < len(keys) else None
            if whose is not None:
                sums = (said.calls, said.prompt, said.completion, said.cost)
                counts[whose].add(Asked(*sums, said.answers, said.unreadable))
        brief = brief_names(count.name for count in counts.values())
        for count, name in zip(counts.values(), brief, strict=True):
            count.waiting.model = name
        self.models = counts
        return sum(said.again for said in asked.values())


def _players(seats: Mapping[str, Player | None]) -> tuple[tuple[str, str, str], ...]:
    """Return what tells players from others, but for their models."""
    return tuple(
        (seat, who.kind, who.strategy or ("" if who.model else who.name))
        for seat, who in seats.items()
        if who
    )
