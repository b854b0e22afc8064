"""Replicas as actors of Ray: find a cluster, see whether it can hold them, start them.

Each failure is one line, and none takes longer than half a minute.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
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

KNOCK, CONNECT = 5.0, 20.0
"""Seconds for an address to answer, and for Ray to connect."""

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
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".*")  # read once, when Ray is imported
    return need("ray", EXTRA, "replicas on Ray")


def find(address: str) -> str:
    """Return the address to connect to, or ``local``: Ray is to be started on this machine.

    Parameters
    ----------
    address : str
        ``HOST:PORT``; ``local``; ``auto``, a cluster that runs already; or empty, as Ray itself
        does it: the environment variable RAY_ADDRESS, else the cluster that ``ray start`` began
        last on this machine, else a Ray of this machine that ends with the run.

    Raises
    ------
    TomevalError
        There is none, or it is not in this form, or nothing answers there.
    """
    if address in ("", "auto"):
        said = os.environ.get("RAY_ADDRESS", "")
        running = _started_here() if said in ("", "auto") else said
        if not running and "auto" in (address, said):
            raise TomevalError(
                "--engine ray: no cluster runs on this machine (`ray start --head` starts one), "
                "and the environment variable RAY_ADDRESS is not set"
            )
        address = running or "local"
    if address != "local":
        _knock(address)
    return address


def _started_here() -> str:
    """Return the address of the cluster that was started last on this machine; empty: none runs."""
    folder = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    try:
        address = Path(folder, "ray", "ray_current_cluster").read_text(encoding="utf-8").strip()
        _knock(address)
    except (OSError, TomevalError):  # the file stays when a cluster is killed
        return ""
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


_CONNECT = """
import sys
import ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="CRITICAL")
except Exception as error:
    print(" ".join(f"{error}".split()))
    sys.exit(1)
"""


def connect(ray: Any, address: str) -> None:
    """Connect this process to Ray at an address of `find`, or start it.

    Raises
    ------
    TomevalError
        It cannot be connected to, as when its version is another one, or started.
    """
    local = address == "local"
    if not local:
        _try_to_connect(address)
    try:
        with _handlers_kept():
            ray.init(
                address=address,
                include_dashboard=False if local else None,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
            )
    except Exception as error:  # noqa: BLE001 (Ray raises whatever its parts do)
        ray.shutdown()  # of what was started before it failed
        what = "Ray cannot be started on this machine" if local else "cannot connect"
        why = excerpt(" ".join(f"{error}".split()) or type(error).__name__, 300)
        raise TomevalError(f"--engine ray:{address}: {what}: {why}") from None


def _try_to_connect(address: str) -> None:
    """Connect in another process first, which can be ended when it hangs."""
    command = [sys.executable, "-c", _CONNECT, address]
    few = os.environ | {"RAY_NUM_REDIS_GET_RETRIES": "5"}  # a second each; 20 by default
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=CONNECT, check=False, env=few
        )
    except subprocess.TimeoutExpired:
        raise TomevalError(
            f"--engine ray:{address}: no head of a Ray cluster answers there within "
            f"{CONNECT:.0f} s, though something listens; {_HEAD}"
        ) from None
    if "InvalidAuthToken" in done.stdout + done.stderr:
        raise TomevalError(
            f"--engine ray:{address}: the cluster requires a token: set RAY_AUTH_MODE=token in the "
            "environment, and copy the head's ~/.ray/auth_token to this machine"
        )
    if done.returncode:
        why = done.stdout.strip() or (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise TomevalError(f"--engine ray:{address}: cannot connect: {why}")


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
    rooms = {n["NodeID"]: room(n["Resources"], gpus) for n in nodes if n["Alive"]}
    if (most := sum(rooms.values())) >= replicas:
        return
    each = f"{CORES} core" + (f" and {gpus:g} GPU{'s' * (gpus > 1)}" if gpus else "")
    have = ", ".join(
        f"{n['NodeManagerHostname']} {n['Resources'].get('CPU', 0):g} cores, "
        f"{n['Resources'].get('GPU', 0):g} GPUs"
        for n in list(nodes)[:8]
        if n["Alive"]
    )
    lower = f"lower --replicas{' or --gpus-per-replica' if gpus else ''}"
    if gpus and not any(n["Resources"].get("GPU") for n in nodes if n["Alive"]):
        lower = "no node has a GPU: without --gpus-per-replica, models run on the CPU"
    more = f" and {len(rooms) - 8} more nodes" if len(rooms) > 8 else ""
    raise TomevalError(
        f"--replicas {replicas}, with {each} each: Ray has room for {most} ({have}{more}); {lower}"
    )


STARTS = 15.0
"""Seconds that a process takes to start, at most; one that takes longer waits for something."""


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
        return RayReplica(self._ray, kind.remote(self._shared, self._gpus), self._gpus)

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

    def __init__(self, ray: Any, actor: Any, gpus: float) -> None:
        self._ray, self._actor, self._gpus = ray, actor, gpus
        self._since = time.monotonic()

    @property
    def note(self) -> str:
        """What keeps it from starting."""
        if time.monotonic() < self._since + STARTS:
            return ""
        free = room(self._ray.available_resources(), self._gpus)
        return "" if free else "waits for a place"

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the player."""
        return getattr(self._actor, method).remote(*arguments)

    def stop(self) -> None:
        """End its process."""
        self._ray.kill(self._actor)


_KINDS = {
    "ActorUnavailableError": "it cannot be reached",
    "ObjectLostError": "its results were lost with its node",
}
_PARTS = {
    "node has died": "its node died",
    "low on memory": "its node ran out of memory, and Ray ended it",
    "ray.kill": "it was ended",
    "process has died": "its process died: killed, out of memory, or crashed",
}


def reason(error: Exception) -> str:
    """Return in a few words why Ray lost an actor, or an answer of it.

    Examples
    --------
    >>> reason(Exception("The actor died because its node has died. Node Id: 9bd736"))
    'its node died'
    """
    if getattr(error, "preempted", False):
        return "its node was taken away"
    for kind in type(error).__mro__:
        if kind.__name__ in _KINDS:
            return _KINDS[kind.__name__]
    text = " ".join(str(error).split())
    return next((words for part, words in _PARTS.items() if part in text), text[:200])
