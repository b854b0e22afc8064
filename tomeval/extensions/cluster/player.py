"""What runs in a replica: it opens models, and plays the episodes that it is asked for.

It holds no state that matters: what comes out is committed by the driver, and what is lost with it
is played again, with the same seeds, by another one.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import platform
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.credentials import trusting
from tomeval.core.errors import TomevalError
from tomeval.core.files import USUAL, allowing
from tomeval.core.plugins import use_plugin
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.runs.domain import Cell, Domain, get_domain
from tomeval.runs.engine import Watch, play_with_models, spec_key
from tomeval.runs.engines import play_stretch
from tomeval.runs.folder import versions
from tomeval.runs.live import ModelCount
from tomeval.runs.record import Record
from tomeval.runs.schedule import Job, Schedule
from tomeval.runs.stopping import Stopping

Kept = Mapping[str, Mapping[str, str]]
"""Replies that an episode was given in an earlier session: by seat, then by hash of the request."""


@dataclass(frozen=True)
class Setting:
    """What a replica is given once, when it starts.

    Attributes
    ----------
    domain : str
    cells : bytes
        All cells of the experiment, by number, pickled: a replica loads what is in `plugins` first,
        to which their classes may belong.
    base : str
        The folder that relative paths of models start from; it must be there on every machine.
    plugins, hosts, code
        The files and modules of ``--plugin``; what `tomeval.core.credentials.trusting` was told.
    megabytes : int
        The memory that a file may take unpacked.
    prefix_reuse : bool
    concurrency : int
        Episodes of language models at a time, on each replica.
    """

    domain: str
    cells: bytes
    base: str = ""
    plugins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    code: bool = False
    megabytes: int = USUAL
    prefix_reuse: bool = True
    concurrency: int = 32


class Ready(NamedTuple):
    """Where a replica has started, with the libraries that decide numbers."""

    host: str
    versions: Mapping[str, str]


class Ended(NamedTuple):
    """What episodes became; without records one was broken off, as a prompt was too long.

    `unusable` says what was wrong with a reply that came and could not be used.
    """

    records: list[Record] | None
    unusable: str = ""
    too_long: str = ""


class Player(Watch):
    """Plays in a thread of its own, while its methods wait for what comes of it.

    What goes wrong is raised as a `TomevalError`, if it is an error of the input, or as a
    `RuntimeError` whose text is the traceback: either can be sent. It is the keeper of replies and
    the watch of `engine.play_with_models`; what was asked, the records say.

    Parameters
    ----------
    setting : Setting
    gpus : float
        With 0 it sees none: otherwise all replicas of a node would share its first GPU.
    """

    def __init__(self, setting: Setting, gpus: float = 1.0) -> None:
        if not gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self._setting = setting
        self._cells: Sequence[Cell] = ()
        self._models: dict[str, Model | LocalModel] = {}
        self._jobs: dict[Job, Future[Ended]] = {}
        self._kept: dict[Job, Kept] = {}
        self._one_stretch = threading.Lock()
        self._thread = threading.Thread()  # that plays
        self._schedule = Schedule((), 0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened: Future[dict[str, str]] = Future()
        self._failure: Exception | None = None

    # What the driver asks for

    async def start(self) -> Ready:
        """Load the experiment."""
        with self._told_errors(), self._trusting():
            for plugin in self._setting.plugins:
                use_plugin(plugin)
            self.domain: Domain = get_domain(self._setting.domain)
            self._cells = pickle.loads(self._setting.cells)
            return Ready(platform.node(), versions())

    async def open(self, models: Sequence[str]) -> dict[str, str]:
        """Open models, by `spec_key`, in place of others; return their revisions."""
        await asyncio.to_thread(self.close)
        self._schedule, self._opened = Schedule((), 0, more=True), Future()
        self._failure = None
        target = self._play_with_models
        self._thread = threading.Thread(target=target, args=(tuple(models),), daemon=True)
        self._thread.start()
        return await asyncio.wrap_future(self._opened)

    async def play(self, job: Job, kept: Kept) -> Ended:
        """Play an episode with the models that are open."""
        ended: Future[Ended] = Future()
        self._jobs[job], self._kept[job] = ended, kept
        assert self._loop is not None, "models are open"
        with suppress(RuntimeError):  # the thread that plays has ended, and says why
            self._loop.call_soon_threadsafe(self._schedule.add, (job,))
        if self._failure is not None:
            raise self._failure
        return await asyncio.wrap_future(ended)

    async def stretch(self, cell: int, first: int, count: int) -> Ended:
        """Play episodes of a cell without a model."""
        return await asyncio.to_thread(self._stretch, cell, first, count)

    def _stretch(self, cell: int, first: int, count: int) -> Ended:
        with self._one_stretch, self._told_errors(), self._trusting():
            return Ended(play_stretch(self.domain, self._cells[cell], first, count))

    def close(self) -> None:
        """End the thread that plays, after what is under way."""
        if self._thread.is_alive() and self._loop is not None:
            with suppress(RuntimeError):  # its loop has just ended
                self._loop.call_soon_threadsafe(self._schedule.clear)
            self._thread.join()

    @contextmanager
    def _trusting(self) -> Iterator[None]:
        setting = self._setting
        with trusting(setting.hosts, code=setting.code), allowing(setting.megabytes):
            yield

    @contextmanager
    def _told_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 (raised anew, as what can be sent)
            raise sendable(error) from None

    # The thread that plays

    def _play_with_models(self, models: tuple[str, ...]) -> None:
        try:
            with self._trusting():
                self._open(models)
                play_with_models(
                    {key: self._models[key] for key in models},
                    self,
                    self._cells,
                    self._schedule,
                    self._setting.concurrency,
                    self,
                    Stopping(),
                )
            self._give_up(RuntimeError("the replica is closed"))
        except Exception as error:  # noqa: BLE001 (whoever waits is told)
            self._give_up(sendable(error))

    def _give_up(self, error: Exception) -> None:
        """Tell whoever still waits for something, and whoever comes later."""
        self._failure = error
        waiting: list[Future[Any]] = [self._opened, *self._jobs.values()]
        for one in waiting:
            if not one.done():
                one.set_exception(error)

    def _open(self, models: tuple[str, ...]) -> None:
        """Open models, after those that are not among them are released."""
        for gone in self._models.keys() - set(models):
            del self._models[gone]
        base = Path(self._setting.base) if self._setting.base else None
        scored = {
            spec_key(spec) for cell in self._cells if cell.scores for spec in cell.models.values()
        }
        for key in models:
            if key not in self._models:
                self._models[key] = open_model(
                    json.loads(key),
                    base=base,
                    scores=key in scored,
                    prefix_reuse=self._setting.prefix_reuse,
                )

    # The keeper of replies, see `engine.Keeper`

    def check_revision(self, model: str, revision: str) -> None:
        """Leave it to the driver, which compares replicas."""

    def kept_replies(self, cell: int, episode: int, seat: str) -> dict[str, str]:
        """Return what came with the episode."""
        return dict(self._kept[cell, episode].get(seat, {}))

    def keep_reply(self, cell: int, episode: int, seat: str, request: str, reply: str) -> None:
        """Keep none: what is lost is played again."""

    # What happens, see `engine.Watch`

    async def ready(self, models: Mapping[str, Model | LocalModel]) -> None:
        """Tell which models play, and let episodes come."""
        self._loop = asyncio.get_running_loop()
        self._opened.set_result({key: model.revision for key, model in models.items()})

    def count_of(self, key: str) -> ModelCount:
        """Return counts that nobody reads: the record has them."""
        return ModelCount(key)

    def done(self, number: int, record: Record, under_way: int, unusable: str) -> None:
        """Tell what an episode became."""
        self._ends((number, record.episode), Ended([record], unusable))

    def too_long(self, number: int, episode: int, under_way: int, error: ContextExceeded) -> None:
        """Tell that an episode is broken off."""
        self._ends((number, episode), Ended(None, too_long=str(error)))

    def _ends(self, job: Job, ended: Ended) -> None:
        del self._kept[job]
        self._jobs.pop(job).set_result(ended)


def sendable(error: Exception) -> Exception:
    """Return an error as one that can be pickled."""
    if isinstance(error, TomevalError):
        return TomevalError(str(error))
    return RuntimeError("".join(traceback.format_exception(error)).strip())
