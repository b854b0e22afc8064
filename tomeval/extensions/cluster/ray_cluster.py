"""Replicas as actors of Ray: find a cluster, see whether it can hold them, start them."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Mapping
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.extras import need
from tomeval.core.text import excerpt
from tomeval.extensions.cluster.player import Player, Setting

EXTRA = "ray"
KNOCK = 5.0
"""Seconds for an address to answer: Ray itself would try for two minutes."""

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "5",  # a second each; 20 by default
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # read once, when Ray is imported
}
_HEAD = (
    "give the address that `ray start --head` printed, HOST:PORT (6379, unless --port said "
    "otherwise), and run on a machine of that cluster"
)


def find(address: str) -> str | None:
    """Return the address to give to Ray, of ``--engine ray:ADDRESS``.

    ``HOST:PORT``, ``local``, ``auto``, or None for an empty one, where Ray takes what RAY_ADDRESS
    names, else the cluster that ``ray start`` began on this machine, else one that ends with the
    run. A `TomevalError` if it is in another form, or nothing answers there.
    """
    if address in ("", "auto", "local"):
        return address or None
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535 or "/" in host:
        raise TomevalError(f"--engine ray:{address}: this is not HOST:PORT; {_HEAD}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except OSError as error:
        raise TomevalError(
            f"--engine ray:{address}: no server answers there ({error.strerror or error}); {_HEAD}"
        ) from None
    return address


def connect(ray: Any, address: str | None) -> None:
    """Connect this process to Ray at an address of `find`, or start it.

    Raises
    ------
    TomevalError
        It cannot be connected to, as when its version is another one, or started.
    """
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL, "include_dashboard": False}
    ours = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if ours else ()
    before = {number: signal.getsignal(number) for number in signals}
    try:
        ray.init(address=address, **quiet)
    except Exception as error:  # noqa: BLE001 (Ray raises whatever its parts do)
        ray.shutdown()  # of what was started before it failed
        why = excerpt(" ".join(f"{error}".split()) or type(error).__name__, 300)
        raise TomevalError(f"--engine ray:{address or ''}: Ray cannot be used: {why}") from None
    finally:
        for number, handler in before.items():  # a run decides itself how it stops
            signal.signal(number, handler)


def check_room(resources: Mapping[str, float], replicas: int, gpus: float) -> None:
    """Raise if a cluster with these resources has too few for replicas with so many GPUs each."""
    cores, there = resources.get("CPU", 0), resources.get("GPU", 0)
    if cores < replicas or there < replicas * gpus:
        raise TomevalError(
            f"--replicas {replicas}, with 1 core and {gpus:g} GPUs each: Ray has {cores:g} cores "
            f"and {there:g} GPUs; lower --replicas or --gpus-per-replica"
        )


class Lost(Exception):
    """A replica is gone, with what it was playing; the text says why, as far as is known."""


class RayCluster:
    """Replicas on a Ray cluster.

    Parameters
    ----------
    address : str
        See `find`.
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
        self._ray = ray = need("ray", EXTRA, "replicas on Ray")
        if not ray.is_initialized():
            connect(ray, find(self._address))
            self._connected = True
        try:
            check_room(ray.cluster_resources(), self._replicas, self._gpus)
        except BaseException:
            self.close()
            raise

    def start(self, setting: Setting) -> Any:
        """Start an actor; while the cluster has no place for it, it waits for one."""
        kind = self._ray.remote(Player).options(
            num_cpus=1,
            num_gpus=self._gpus,
            max_restarts=0,  # the driver starts another one, which it asks to open models
            max_task_retries=0,
            max_concurrency=setting.concurrency + 10,  # what it holds, and a few more
            scheduling_strategy="SPREAD",
        )
        return kind.remote(setting, self._gpus)

    async def call(self, actor: Any, method: str, *given: Any) -> Any:
        """Call a method of the player; raise its `TomevalError`, a program's error, or `Lost`."""
        from ray.exceptions import RayError, RaySystemError, RayTaskError

        try:
            return await getattr(actor, method).remote(*given)
        except RayTaskError as error:
            if isinstance(error.cause, TomevalError):
                raise error.cause from None
            raise RuntimeError(str(error)) from None
        except RaySystemError as error:
            raise RuntimeError(str(error)) from None
        except RayError as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            if getattr(error, "actor_init_failed", False):
                raise TomevalError(
                    f"tomeval cannot be used on a node of Ray: {lines[-1]}"
                ) from None
            raise Lost(excerpt(lines[-1].strip(), 200)) from None

    def stop(self, actor: Any) -> None:
        """End the process of an actor."""
        self._ray.kill(actor)

    def close(self) -> None:
        """End all replicas, and the Ray that was started or connected to."""
        if self._connected:
            self._ray.shutdown()
            self._connected = False
