"""What runs on a replica, which holds no state that matters.

What comes out is committed by the driver, and what is lost with it is played again, with the same
seeds, by another one.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.parts import use_plugin
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded
from tomeval.play.engine import Episode, spec_key, started
from tomeval.play.schedule import Job
from tomeval.runs.folder import versions
from tomeval.runs.record import Record


class Setting(NamedTuple):
    """What a replica is given once, when it starts."""

    # All cells of the experiment, by number, pickled: a replica loads what is in `plugins` first,
    # to which their classes may belong.
    cells: bytes
    base: Path | None  # where relative paths of models start; it must be there on every machine
    plugins: tuple[str, ...]  # the files and modules of ``--plugin``
    versions: Mapping[str, str]  # of libraries that decide numbers
    models: tuple[str, ...] = ()  # those to open, by `spec_key`


class Player:
    """Plays side by side, in one loop, whatever it is asked for once `open` has opened models.

    With `gpus` 0 it sees none: otherwise all replicas of a node would share its first one.
    """

    def __init__(self, setting: Setting, gpus: float = 1.0) -> None:
        if not gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self._setting, self._stack = setting, AsyncExitStack()

    async def open(self) -> tuple[str, dict[str, str]]:
        """Load the experiment and its models; return where that is, and the models' revisions."""
        setting, there = self._setting, versions()
        if differing := [
            f"{name} {there.get(name, 'missing')}, not {mine}"
            for name, mine in setting.versions.items()
            if there.get(name) != mine
        ]:
            raise TomevalError(
                f"{platform.node()} differs from this machine: {'; '.join(differing)}; rows must "
                "not depend on where they are played: install the same versions everywhere"
            )
        try:
            for plugin in setting.plugins:
                use_plugin(plugin)
            self._cells = pickle.loads(setting.cells)
            scoring = (cell.models.values() for cell in self._cells if cell.scores)
            scored = {spec_key(spec) for specs in scoring for spec in specs}
            models = {
                key: open_model(json.loads(key), base=setting.base, scores=key in scored)
                for key in setting.models
            }
            self._lines = await self._stack.enter_async_context(started(models))
        except TomevalError as error:
            raise TomevalError(str(error)) from None  # what can be sent
        return platform.node(), {key: model.revision for key, model in models.items()}

    async def play(self, job: Job) -> tuple[Record | None, str]:
        """Return an episode, and what was wrong with a reply; without one, with a prompt.

        No reply is kept, as what is lost is played again.
        """
        cell = self._cells[job[0]]
        episode = Episode(cell, job, self._lines)
        try:
            return await episode.play(), episode.unusable
        except ContextExceeded as error:
            return None, str(error)
