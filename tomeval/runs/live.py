"""What is true of a run while it plays: steps, episodes, what each model was asked, the time left.

The run writes, a display reads, from another thread if it likes. Counts are of all sessions of the
folder, but for the retries of requests, which are of this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tomeval.models.base import Reply, Scores
from tomeval.models.naming import brief_names
from tomeval.models.waiting import Waiting
from tomeval.runs import tallies
from tomeval.runs.counts import Asked, Counts
from tomeval.runs.domain import Cell, Player
from tomeval.runs.pace import Pace
from tomeval.runs.pace_fit import Work
from tomeval.runs.speeds import Speeds
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
        self.calls += 1
        self.prompt += reply.usage.prompt
        self.completion += reply.usage.completion
        if (cost := reply.details.get("cost")) is not None:
            self.cost = (self.cost or 0.0) + cost

    def judged(self, readable: bool) -> None:
        """Count an answer."""
        self.answers += 1
        self.unreadable += not readable


@dataclass
class ReplicaCount:
    """What a replica does, where a run is played on several.

    Attributes
    ----------
    name, host, device : str
    state : {"starting", "playing", "idle", "silent", "lost"}
        Whether it has said that it started, has a lease, and answers.
    leases : int
        Leases that it holds.
    episodes, steps, tokens : int
        Episodes and steps that were committed, and tokens of prompts and replies, of this session.
    memory : int
        Bytes; 0: not known.
    last_error : str
        The last thing that went wrong; empty: nothing did.
    lost : int
        How often it was lost and another one took its place, or none.
    second, differed, rounded : int
        Results that came after those of another replica, how many of them were different, and how
        many only by rounding.
    since : float
        When it started, by `time.monotonic`.
    """

    name: str
    host: str = ""
    device: str = ""
    state: Literal["starting", "playing", "idle", "silent", "lost"] = "starting"
    leases: int = 0
    episodes: int = 0
    steps: int = 0
    tokens: int = 0
    memory: int = 0
    last_error: str = ""
    lost: int = 0
    second: int = 0
    differed: int = 0
    rounded: int = 0
    since: float = 0.0


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
    replicas : list of ReplicaCount
        Where it is played; empty: in this process.
    wanted : int
        Episodes in all.
    pace : Pace
        Who knows the time left.
    speeds : Speeds
        How fast counts grow, see `live_state`.
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
        self.replicas: list[ReplicaCount] = []
        self.wanted = 0
        self.pace, self.speeds = Pace([], {}), Speeds()
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
            Work(
                cell.length,
                tuple(sorted(set(mine.values()))),
                _players(cell.seats),
                not any(who and who.served for who in cell.seats.values()),
            )
            for cell, mine in zip(cells, keys, strict=True)
        ]
        self.pace = Pace(works, dict(enumerate(missing)), slots)
        self.wanted = sum(wanted)
        found: dict[str, ModelCount] = {}
        ended = tallies.episodes(store) if any(keys) else {}
        for number, (cell, mine) in enumerate(zip(cells, keys, strict=True)):
            names = {
                key: who.model_name
                for seat, key in mine.items()
                if (who := cell.seats[seat]) is not None
            }
            for key, name in names.items():
                count = found.setdefault(key, ModelCount(name))
                count.wanted += wanted[number]
                over = Counter(ended.get(number, {}))
                count.ended += over["complete"] + over["void"]
        asked = tallies.by_seat(store) if found else {}
        for (number, seat), said in asked.items():
            whose = keys[number].get(seat) if number < len(keys) else None
            if whose is not None:
                sums = (said.calls, said.prompt, said.completion, said.cost)
                found[whose].add(Asked(*sums, said.answers, said.unreadable))
        brief = brief_names(count.name for count in found.values())
        for count, name in zip(found.values(), brief, strict=True):
            count.waiting.model = name
        self.models = found
        return sum(said.again for said in asked.values())

    @property
    def left(self) -> float | None:
        """The seconds left; None as long as nothing is known."""
        return self.pace.left() if self.total else None


def _players(seats: Mapping[str, Player | None]) -> tuple[tuple[str, str, str], ...]:
    """Return what tells players from others, but for their models."""
    return tuple(
        (seat, who.kind, who.strategy or ("" if who.model else who.name))
        for seat, who in seats.items()
        if who
    )
