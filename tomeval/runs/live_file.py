"""The file ``live.json`` of a run folder: how a run goes, for those who did not start it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.text import excerpt
from tomeval.core.ticking import Ticking
from tomeval.models.naming import said_without_address
from tomeval.runs.counts import Counts
from tomeval.runs.database import NothingPlayed
from tomeval.runs.live import Live
from tomeval.runs.store import LIVE, STORE, Store
from tomeval.runs.writer import this_process

logger = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two states that are written."""

_LONGEST = 300
"""Characters of what servers and machines said."""


@dataclass(frozen=True)
class ModelState:
    """What is shown of one language model; see `live.ModelCount` and `State`."""

    name: str
    ended: int
    wanted: int
    calls: int
    tokens: int
    cost: float | None
    unreadable: float | None  # a share
    retries: int
    left: float | None
    unseen: int
    waits: str  # what its server is waited for


@dataclass(frozen=True)
class State:
    """What is shown of a run at one moment; no prompt, no reply and no address of a server."""

    name: str = ""
    experiment: str = ""  # its hash, as the store has it
    process: str = ""  # who plays it
    began: float = 0.0  # this session, in seconds since 1970
    written: float = 0.0
    over: str = ""  # ``finished``, ``stopped`` or ``failed``
    why: str = ""
    steps: int = 0
    total: int = 0
    counts: Counts = field(default_factory=Counts)
    wanted: int = 0
    left: float | None = None  # seconds, without the kinds of cells that were not seen
    unseen: int = 0  # kinds of cells
    note: str = ""
    models: tuple[ModelState, ...] = ()
    replicas: tuple[dict[str, str | int], ...] = ()  # name, where, state, episodes, trouble

    @property
    def cost(self) -> float | None:
        """What the models with a price cost so far; None if none has one."""
        known = [model.cost for model in self.models if model.cost is not None]
        return sum(known) if known else None


def state_of(live: Live, whose: State | None = None) -> State:
    """Return what is true of a run now, whose name and process `whose` has."""
    left, unseen = live.remaining.left()
    models = [
        ModelState(
            *(count.waiting.model or count.name, count.ended, count.wanted, count.calls),
            *(count.prompt + count.completion, count.cost, count.unreadable_share),
            *(count.waiting.retries, *live.remaining.left(key)),
            excerpt(count.waiting.line(), _LONGEST),
        )
        for key, count in list(live.models.items())
    ]
    return replace(
        whose or State(),
        written=time.time(),
        steps=live.steps,
        total=live.total,
        counts=live.counts,
        wanted=live.wanted,
        left=left if live.total else None,
        unseen=unseen,
        note=live.note,
        models=tuple(models),
        replicas=tuple(live.replicas()),
    )


@contextmanager
def live_file(folder: Path, live: Live, name: str, experiment: str) -> Iterator[Ticking]:
    """Write how a run goes into its folder inside the block, and at its end how it ended.

    Yield what is to be told of every step. What keeps the file from being written is logged once.
    """
    whose = State(name=name, experiment=experiment, process=this_process(), began=time.time())
    told: list[str] = []

    def write(over: str = "", why: str = "") -> None:
        state = replace(state_of(live, whose), over=over, why=excerpt(why, _LONGEST))
        try:
            write_text(folder / LIVE, json.dumps(asdict(state)))
        except TomevalError as error:
            if not told:
                logger.warning("%s; the run goes on, tomeval watch does not see it", error)
            told.append(str(error))

    write()
    over, why = "failed", ""
    try:
        with Ticking(EVERY, write) as ticking:
            yield ticking
        over = "finished"
    except (KeyboardInterrupt, SystemExit):
        over = "stopped"
        raise
    except Exception as error:
        why = said_without_address(error) or type(error).__name__
        raise
    finally:
        write(over, why)


def experiment_of(folder: Path) -> str:
    """Return the hash of the experiment in a run folder; empty while nothing is stored."""
    if not folder.exists():
        raise TomevalError(f"{folder}: there is no such folder")
    try:
        with closing(Store(folder)) as store:
            return str(store.meta()["sha256"])
    except NothingPlayed:
        return ""


def read_live(folder: Path, experiment: str) -> State | None:
    """Return what a folder's file says; None if there is none.

    Raises
    ------
    TomevalError
        It cannot be read, is no such file, or is of another experiment than the one of this hash.
    """
    from pydantic import TypeAdapter, ValidationError

    path = folder / LIVE
    try:
        state = TypeAdapter(State).validate_json(path.read_bytes())
        if experiment and state.experiment != experiment:
            raise TomevalError(
                f"{path}: is of another experiment than {STORE} ({state.name!r}); the next "
                "`tomeval run` into the folder writes it anew"
            )
        return state
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        (first, *_) = error.errors()
        where = "".join(f"{part}: " for part in first["loc"])
        raise TomevalError(f"{path}: {where}{first['msg']}") from None
