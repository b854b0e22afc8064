"""Replicas: what runs in one, and how Ray starts, asks and ends them.

A replica holds no state that matters: what comes out is committed by the driver, and what is lost
with it is played again, with the same seeds, by another one.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import platform
import signal
import socket
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.credentials import trusting
from tomeval.core.errors import TomevalError, need
from tomeval.core.parts import use_plugin
from tomeval.core.text import excerpt
from tomeval.models import open_model
from tomeval.models.base import ContextExceeded
from tomeval.play.engine import Episode, spec_key, started
from tomeval.play.schedule import Job
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import versions
from tomeval.runs.record import Record

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # read once, when Ray is imported
}


class Setting(NamedTuple):
    """What a replica is given once, when it starts."""

    domain: str
    # All cells of the experiment, by number, pickled: a replica loads what is in `plugins` first,
    # to which their classes may belong.
    cells: bytes
    base: Path | None  # where relative paths of models start; it must be there on every machine
    plugins: tuple[str, ...]  # the files and modules of ``--plugin``
    code: bool  # whether models may bring code, as for `tomeval.core.credentials.trusting`
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
            with trusting((), code=setting.code):
                for plugin in setting.plugins:
                    use_plugin(plugin)
                self._domain, self._cells = get_domain(setting.domain), pickle.loads(setting.cells)
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
        episode = Episode(self._domain, cell, job, self._lines)
        try:
            return await episode.play(), episode.unusable
        except ContextExceeded as error:
            return None, str(error)


class Lost(Exception):
    """A replica is gone, with what it was playing; the text says why, as far as is known."""


class RayCluster:
    """Replicas on a Ray cluster.

    Parameters
    ----------
    address : str
        ``HOST:PORT``, ``local``, ``auto``, or empty, where Ray takes what RAY_ADDRESS names, else
        the cluster that ``ray start`` began on this machine, else one that ends with the run.
    replicas : int
        How many there will be at a time; at least 1.
    gpus : float
        GPUs of each: a whole number, or a share of one GPU. With 0 they see none.
    """

    def __init__(self, address: str, replicas: int, gpus: float) -> None:
        self._address, self._replicas, self._gpus = address, replicas, gpus
        self._ray: Any = None
        self._connected = False  # by us, to be undone by us

    def check(self) -> None:
        """Connect, or start Ray on this machine; raise if it has no room for the replicas."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        self._ray = need("ray", "ray", "replicas on Ray")
        if not self._ray.is_initialized():
            self._connect()
        resources = self._ray.cluster_resources()
        cores, there = resources.get("CPU", 0), resources.get("GPU", 0)
        if cores < self._replicas or there < self._replicas * self._gpus:
            self.close()
            raise TomevalError(
                f"--replicas {self._replicas}, with 1 core and {self._gpus:g} GPUs each: Ray has "
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
            last = excerpt((str(error).strip() or type(error).__name__).splitlines()[-1], 200)
            if getattr(error, "actor_init_failed", False):
                raise TomevalError(f"tomeval cannot be used on a node of Ray: {last}") from None
            raise Lost(last) from None

    def stop(self, actor: Any) -> None:
        """End the process of an actor."""
        self._ray.kill(actor)

    def close(self) -> None:
        """End all replicas, and the Ray that was started or connected to."""
        if self._connected:
            self._ray.shutdown()
            self._connected = False
