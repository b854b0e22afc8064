"""A cluster whose replicas are real workers in threads of this process, and are lost on demand.

All that is sent either way is pickled and read again, as between machines.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from tomeval.extensions.cluster.driver import Replicated
from tomeval.extensions.cluster.messages import Lost, Message, Order, Setting
from tomeval.extensions.cluster.worker import Worker

Change = Callable[["FakeReplica", Message], "Message | list[Message]"]
"""What may change a message on its way, or make several of it."""


def carried(what):
    """Return a thing as it comes out at the other end."""
    return pickle.loads(pickle.dumps(what))


class FakeReplica:
    """A worker in a thread; `number` is that of its place, `life` counts the replicas of that."""

    def __init__(self, engine: FakeCluster, number: int, life: int, setting: Setting) -> None:
        self.engine, self.number, self.life = engine, number, life
        self.name = f"replica {number + 1}"
        self.note = ""
        self.lost = self.mute = False
        self.said = 0
        self.worker = Worker(carried(setting))
        self._under_way: Future[list[Message]] | None = None

    def send(self, orders: Sequence[Order]) -> None:
        assert self._under_way is None, "one question at a time"
        given = carried(list(orders))
        self._under_way = self.engine.pool.submit(self.worker.exchange, given)

    @property
    def waiting(self) -> Future[list[Message]]:
        assert self._under_way is not None
        return self._under_way

    def answer(self) -> list[Message]:
        if self.lost:
            raise Lost(f"killed at message {self.said}")
        messages, self._under_way = self.waiting.result(), None
        told: list[Message] = []
        for message in messages:
            self.engine.said += 1
            self.said = self.engine.said
            if self.engine.said in self.engine.kills:
                self.stop()  # what it said before may still have been heard
                if not told:
                    raise Lost(f"killed at message {self.engine.said}")
                break
            heard = self.engine.change(self, message)
            told += carried(heard if isinstance(heard, list) else [heard])
            if self.lost:
                break
        return told

    def stop(self) -> None:
        self.lost = True
        self.worker.close()


class FakeEngine(Replicated):
    """The engine of a `FakeCluster`, whose attributes it has."""

    def __init__(self, *arguments, replicas: int = 2, **named) -> None:
        self.cluster = FakeCluster(*arguments, **named)
        super().__init__(self.cluster, replicas)

    def __getattr__(self, name):
        return getattr(self.cluster, name)


class FakeCluster:
    """Starts workers in threads.

    Parameters
    ----------
    kills : collection of int
        By the number of a message over all replicas, from 1: the replica that says it is lost
        before the driver hears that one, and what it said after it.
    change : callable
        Changes messages on their way.
    """

    def __init__(self, kills: Sequence[int] = (), change: Change = lambda who, it: it) -> None:
        self.kills, self.change = set(kills), change
        self.said = 0
        self.replicas: list[FakeReplica] = []
        self.pool = ThreadPoolExecutor(32)
        self.closed = False

    def check(self) -> None:
        """Refuse nothing."""

    def start(self, number: int, setting: Setting) -> FakeReplica:
        life = sum(replica.number == number for replica in self.replicas)
        self.replicas.append(FakeReplica(self, number, life, setting))
        return self.replicas[-1]

    def wait(self, replicas: Sequence[FakeReplica], seconds: float) -> list[FakeReplica]:
        asked = [replica for replica in replicas if not replica.mute]
        if not asked:
            time.sleep(seconds)
        gone = [replica for replica in asked if replica.lost]
        if gone:
            return gone
        done, _ = wait([r.waiting for r in asked], seconds, return_when=FIRST_COMPLETED)
        return [replica for replica in asked if replica.waiting in done]

    def close(self) -> None:
        self.closed = True
        for replica in self.replicas:
            replica.stop()
        for thread in self.threads():
            thread.join(20)
        self.pool.shutdown()

    def threads(self) -> list[threading.Thread]:
        """Return the threads of workers that have not ended."""
        return [r.worker._thread for r in self.replicas if r.worker._thread.is_alive()]
