"""Replicas as actors of Ray: find a cluster, see whether it can hold them, start them."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.extras import need
from tomeval.core.text import excerpt
from tomeval.extensions.cluster.player import Player, Setting
from tomeval.extensions.cluster.replicas import Lost

logger = logging.getLogger(__name__)

EXTRA = "ray"
CORES = 1
"""Cores that Ray sets aside for a replica; it takes so many threads."""

KNOCK = 5.0
"""Seconds for an address to answer: Ray itself would try for two minutes."""

_HEAD = (
    "give the address that `ray start --head` printed, HOST:PORT (6379, unless --port said "
    "otherwise), and run on a machine of that cluster"
)


def library() -> Any:
    """Import Ray and return it.

    What it would print between our lines is switched off: losses are told by the driver, and the
    output of replicas is in the logs that Ray keeps on their nodes.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "5")  # a second each; 20 by default
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")  # read once, when Ray is imported
    return need("ray", EXTRA, "replicas on Ray")


def find(address: str) -> str | None:
    """Return the address to give to Ray, of ``--engine ray:ADDRESS``.

    ``HOST:PORT``, ``local``, ``auto``, or None for an empty one, where Ray takes what RAY_ADDRESS
    names, else the cluster that ``ray start`` began on this machine, else one that ends with the
    run. A `TomevalError` if it is in another form, or nothing answers there.
    """
    if address in ("", "auto", "local"):
        return address or None
    _knock(address)
    return address


def _knock(address: str) -> None:
    """Raise if no server listens at an address: Ray itself would try for two minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535 or "/" in host:
        raise TomevalError(f"--engine ray:{address}: this is not HOST:PORT; {_HEAD}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except OSError as error:
        raise TomevalError(
            f"--engine ray:{address}: no server answers there ({error.strerror or error}); {_HEAD}"
        ) from None


def connect(ray: Any, address: str | None) -> None:
    """Connect this process to Ray at an address of `find`, or start it.

    Raises
    ------
    TomevalError
        It cannot be connected to, as when its version is another one, or started.
    """
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL, "include_dashboard": False}
    try:
        with _handlers_kept():
            ray.init(address=address, **quiet)
    except Exception as error:  # noqa: BLE001 (Ray raises whatever its parts do)
        ray.shutdown()  # of what was started before it failed
        why = excerpt(" ".join(f"{error}".split()) or type(error).__name__, 300)
        raise TomevalError(f"--engine ray:{address or ''}: Ray cannot be used: {why}") from None


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Put back the handlers of signals that Ray replaces: a run decides itself how it stops."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def room(resources: Mapping[str, float], gpus: float) -> int:
    """Return how many replicas a node with these resources can hold.

    Examples
    --------
    >>> room({"CPU": 8.0, "GPU": 4.0}, 2), room({"CPU": 8.0, "GPU": 4.0}, 0.5)
    (2, 8)
    >>> room({"CPU": 8.0, "GPU": 1.0}, 0.4), room({"CPU": 8.0}, 0), room({"CPU": 8.0}, 1)
    (2, 8, 0)
    """
    places = int(resources.get("CPU", 0) // CORES)
    if not gpus:
        return places
    here = int(resources.get("GPU", 0))  # a replica's share is of one GPU
    return min(places, here // int(gpus) if gpus >= 1 else here * int(1 / gpus + 1e-9))


def check_room(nodes: Sequence[Mapping[str, Any]], replicas: int, gpus: float) -> None:
    """Raise if replicas, with so many GPUs each, cannot all have a place, even if nothing else ran.

    `nodes` is what ``ray.nodes()`` returns.
    """
    alive = [node["Resources"] for node in nodes if node["Alive"]]
    most = sum(room(resources, gpus) for resources in alive)
    if most < replicas:
        have = ", ".join(f"{n.get('CPU', 0):g} cores, {n.get('GPU', 0):g} GPUs" for n in alive[:8])
        raise TomevalError(
            f"--replicas {replicas}, with {CORES} core and {gpus:g} GPUs each: Ray has room for "
            f"{most} ({have}); lower --replicas or --gpus-per-replica"
        )


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
        self._shared: Any = None

    def check(self) -> None:
        """Connect, or start Ray on this machine; raise if it has no room for the replicas."""
        ray = library()
        if not ray.is_initialized():
            connect(ray, find(self._address))
            self._connected = True
        self._ray = ray
        try:
            check_room(ray.nodes(), self._replicas, self._gpus)
        except BaseException:
            self.close()
            raise

    def start(self, number: int, setting: Setting) -> RayReplica:
        """Start an actor; while the cluster has no place for it, it waits for one."""
        kind = self._ray.remote(Player).options(
            num_cpus=CORES,
            num_gpus=self._gpus,
            max_restarts=0,  # the driver starts another one, which it asks to open models
            max_task_retries=0,
            max_concurrency=setting.concurrency + 10,  # what it holds, and news
            scheduling_strategy="SPREAD",
        )
        if self._shared is None:  # all replicas share one copy
            self._shared = self._ray.put(setting)
        return RayReplica(self._ray, kind.remote(self._shared, self._gpus))

    def wait(self, asked: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Return what has been answered, or is lost."""
        if not asked:
            time.sleep(seconds)
            return []
        self._ray.wait(list(asked), num_returns=1, timeout=seconds)
        done: list[Any] = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)[0]
        return done

    def result(self, asked: Any) -> Any:
        """Return an answer; raise what the player raised, or `Lost`."""
        from ray.exceptions import RayError, RaySystemError, RayTaskError

        try:
            return self._ray.get(asked)
        except RayTaskError as error:
            if isinstance(error.cause, TomevalError | RuntimeError):
                raise error.cause from None
            raise RuntimeError(str(error)) from None
        except RaySystemError as error:
            raise RuntimeError(str(error)) from None
        except RayError as error:
            if getattr(error, "actor_init_failed", False):
                why = str(error).strip().splitlines()[-1]
                raise TomevalError(f"tomeval cannot be used on a node of Ray: {why}") from None
            raise Lost(reason(error)) from None

    def close(self) -> None:
        """End all replicas, and the Ray that was started or connected to."""
        self._shared = None
        if self._connected:
            self._ray.shutdown()
            self._connected = False


class RayReplica:
    """An actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the player."""
        return getattr(self._actor, method).remote(*arguments)

    def stop(self) -> None:
        """End its process."""
        self._ray.kill(self._actor)


def reason(error: Exception) -> str:
    """Return in Ray's words why it lost an actor, or an answer of it: the last line that it has."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return excerpt(lines[-1].strip(), 200)
