"""How many requests may be under way at a server at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress

from tomeval.models.waiting import Waiting

logger = logging.getLogger(__name__)


class AdaptiveLimiter:
    """How many requests may be under way: one more per round that goes well, half when overloaded.

    Requests that were sent before the limit was last halved do not halve it again, so one burst of
    refusals counts once. `ceiling` is the limit to begin with and never to pass; `name` says in the
    log what is limited, `waiting` is told the limit.
    """

    def __init__(self, ceiling: int, name: str = "", waiting: Waiting | None = None) -> None:
        self.limit = float(ceiling)
        self._ceiling = ceiling
        self._name = name
        self._told = waiting or Waiting()
        self._told.at_a_time = ceiling
        self._running = 0
        self._round = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self, *, first: bool = False) -> int:
        """Wait for a place, in front of the queue if `first`; return the round for `overloaded`."""
        if self._running < int(self.limit) and (first or not self._waiting):
            self._running += 1
            return self._round
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with suppress(ValueError):
                    self._waiting.remove(waiter)
            else:  # the place had just been handed over
                self.release()
            raise
        return self._round

    def release(self) -> None:
        """Give a place back."""
        self._running -= 1
        self._wake()

    def succeeded(self) -> None:
        """Note a reply."""
        self._change(min(self._ceiling, self.limit + 1 / self.limit))
        self._wake()

    def overloaded(self, round_: int) -> None:
        """Note that a request which started in `round_` met an overloaded server."""
        if round_ == self._round:
            self._round += 1
            self._change(max(1.0, self.limit / 2))

    def _change(self, limit: float) -> None:
        before, self.limit = int(self.limit), limit
        if int(limit) != before:
            self._told.at_a_time = int(limit)
            logger.info("%s: requests at a time: %d -> %d", self._name, before, int(limit))

    def _wake(self) -> None:
        while self._waiting and self._running < int(self.limit):
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._running += 1
                waiter.set_result(None)
