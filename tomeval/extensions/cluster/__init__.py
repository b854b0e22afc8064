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
import os
import pickle
import signal
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError, need
from tomeval.core.parts import loaded_plugins
from tomeval.core.text import excerpt
from tomeval.extensions.cluster.replicas import Player, Setting
from tomeval.models import is_served, model_name
from tomeval.models.base import ContextExceeded
from tomeval.play.engines import Engine, Models, run_loop
from tomeval.play.filling import Filler
from tomeval.play.schedule import Schedule
from tomeval.runs.experiment import Experiment
from tomeval.runs.folder import versions
from tomeval.runs.record import Record

logger = logging.getLogger(__name__)

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # read once, when Ray is imported
}

IN_VAIN = 6
"""So often may replicas be lost in a row, times their number, with no episode ended between."""

TURN = 1.0
"""Seconds between two looks whether all is played."""


class Lost(Exception):
    """A replica is gone, with what it was playing; the text says why, as far as is known."""


class RayEngine(Engine):
    """Replicas on a Ray cluster.

    Parameters
    ----------
    address : str
        ``HOST:PORT``, ``local``, ``auto``, or empty, where Ray takes what RAY_ADDRESS names, else
        the cluster that ``ray start`` began on this machine, else one that ends with the run.
    replicas : int
        How many there will be at a time; at least 1.
    gpus_per_replica : float
        A whole number, or a share of one GPU. With 0 they see none.
    """

    def __init__(self, address: str, replicas: int = 1, gpus_per_replica: float = 0.0) -> None:
        super().__init__()
        self._address, self.replicas, self._gpus = address, replicas, gpus_per_replica
        if not (0 <= self._gpus <= 1 or (self._gpus > 1 and self._gpus % 1 == 0)):
            raise TomevalError(
                "--gpus-per-replica must be a whole number or, for several replicas on one GPU, a "
                f"share of it between 0 and 1; is {self._gpus:g}"
            )
        if replicas < 1:
            raise TomevalError(f"--replicas must be at least 1, is {replicas}")
        self._ray: Any = None
        self._connected = False  # by us, to be undone by us
        self._setting: Setting  # of `prepare`
        self.under_way = 0  # episodes
        self._lost_in_vain = 0  # replicas in a row

    def prepare(self, experiment: Experiment) -> None:
        """Raise if the cluster cannot give what is asked, or cells cannot be sent to it."""
        self.check()
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
            versions=versions(),
        )

    def play_with(self, filler: Filler, models: Models, schedule: Schedule) -> None:
        """Play the cells of some language models, unless one is served.

        Raises
        ------
        TomevalError
            A replica cannot play, replicas differ, or all are lost again and again.
        KeyboardInterrupt, SystemExit
            The run was asked to stop; the episodes under way are finished.
        """
        if any(is_served(json.loads(key)) for key in models):
            super().play_with(filler, models, schedule)
            return
        try:
            run_loop(self._play(filler, schedule, models))
        finally:
            filler.stopping.on_request = lambda: None
        filler.stopping.check()

    async def _play(self, filler: Filler, schedule: Schedule, models: Models) -> None:
        """Play cells with the same models; a replica that has no place yet is not waited for."""
        loop = asyncio.get_running_loop()
        filler.stopping.on_request = partial(loop.call_soon_threadsafe, schedule.clear)
        filler.ready()
        setting = self._setting._replace(models=models)
        async with _ended_together(
            self._replica(filler, schedule, setting, number)
            for number in range(1, self.replicas + 1)
        ) as work:
            while any(not one.done() for one in work) and (len(schedule) or self.under_way):
                done, _ = await asyncio.wait(work, timeout=TURN, return_when="FIRST_EXCEPTION")
                for one in done:
                    one.result()

    async def _replica(
        self, filler: Filler, schedule: Schedule, setting: Setting, number: int
    ) -> None:
        """Play on one replica after the other, each of which begins when the last one is lost."""
        slots = min(self.concurrency, math.ceil(len(schedule) / self.replicas))
        while len(schedule) and not filler.stopping.asked:
            actor, name = self.start(setting, slots), f"replica {number}"
            try:
                host, revisions = await self.call(actor, "open")
                name += f" on {host}"
                for key, revision in revisions.items():
                    filler.store.check_revision(model_name(json.loads(key)), revision)
                playing = (self._work(filler, schedule, actor) for _ in range(slots))
                async with _ended_together(playing) as work:
                    await asyncio.gather(*work)
            except Lost as lost:
                self._note_loss(name, lost)
            except TomevalError as error:
                raise TomevalError(f"{name}: {error}") from None
            finally:
                self.stop(actor)

    async def _work(self, filler: Filler, schedule: Schedule, actor: Any) -> None:
        """Play one episode after the other on a replica; what is lost with it waits again."""
        while not filler.stopping.asked and (len(schedule) or self.under_way):
            if (job := await schedule.begin()) is None:
                await asyncio.sleep(TURN)  # others may still lose what they play
                continue
            self.under_way += 1
            try:
                record, fault = await self.call(actor, "play", job)
            except BaseException:  # also when cancelled, as the replica was lost for another one
                schedule.give_back(job)
                raise
            finally:
                self.under_way -= 1
            self._lost_in_vain = 0
            if record is None:
                filler.too_long(*job, 0, ContextExceeded(fault))
                schedule.ended(*job)
            else:
                _hand_over(filler, schedule, job[0], record, fault)

    def _note_loss(self, name: str, lost: Lost) -> None:
        """Count a lost replica; raise if none plays."""
        self._lost_in_vain += 1
        logger.warning("%s is lost (%s); its episodes wait to be played again", name, lost)
        if self._lost_in_vain == IN_VAIN * self.replicas:
            raise TomevalError(
                f"replicas were lost {self._lost_in_vain} times in a row; the last one, {name}: "
                f"{lost}; everything is kept: run the same command again to continue"
            )

    def check(self) -> None:
        """Connect, or start Ray on this machine; raise if it has no room for the replicas."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        self._ray = need("ray", "ray", "replicas on Ray")
        if not self._ray.is_initialized():
            self._connect()
        resources = self._ray.cluster_resources()
        cores, there = resources.get("CPU", 0), resources.get("GPU", 0)
        if cores < self.replicas or there < self.replicas * self._gpus:
            self.close()
            raise TomevalError(
                f"--replicas {self.replicas}, with 1 core and {self._gpus:g} GPUs each: Ray has "
                f"{cores:g} cores and {there:g} GPUs; lower --replicas or --gpus-per-replica"
            )

    def _connect(self) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        ours = threading.current_thread() is threading.main_thread()
        signals = (signal.SIGINT, signal.SIGTERM) if ours else ()
        before = {number: signal.getsignal(number) for number in signals}
        host, _, port = self._address.rpartition(":")
        try:
            if host and port.isdecimal():  # Ray itself would try for minutes
                socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
            self._ray.init(address=self._address or None, include_dashboard=False, **quiet)
        except Exception as error:  # noqa: BLE001 (Ray raises whatever its parts do)
            self._ray.shutdown()  # of what was started before it failed
            why = excerpt(" ".join(f"{error}".split()) or type(error).__name__, 300)
            raise TomevalError(
                f"--engine ray:{self._address}: Ray cannot be used: {why}; an address is what "
                "`ray start --head` printed, HOST:PORT, of a cluster that has this machine"
            ) from None
        finally:
            for number, handler in before.items():  # a run decides itself how it stops
                signal.signal(number, handler)
        self._connected = True

    def start(self, setting: Setting, episodes: int) -> Any:
        """Start an actor for so many episodes at a time; it waits for a place in the cluster."""
        kind = self._ray.remote(Player).options(
            num_cpus=1,
            num_gpus=self._gpus,
            max_restarts=0,  # the driver starts another one
            max_concurrency=episodes + 10,
            scheduling_strategy="SPREAD",
        )
        return kind.remote(setting, self._gpus)

    async def call(self, actor: Any, method: str, *given: Any) -> Any:
        """Call a method of the player; raise its `TomevalError`, a program's error, or `Lost`."""
        from ray.exceptions import RayError, RaySystemError, RayTaskError

        try:
            return await getattr(actor, method).remote(*given)
        except (RayTaskError, RaySystemError) as error:
            if isinstance(cause := getattr(error, "cause", None), TomevalError):
                raise cause from None
            raise RuntimeError(f"a program error on a replica: {error}") from None
        except RayError as error:
            last = (str(error).strip() or type(error).__name__).splitlines()[-1]
            raise Lost(excerpt(last, 200)) from None

    def stop(self, actor: Any) -> None:
        """End the process of an actor."""
        self._ray.kill(actor)

    def close(self) -> None:
        """End all replicas, and the Ray that was started or connected to."""
        if self._connected:
            self._ray.shutdown()
            self._connected = False


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
    if record.steps > 1:  # of a void one the last
        schedule.stepped(number)
    last = {call[:3]: call for call in record.calls if "outcome" in call[3]}
    for _, seat, _, call in last.values():  # the last attempt at each question
        key = filler.keys[number][seat]
        filler.settled(number, record.episode, key, call["outcome"], call)
    filler.done(number, record, 0, fault)
