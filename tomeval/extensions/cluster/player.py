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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tomeval.core.credentials import trusting
from tomeval.core.errors import TomevalError
from tomeval.core.parts import use_plugin
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded, LocalModel, Model
from tomeval.play.engine import Episode, Lines, Watch, spec_key, started
from tomeval.play.schedule import Job
from tomeval.play.stopping import Stopping
from tomeval.runs.domain import Cell, get_domain
from tomeval.runs.folder import versions
from tomeval.runs.record import Record


@dataclass(frozen=True)
class Setting:
    """What a replica is given once, when it starts.

    Attributes
    ----------
    domain : str
    cells : bytes
        All cells of the experiment, by number, pickled: a replica loads what is in `plugins` first,
        to which their classes may belong.
    base : Path, optional
        The folder that relative paths of models start from; it must be there on every machine.
    plugins, hosts, code
        The files and modules of ``--plugin``; what `tomeval.core.credentials.trusting` was told.
    concurrency : int
        Episodes of language models at a time, on each replica.
    """

    domain: str
    cells: bytes
    base: Path | None = None
    plugins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    code: bool = False
    concurrency: int = 32


class Ready(NamedTuple):
    """Where a replica is, the libraries there that decide numbers, and its models' revisions."""

    host: str
    versions: Mapping[str, str]
    revisions: Mapping[str, str]


class Ended(NamedTuple):
    """What an episode became; without a record it was broken off, as a prompt was too long.

    `unusable` says what was wrong with a reply that came and could not be used.
    """

    record: Record | None
    unusable: str = ""
    too_long: str = ""


class Player:
    """Plays side by side, in one loop, whatever it is asked for.

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
        self._stack, self._lines = AsyncExitStack(), Lines({})
        self._opening = asyncio.Lock()

    async def open(self, models: Sequence[str]) -> Ready:
        """Load the experiment at first, then open models, by `spec_key`, in place of others."""
        async with self._opening:
            return await self._opened(models)

    async def _opened(self, models: Sequence[str]) -> Ready:
        with self._allowed():
            if not self._cells:
                for plugin in self._setting.plugins:
                    use_plugin(plugin)
                self._domain = get_domain(self._setting.domain)
                self._cells = pickle.loads(self._setting.cells)
            await self._stack.aclose()
            self._models = {key: self._models[key] for key in models if key in self._models}
            for key in models:
                if key not in self._models:
                    self._models[key] = self._open(key)
            self._lines = await self._stack.enter_async_context(started(self._models))
        revisions = {key: model.revision for key, model in self._models.items()}
        return Ready(platform.node(), versions(), revisions)

    def _open(self, key: str) -> Model | LocalModel:
        """Open a model; it scores labels if it does in any cell."""
        scoring = (spec for cell in self._cells if cell.scores for spec in cell.models.values())
        return open_model(
            json.loads(key),
            base=self._setting.base,
            scores=key in set(map(spec_key, scoring)),
        )

    async def play(self, job: Job, kept: Mapping[str, dict[str, str]]) -> Ended:
        """Play an episode with the models that are open; `kept` are replies by seat and request."""
        domain, cell = self._domain, self._cells[job[0]]

        def keep(*reply: str) -> None:
            """Keep none: what is lost is played again."""

        episode = Episode(domain, cell, job, self._lines, Watch(), Stopping(), kept, keep)
        with self._allowed():
            try:
                return Ended(await episode.play(), episode.unusable)
            except ContextExceeded as error:
                return Ended(None, too_long=str(error))

    @contextmanager
    def _allowed(self) -> Iterator[None]:
        """Allow what the user did; raise errors of the input as what can be sent."""
        setting = self._setting
        try:
            with trusting(setting.hosts, code=setting.code):
                yield
        except ContextExceeded:
            raise
        except TomevalError as error:
            raise TomevalError(str(error)) from None
