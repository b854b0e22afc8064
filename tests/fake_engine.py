"""A cluster whose replicas are real players in threads of this process, and are lost on demand.

All that is sent either way is pickled and read again, as between machines.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.extensions import cluster as engine
from tomeval.extensions.cluster import Lost, RayEngine
from tomeval.extensions.cluster.replicas import Player, Setting

engine.TURN = 0.02  # no test waits a second for the end

Change = Callable[["FakeReplica", str, Any], Any]
"""What may change an answer on its way, given the method that was called."""


def carried(what):
    """Return a thing as it comes out at the other end."""
    return pickle.loads(pickle.dumps(what))


class FakeReplica:
    """A player in a thread with a loop; `number` counts those that were started."""

    def __init__(self, number: int, setting: Setting) -> None:
        self.number = number
        self.lost = False
        self.player = Player(carried(setting))
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.loop.run_forever()
        for task in (rest := asyncio.all_tasks(self.loop)):
            task.cancel()
        if rest:
            self.loop.run_until_complete(asyncio.wait(rest))
        self.loop.close()

    def stop(self) -> None:
        if not self.lost:  # a second time would stop the loop while its thread clears up
            self.lost = True
            self.loop.call_soon_threadsafe(self.loop.stop)


class FakeEngine(RayEngine):
    """Starts players in threads.

    Parameters
    ----------
    kills : collection of int
        By the number of an answer over all replicas, from 1: the replica that
        gives it is lost before the driver hears it.
    change : callable
        Changes answers on their way.
    """

    def __init__(self, kills: Sequence[int] = (), change: Change = lambda who, what, it: it):
        super().__init__("", 2, 0.0)
        self.kills, self.change = set(kills), change
        self.said = 0
        self.started: list[FakeReplica] = []
        self.closed = False

    def check(self) -> None:
        """Refuse nothing."""

    def start(self, setting: Setting, episodes: int) -> FakeReplica:
        self.started.append(FakeReplica(len(self.started), setting))
        return self.started[-1]

    def stop(self, who: FakeReplica) -> None:
        who.stop()

    async def call(self, who: FakeReplica, method: str, *arguments: Any) -> Any:
        if who.lost:
            raise Lost("killed before")
        call = getattr(who.player, method)(*carried(arguments))
        asked = asyncio.run_coroutine_threadsafe(call, who.loop)
        while not (asked.done() or who.lost):
            await asyncio.sleep(0.002)
        if not who.lost:
            self.said += 1
            if self.said in self.kills:
                who.stop()
        answer = None if who.lost else self.change(who, method, carried(self.answer(asked)))
        if who.lost:
            raise Lost(f"killed at answer {self.said}")
        return answer

    @staticmethod
    def answer(asked: Future[Any]) -> Any:
        try:
            return asked.result()
        except TomevalError:
            raise
        except Exception as error:  # noqa: BLE001 (as Ray raises it)
            said = "".join(traceback.format_exception(error))
            raise RuntimeError(f"a program error on a replica: {said}") from None

    def close(self) -> None:
        self.closed = True
        for replica in self.started:
            replica.stop()
        for thread in self.threads():
            thread.join(20)

    def threads(self) -> list[threading.Thread]:
        """Return the threads of players that have not ended."""
        return [r.thread for r in self.started if r.thread.is_alive()]
