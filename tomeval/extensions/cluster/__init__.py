"""The engine ``ray``: replicas on many machines play the episodes of local models.

The *driver* is the process that a user starts. It alone opens the store, so a replica that is
lost takes nothing with it but time: its episodes are played again, last. What asks no
model, or a served one, plays in the driver. Libraries and revisions must be the same everywhere.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import pickle
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tomeval.core.credentials import confirmed_code
from tomeval.core.errors import TomevalError
from tomeval.core.parts import loaded_plugins
from tomeval.extensions.cluster.replicas import Lost, RayCluster, Setting
from tomeval.models import is_served, model_name
from tomeval.models.base import ContextExceeded
from tomeval.play.engines import Engine, run_loop
from tomeval.play.filling import Filler
from tomeval.play.schedule import Schedule
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import versions
from tomeval.runs.record import Record

logger = logging.getLogger(__name__)

IN_VAIN = 6
"""So often may replicas be lost in a row, times their number, with no episode ended between."""

TURN = 1.0
"""Seconds between two looks whether all is played."""


def make_engine(address: str, replicas: int = 1, gpus_per_replica: float = 0.0) -> Replicated:
    """Return the engine ``ray``; nothing is started. See `RayCluster` for what is given."""
    gpus = gpus_per_replica
    if not (0 <= gpus <= 1 or (math.isfinite(gpus) and gpus > 0 and gpus == int(gpus))):
        raise TomevalError(
            "--gpus-per-replica must be a whole number or, for several replicas on one GPU, a "
            f"share of it between 0 and 1; is {gpus:g}"
        )
    if replicas < 1:
        raise TomevalError(f"--replicas must be at least 1, is {replicas}")
    return Replicated(RayCluster(address, replicas, gpus), replicas)


class Replicated(Engine):
    """An engine of so many replicas at a time."""

    def __init__(self, cluster: RayCluster, count: int) -> None:
        super().__init__()
        self._cluster, self._replicas = cluster, count
        self._setting: Setting  # of `prepare`
        self._concurrency = 1
        self._playing = self._under_way = 0  # replicas that opened their models; episodes
        self._lost = self._in_vain = 0

    def prepare(self, experiment: Experiment, concurrency: int) -> None:
        """Raise if the cluster cannot give what is asked, or cells cannot be sent to it."""
        self._cluster.check()
        try:
            cells = pickle.dumps(list(experiment.cells))
        except (pickle.PicklingError, AttributeError, TypeError) as error:  # a plugin's lambda
            raise TomevalError(
                f"the cells of this experiment cannot be sent to replicas: {error}; define their "
                "classes and functions at the top level of a module"
            ) from None
        named = [plugin.where for plugin in loaded_plugins() if not plugin.package]
        self._setting = Setting(
            domain=experiment.domain,
            cells=cells,
            base=None if experiment.base is None else Path(experiment.base).resolve(),
            plugins=tuple(str(Path(n).resolve()) if n.endswith(".py") else n for n in named),
            code=confirmed_code(),
            versions=versions(),
        )
        self._concurrency = concurrency

    def play(self, filler: Filler) -> None:
        """Play all cells without a served model.

        Raises
        ------
        TomevalError
            A replica cannot play, replicas differ, or all are lost again and again.
        KeyboardInterrupt, SystemExit
            The run was asked to stop; the episodes under way are finished.
        """
        super().play(filler)
        stopping, live = filler.stopping, filler.live
        groups = {
            models: Schedule(jobs, filler.stop_after_voids)
            for models, jobs in filler.groups().items()
            if not any(is_served(json.loads(key)) for key in models)
        }
        for models, schedule in groups.items():
            live.asking, live.replica_line = True, self._summary
            filler.schedules |= dict.fromkeys(schedule.cells, schedule)
            try:
                run_loop(self._play(filler, schedule, models))
            finally:
                stopping.on_request = lambda: None
            stopping.check()
        if groups:
            live.closing.append(self._summary())

    def close(self) -> None:
        """End all replicas."""
        self._cluster.close()

    async def _play(self, filler: Filler, schedule: Schedule, models: tuple[str, ...]) -> None:
        """Play cells with the same models; a replica that has no place yet is not waited for."""
        loop = asyncio.get_running_loop()
        filler.stopping.on_request = partial(loop.call_soon_threadsafe, schedule.clear)
        filler.ready()
        setting = self._setting._replace(models=models)
        async with _ended_together(
            self._replica(filler, schedule, setting, number)
            for number in range(1, self._replicas + 1)
        ) as work:
            while any(not one.done() for one in work) and (len(schedule) or self._under_way):
                done, _ = await asyncio.wait(work, timeout=TURN, return_when="FIRST_EXCEPTION")
                for one in done:
                    one.result()

    async def _replica(
        self, filler: Filler, schedule: Schedule, setting: Setting, number: int
    ) -> None:
        """Play on one replica after the other, each of which begins when the last one is lost."""
        slots = min(self._concurrency, math.ceil(len(schedule) / self._replicas))
        while len(schedule) and not filler.stopping.asked:
            actor, name = self._cluster.start(setting, slots), f"replica {number}"
            opened = False
            try:
                host, revisions = await self._cluster.call(actor, "open")
                name += f" on {host}"
                for key, revision in revisions.items():
                    filler.store.check_revision(model_name(json.loads(key)), revision)
                opened, self._playing = True, self._playing + 1
                playing = (self._work(filler, schedule, actor) for _ in range(slots))
                async with _ended_together(playing) as work:
                    await asyncio.gather(*work)
            except Lost as lost:
                self._note_loss(name, lost)
            except TomevalError as error:
                raise TomevalError(f"{name}: {error}") from None
            finally:
                self._playing -= opened
                self._cluster.stop(actor)

    async def _work(self, filler: Filler, schedule: Schedule, actor: Any) -> None:
        """Play one episode after the other on a replica; what is lost with it waits again."""
        while not filler.stopping.asked and (len(schedule) or self._under_way):
            if (job := await schedule.begin()) is None:
                await asyncio.sleep(TURN)  # others may still lose what they play
                continue
            self._under_way += 1
            try:
                record, fault = await self._cluster.call(actor, "play", job)
            except BaseException:  # also when cancelled, as the replica was lost for another one
                schedule.give_back(job)
                raise
            finally:
                self._under_way -= 1
            self._in_vain = 0
            if record is None:
                filler.too_long(*job, 0, ContextExceeded(fault))
                schedule.ended(*job)
            else:
                _hand_over(filler, schedule, job[0], record, fault)

    def _note_loss(self, name: str, lost: Lost) -> None:
        """Count a lost replica; raise if none plays."""
        self._lost, self._in_vain = self._lost + 1, self._in_vain + 1
        logger.warning("%s is lost (%s); its episodes wait to be played again", name, lost)
        if self._in_vain == IN_VAIN * self._replicas:
            raise TomevalError(
                f"replicas were lost {self._in_vain} times in a row; the last one, {name}: "
                f"{lost}; everything is kept: run the same command again to continue"
            )

    def _summary(self) -> str:
        """Return what replicas do and did, in a line."""
        lost = f", lost {self._lost:,} times" * bool(self._lost)
        return f"replicas: {self._playing:,} of {self._replicas:,} play{lost}"


@asynccontextmanager
async def _ended_together(work: Iterable[Coroutine[Any, Any, None]]) -> AsyncIterator[Any]:
    """Run tasks beside the block; once it ends, cancel them, and raise what the last ones did."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


def _hand_over(filler: Filler, schedule: Schedule, number: int, record: Record, fault: str) -> None:
    """Hand an episode of a cell to the run, after what came of its questions."""
    last = {call[:3]: call for call in record.calls if "outcome" in call[3]}
    for _, seat, _, call in last.values():  # the last attempt at each question
        key = filler.keys[number][seat]
        filler.settled(number, record.episode, key, call["outcome"], call)
    filler.done(number, record, 0, fault)
