"""The driver's side of a run on many machines: hands out leases, and commits what comes back.

Each turn it waits for answers, commits all that they say in one transaction, and only then asks
again, with new leases: the question tells a replica that its answer is committed.
"""

from __future__ import annotations

import json
import logging
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.core.plugins import loaded_plugins
from tomeval.models import is_served
from tomeval.models.base import ContextExceeded
from tomeval.models.naming import shown_name
from tomeval.models.trust import confirmed_code, confirmed_hosts
from tomeval.runs.domain import Block, Cell
from tomeval.runs.engine import Watch
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import installed_versions
from tomeval.runs.live import Live, ReplicaCount
from tomeval.runs.processes import Task
from tomeval.runs.schedule import Job, Schedule
from tomeval.runs.spread.contract import Engine, Lost, Replica
from tomeval.runs.spread.leases import LOSSES, Gone, Group, Leases
from tomeval.runs.spread.lost import failed_block
from tomeval.runs.spread.messages import (
    Begun,
    Broken,
    Counts,
    Lease,
    Left,
    Message,
    Opened,
    Order,
    Over,
    Played,
    Ready,
    Replied,
    Setting,
    TooLong,
    Withdraw,
)
from tomeval.runs.spread.same import Same
from tomeval.runs.stopping import IN_FLIGHT, Stopping
from tomeval.runs.store import Store

logger = logging.getLogger(__name__)

SILENT = 60.0
"""Seconds without an answer after which what a replica holds is given to others."""

TURN = 1.0
"""Seconds for which answers are waited for before others things are looked after."""

Recall = Callable[[int, Callable[[int], None]], None]
"""Asks for the episodes of a cell back that have not begun; calls back with how many these are."""


class Filler(Watch, Protocol):
    """What the driver needs of the run that it plays: see `tomeval.runs.runner`."""

    store: Store
    cells: Sequence[Cell]
    live: Live
    stopping: Stopping
    stop_after_voids: int
    schedules: dict[int, Schedule]
    recall: Recall

    def stretches(self) -> list[Task]:
        """Return what is to be played of the cells that ask no model."""

    def groups(self) -> dict[tuple[str, ...], list[Job]]:
        """Return the episodes that language models are to play, by the models of their cells."""

    def together(self, number: int, block: Block) -> None:
        """Take a stretch of a cell that asks no model."""

    def lost(self, number: int, episode: int, under_way: int) -> None:
        """Hear that an episode under way will begin anew."""

    def name(self, number: int) -> str:
        """Return what messages call a cell."""


def make_setting(experiment: Experiment, prefix_reuse: bool, concurrency: int) -> Setting:
    """Return what replicas are to know of a run."""
    named = [plugin.module for plugin in loaded_plugins() if not plugin.package]
    files = [str(Path(name).resolve()) if name.endswith(".py") else name for name in named]
    return Setting(
        domain=experiment.domain,
        cells=pickle.dumps(list(experiment.cells)),
        base="" if experiment.base is None else str(Path(experiment.base).resolve()),
        plugins=tuple(files),
        hosts=tuple(confirmed_hosts()),
        code=confirmed_code(),
        prefix_reuse=prefix_reuse,
        concurrency=concurrency,
    )


def drive(engine: Engine, replicas: int, setting: Setting, filler: Filler) -> None:
    """Play all cells without a served model on replicas; `filler` takes what they play.

    Raises
    ------
    TomevalError
        A replica cannot play, replicas differ, or all are lost again and again.
    KeyboardInterrupt, SystemExit
        The run was asked to stop; the leases under way are finished.
    """
    driver = _Driver(engine, setting, filler)
    if driver.leases.done:
        return
    filler.stopping.what = "the leases under way, which can take some minutes"
    filler.stopping.on_request = lambda: None
    filler.recall = driver.recall
    try:
        driver.play(replicas)
    finally:
        filler.stopping.what = IN_FLIGHT
    filler.stopping.check()


@dataclass(eq=False)
class _Place:
    """A replica, or the next one in the place of a lost one."""

    number: int
    replica: Replica
    count: ReplicaCount
    ready: bool = False
    asked: float | None = None  # when, if a question is under way
    orders: list[Order] = field(default_factory=list)  # to go with the next question
    in_vain: int = 0  # how often it was lost since it finished something

    def __str__(self) -> str:
        return f"{self.count.name} on {self.count.host}" if self.count.host else self.count.name
