"""The engine ``ray``: replicas on many machines play the episodes of local models.

The *driver* is the process that a user starts. It alone opens the store, so a replica (`player`)
that is lost takes nothing with it but time: its episodes are played again, last, by the one that
starts in its place. What asks no model, or a served one, plays in the driver. Libraries and
revisions must be the same everywhere.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tomeval.core.credentials import confirmed_code, confirmed_hosts
from tomeval.core.errors import TomevalError
from tomeval.core.parts import loaded_plugins
from tomeval.extensions.cluster.player import Ended, Ready, Setting
from tomeval.extensions.cluster.ray_cluster import Lost, RayCluster
from tomeval.models import is_served, model_name
from tomeval.models.base import ContextExceeded
from tomeval.play.engines import Workers, run_loop
from tomeval.play.filling import Filler
from tomeval.play.schedule import Job, Schedule
from tomeval.play.stopping import IN_FLIGHT
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import versions

logger = logging.getLogger(__name__)

IN_VAIN = 6
"""So often may replicas be lost in a row, times their number, with no episode ended between."""

TURN = 1.0
"""Seconds between two looks whether all is played."""


def make_engine(address: str, replicas: int = 1, gpus_per_replica: float = 0.0) -> Replicated:
    """Return the engine ``ray``; nothing is started.

    Parameters
    ----------
    address : str
        See `tomeval.extensions.cluster.ray_cluster.find`.
    replicas : int
        How many there are to be, at least 1.
    gpus_per_replica : float
        A whole number, or a share of one GPU, such as 0.5.
    """
    gpus = gpus_per_replica
    if not (math.isfinite(gpus) and gpus >= 0 and (gpus <= 1 or gpus == int(gpus))):
        raise TomevalError(
            "--gpus-per-replica must be a whole number or, for several replicas on one GPU, a "
            f"share of it between 0 and 1; is {gpus:g}"
        )
    if replicas < 1:
        raise TomevalError(f"--replicas must be at least 1, is {replicas}")
    return Replicated(RayCluster(address, replicas, gpus), replicas)


class _Replica:
    """A place for an actor, and the one that it has now."""

    def __init__(self, number: int) -> None:
        self.number, self.host = number, ""
        self.actor: Any = None
        self.opened = False  # the models of the group that plays
        self.under_way = 0  # episodes
        self.opening = asyncio.Lock()

    def __str__(self) -> str:
        return f"replica {self.number + 1}{f' on {self.host}' * bool(self.host)}"


class Replicated(Workers):
    """An engine of so many replicas at a time."""

    def __init__(self, cluster: RayCluster, count: int) -> None:
        super().__init__()
        self._cluster, self._replica_count = cluster, count
        self._setting: Setting  # of `prepare`
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
        named = [plugin.module for plugin in loaded_plugins() if not plugin.package]
        self._setting = Setting(
            domain=experiment.domain,
            cells=cells,
            base=None if experiment.base is None else Path(experiment.base).resolve(),
            plugins=tuple(str(Path(n).resolve()) if n.endswith(".py") else n for n in named),
            hosts=tuple(confirmed_hosts()),
            code=confirmed_code(),
            concurrency=concurrency,
        )

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
        groups = {
            models: Schedule(jobs, filler.stop_after_voids)
            for models, jobs in filler.groups().items()
            if not any(is_served(json.loads(key)) for key in models)
        }
        if groups:
            try:
                run_loop(self._play(filler, groups))
            finally:
                filler.stopping.what, filler.stopping.on_request = IN_FLIGHT, lambda: None
            filler.stopping.check()

    def close(self) -> None:
        """End all replicas."""
        self._cluster.close()

    async def _play(self, filler: Filler, groups: dict[tuple[str, ...], Schedule]) -> None:
        """Play the groups one after the other; all replicas open the models of each."""
        replicas = [_Replica(number) for number in range(self._replica_count)]
        stopping, live, loop = filler.stopping, filler.live, asyncio.get_running_loop()
        stopping.what = "the episodes under way, up to some minutes"
        live.asking, live.replica_line = True, partial(self._summary, replicas)
        try:
            for models, schedule in groups.items():
                if stopping.asked:
                    break
                stopping.on_request = partial(loop.call_soon_threadsafe, schedule.clear)
                filler.schedules |= dict.fromkeys(schedule.cells, schedule)
                filler.ready()
                await self._play_group(filler, schedule, models, replicas)
        finally:
            for replica in replicas:
                if replica.actor is not None:
                    self._cluster.stop(replica.actor)
        live.closing.append(self._summary(replicas))

    async def _play_group(
        self,
        filler: Filler,
        schedule: Schedule,
        models: tuple[str, ...],
        replicas: Sequence[_Replica],
    ) -> None:
        """Play cells with the same models; a replica that has no place yet is not waited for."""
        slots = min(self._setting.concurrency, math.ceil(len(schedule) / len(replicas)))
        for replica in replicas:
            replica.opened = False
        work = [
            asyncio.create_task(self._work(filler, schedule, models, replica))
            for _ in range(slots)
            for replica in replicas
        ]
        waiting = True
        while waiting:
            done, rest = await asyncio.wait(work, timeout=TURN, return_when=asyncio.FIRST_EXCEPTION)
            for one in done:
                one.result()
            waiting = bool(rest) and bool(len(schedule) or any(r.under_way for r in replicas))
        for one in rest:
            one.cancel()

    async def _work(
        self, filler: Filler, schedule: Schedule, models: tuple[str, ...], replica: _Replica
    ) -> None:
        """Play one episode after the other on a replica; what is lost with it waits again."""
        stopping = filler.stopping
        while not stopping.asked:
            try:
                await self._ready(filler, replica, models)
                if (job := await schedule.begin()) is None:
                    return
            except Lost:
                continue
            if not replica.opened:  # it was lost while this waited
                schedule.give_back(job)
                continue
            replica.under_way += 1
            seats = filler.cells[job[0]].models
            kept = {seat: filler.store.kept_replies(*job, seat) for seat in seats}
            try:
                self._ended(filler, schedule, job, await self._ask(replica, "play", job, kept))
            except Lost:
                if stopping.asked:
                    schedule.ended(*job)
                else:
                    schedule.give_back(job)
            finally:
                replica.under_way -= 1

    async def _ready(self, filler: Filler, replica: _Replica, models: tuple[str, ...]) -> None:
        """Have a replica open the models of the group; start one where there is none."""
        async with replica.opening:
            if replica.opened:
                return
            if replica.actor is None:
                replica.actor = self._cluster.start(self._setting)
            there: Ready = await self._ask(replica, "open", models)
            replica.host, mine = there.host, versions()
            if differing := [
                f"{name} {there.versions.get(name, 'missing')}, not {mine.get(name, 'missing')}"
                for name in sorted({*there.versions, *mine})
                if there.versions.get(name) != mine.get(name)
            ]:
                raise TomevalError(
                    f"{replica} differs from this machine: {'; '.join(differing)}; rows must not "
                    "depend on where they are played: install the same versions everywhere"
                )
            for key, revision in there.revisions.items():
                filler.store.check_revision(model_name(json.loads(key)), revision)
            replica.opened = True

    async def _ask(self, replica: _Replica, method: str, *given: Any) -> Any:
        """Call a method of the player; raise a `TomevalError`, a program's error, or `Lost`."""
        if (actor := replica.actor) is None:
            raise Lost
        try:
            return await self._cluster.call(actor, method, *given)
        except Lost as error:
            if actor is replica.actor:  # the first that hears of it
                self._lose(replica, error)
            raise
        except TomevalError as error:
            raise TomevalError(f"{replica}: {error}") from None
        except RuntimeError as error:
            logger.error("%s:\n%s", replica, error)
            last = f"{error}".strip().splitlines()[-1]
            raise RuntimeError(f"a program error on {replica}: {last}") from None

    def _lose(self, replica: _Replica, why: Lost) -> None:
        self._cluster.stop(replica.actor)
        replica.actor, replica.opened = None, False
        self._lost, self._in_vain = self._lost + 1, self._in_vain + 1
        logger.warning("%s is lost (%s); its episodes wait to be played again", replica, why)
        if self._in_vain == IN_VAIN * self._replica_count:
            raise TomevalError(
                f"replicas were lost {self._in_vain} times in a row; the last one, {replica}: "
                f"{why}; everything is kept: run the same command again to continue"
            )

    def _ended(self, filler: Filler, schedule: Schedule, job: Job, ended: Ended) -> None:
        """Hand an episode to the run, after what came of its questions."""
        self._in_vain, number, record = 0, job[0], ended.record
        if record is None:
            filler.too_long(*job, 0, ContextExceeded(ended.too_long))
            schedule.ended(*job)
            return
        if record.steps > 1:  # of a void one the last
            schedule.stepped(number)
        last = {call[:3]: call for call in record.calls if "outcome" in call[3]}
        for _, seat, _, call in last.values():  # the last attempt at each question
            key = filler.keys[number][seat]
            filler.settled(number, record.episode, key, call["outcome"], call)
        filler.done(number, record, 0, ended.unusable)

    def _summary(self, replicas: Sequence[_Replica]) -> str:
        """Return what replicas do and did, in a line."""
        playing = sum(replica.opened for replica in replicas)
        lost = f", lost {self._lost:,} times" * bool(self._lost)
        return f"replicas: {playing:,} of {len(replicas):,} play{lost}"
