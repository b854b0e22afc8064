"""What is shown of a run at one moment, as plain data: for a display, and for a file of it.

It holds numbers, names that tables have too, and what servers and machines said when something went
wrong; no prompt, no reply and no address of a server.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.text import excerpt
from tomeval.runs.counts import Counts
from tomeval.runs.live import Live, ModelCount, ReplicaCount

VERSION = 1
"""Of the form that a state has as a dictionary."""

_LONGEST = 300
"""Characters of what others said."""

Over = str
"""How a run ended: ``finished``, ``stopped``, ``failed``; empty while it goes."""


@dataclass(frozen=True)
class ModelState:
    """What one language model was asked; see `live.ModelCount`.

    Attributes
    ----------
    name : str
        Without an address.
    retries : int
    waits : str
        What its server is waited for; empty: it answers.
    stalled : bool
        Whether nothing goes on because of that.
    """

    name: str
    calls: int
    prompt: int
    completion: int
    cost: float | None
    answers: int
    unreadable: int
    ended: int
    wanted: int
    retries: int = 0
    waits: str = ""
    stalled: bool = False

    @staticmethod
    def of(count: ModelCount) -> ModelState:
        """Return the present state of a model."""
        waiting = count.waiting
        return ModelState(
            waiting.model or count.name,
            *(count.calls, count.prompt, count.completion, count.cost, count.answers),
            *(count.unreadable, count.ended, count.wanted, waiting.retries),
            excerpt(waiting.line(), _LONGEST),
            waiting.stalled(),
        )


@dataclass(frozen=True)
class ReplicaState:
    """What one replica does; see `live.ReplicaCount`.

    Attributes
    ----------
    episodes_speed, tokens_speed : float or None
        Per second, of late; None: not known yet.
    """

    name: str
    host: str
    device: str
    state: str
    leases: int
    episodes: int
    steps: int
    tokens: int
    memory: int
    last_error: str
    lost: int
    second: int
    differed: int
    episodes_speed: float | None
    tokens_speed: float | None

    @staticmethod
    def of(count: ReplicaCount, live: Live) -> ReplicaState:
        """Return the present state of a replica."""
        return ReplicaState(
            *(count.name, count.host, count.device, count.state, count.leases),
            *(count.episodes, count.steps, count.tokens, count.memory),
            excerpt(count.last_error, _LONGEST),
            *(count.lost, count.second, count.differed),
            live.speeds.of(f"{count.name} episodes", count.episodes),
            live.speeds.of(f"{count.name} tokens", count.tokens),
        )


@dataclass(frozen=True)
class State:
    """What is true of a run at one moment.

    Attributes
    ----------
    name : str
        Of the experiment.
    shard : str
        Which part of it the folder holds, such as ``3/16``; empty: all.
    process : str
        Who plays it.
    began, written : float
        When this session began and when this was true, in seconds since 1970.
    over : str
        ``finished``, ``stopped`` or ``failed``; empty while it is played.
    why : str
        What made it fail.
    steps, total, complete, void, failed, asked_again, wanted : int
        Steps done and in all; episodes by what became of them; questions asked again; episodes in
        all.
    left : float or None
        Seconds; None: not known.
    unseen : int
        Groups of models that have not begun, whose speed `left` takes from the others.
    note : str
        What else is to be shown, such as that the run is to stop.
    episodes_speed, tokens_speed : float or None
        Of all replicas, or of the one process, per second, of late.
    models : tuple of ModelState
    replicas : tuple of ReplicaState
        Empty: it is played in one process.
    """

    name: str = ""
    shard: str = ""
    process: str = ""
    began: float = 0.0
    written: float = 0.0
    over: Over = ""
    why: str = ""
    steps: int = 0
    total: int = 0
    complete: int = 0
    void: int = 0
    failed: int = 0
    asked_again: int = 0
    wanted: int = 0
    left: float | None = None
    unseen: int = 0
    note: str = ""
    episodes_speed: float | None = None
    tokens_speed: float | None = None
    models: tuple[ModelState, ...] = ()
    replicas: tuple[ReplicaState, ...] = ()

    @property
    def counts(self) -> Counts:
        """Episodes by what became of them, and questions asked again."""
        return Counts(self.complete, self.void, self.failed, self.asked_again)

    @property
    def ended(self) -> int:
        """Episodes that are over."""
        return self.complete + self.void + self.failed

    @property
    def cost(self) -> float | None:
        """What the models with a price cost so far; None if none has one."""
        known = [model.cost for model in self.models if model.cost is not None]
        return sum(known) if known else None

    @property
    def stalled(self) -> bool:
        """Whether nothing goes on because a server is waited for."""
        return any(model.stalled for model in self.models)

    def to_dict(self) -> dict[str, Any]:
        """Return this as JSON-ready data."""
        return {"version": VERSION, **asdict(self)}

    @staticmethod
    def from_dict(data: Mapping[str, Any], where: str) -> State:
        """Return the state that `to_dict` made data of; what later versions add is left out.

        Raises
        ------
        TomevalError
            Names the file `where` and what is wrong in it.
        """
        from pydantic import TypeAdapter, ValidationError

        if data.get("version") != VERSION:
            raise TomevalError(
                f"{where}: is of version {data.get('version')!r}, not {VERSION}: it was written by "
                "another version of tomeval"
            )
        try:
            return TypeAdapter(State).validate_python(dict(data))
        except ValidationError as error:
            (first, *_) = error.errors()
            place = ".".join(map(str, first["loc"]))
            raise TomevalError(f"{where}: {place}: {first['msg']}") from None


def state_of(live: Live, whose: State | None = None) -> State:
    """Return what is true of a run now, whose name and process `whose` has; looks at its speeds."""
    counts, models = live.counts, [ModelState.of(count) for count in list(live.models.values())]
    left = live.left
    ended = counts.complete + counts.void + counts.failed
    tokens = sum(model.prompt + model.completion for model in models)
    begun = live.total > 0  # before, what earlier sessions played is not counted yet
    return replace(
        whose or State(),
        written=time.time(),
        steps=live.steps,
        total=live.total,
        complete=counts.complete,
        void=counts.void,
        failed=counts.failed,
        asked_again=counts.asked_again,
        wanted=live.wanted,
        left=left if left is not None and math.isfinite(left) else None,
        unseen=live.pace.unseen,
        note=live.note,
        episodes_speed=live.speeds.of("episodes", ended) if begun else None,
        tokens_speed=live.speeds.of("tokens", tokens) if begun else None,
        models=tuple(models),
        replicas=tuple(ReplicaState.of(count, live) for count in list(live.replicas)),
    )
