"""Replicas as actors of Ray: each is a process in a cluster, with its share of cores and GPUs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.extensions.cluster import ray_cluster
from tomeval.extensions.cluster.driver import Replicated
from tomeval.extensions.cluster.messages import Broken, Lost, Message, Order, Replica, Setting
from tomeval.extensions.cluster.worker import Worker

STARTS = 15.0
"""Seconds that a process takes to start, at most; one that takes longer waits for something."""


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
    return Replicated(RayCluster(address, replicas, gpus), replicas)


class RayCluster:
    """Replicas on a Ray cluster.

    Parameters
    ----------
    address : str
        See `ray_cluster.find`.
    replicas : int
        How many there will be at a time; at least 1.
    gpus : float
        GPUs of each: a whole number, or a share of one GPU. With 0 they see none.
    """

    def __init__(self, address: str, replicas: int, gpus: float) -> None:
        self._address, self._replicas, self._gpus = address, replicas, gpus
        self._ray: Any = None
        self._connected = False  # by us, to be undone by us
        self._setting: Setting | None = None
        self._shared: Any = None

    def check(self) -> None:
        """Connect, or start Ray on this machine; raise if it cannot hold what was asked for."""
        ray = ray_cluster.library()
        if not ray.is_initialized():
            address = ray_cluster.find(self._address)
            ray_cluster.connect(ray, address)
            self._connected = True
        self._ray = ray
        try:
            ray_cluster.check_room(ray.nodes(), self._replicas, self._gpus)
        except BaseException:
            self.close()
            raise

    def start(self, number: int, setting: Setting) -> RayReplica:
        """Start an actor; while the cluster has no place for it, it waits for one."""
        kind = self._ray.remote(Player).options(
            num_cpus=ray_cluster.CORES,
            num_gpus=self._gpus,
            max_restarts=0,  # one that starts again by itself would know of no lease
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        if self._setting is not setting:  # all replicas share one copy
            self._setting, self._shared = setting, self._ray.put(setting)
        actor = kind.remote(self._shared, self._gpus)
        return RayReplica(self._ray, actor, self._gpus)

    def wait(self, replicas: Sequence[Replica], seconds: float) -> list[Replica]:
        """Return those that have answered, or are lost; after so many seconds perhaps none."""
        asked = {one.asked: one for one in replicas if isinstance(one, RayReplica) and one.asked}
        if not asked:
            time.sleep(seconds)
            return []
        self._ray.wait(list(asked), num_returns=1, timeout=seconds)
        done, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)
        return [asked[ref] for ref in done]

    def close(self) -> None:
        """End all replicas, and the Ray that was started or connected to."""
        if self._connected:
            self._ray.shutdown()
            self._connected = False


class RayReplica:
    """An actor, and the question that is under way."""

    def __init__(self, ray: Any, actor: Any, gpus: float) -> None:
        self._ray, self._actor, self._gpus = ray, actor, gpus
        self.asked: Any = None
        self._up, self._since = False, time.monotonic()

    @property
    def note(self) -> str:
        """What keeps it from starting."""
        if self._up or time.monotonic() < self._since + STARTS:
            return ""
        free = ray_cluster.room(self._ray.available_resources(), self._gpus)
        return "" if free else "waits for a place"

    def send(self, orders: Sequence[Order]) -> None:
        """Give orders, and ask for news."""
        self.asked = self._actor.exchange.remote(list(orders))

    def answer(self) -> list[Message]:
        """Return what it says; raise `Lost` if it is gone, or if what it said is."""
        from ray.exceptions import RayError, RaySystemError, RayTaskError

        ref, self.asked = self.asked, None
        try:
            found: list[Message] = self._ray.get(ref)
        except (RayTaskError, RaySystemError) as error:
            return [Broken("", str(error))]
        except RayError as error:
            if getattr(error, "actor_init_failed", False):
                why = str(error).strip().splitlines()[-1]
                return [Broken(f"tomeval cannot be used on its node of Ray: {why}")]
            self.stop()  # it may go on, out of reach
            raise Lost(reason(error)) from None
        self._up = True
        return found

    def stop(self) -> None:
        """End its process."""
        self._ray.kill(self._actor)


class Player:
    """What runs in the actor's process."""

    def __init__(self, setting: Setting, gpus: float) -> None:
        if not gpus:  # else all replicas of a node would share its first GPU, unknown to Ray
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self._worker = Worker(setting)

    def exchange(self, orders: Sequence[Order]) -> list[Message]:
        """Pass on."""
        return self._worker.exchange(orders)


_KINDS = {
    "ActorUnavailableError": "it cannot be reached",
    "ObjectLostError": "what it said was lost with its node",
}
_PARTS = {
    "node has died": "its node died",
    "low on memory": "its node ran out of memory, and Ray ended it",
    "ray.kill": "it was ended",
    "process has died": "its process died: killed, out of memory, or crashed",
}


def reason(error: Exception) -> str:
    """Say in a few words why Ray lost an actor, or an answer of it.

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
