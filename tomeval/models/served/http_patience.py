"""How much is asked of a server at a time, how long it is waited for, and when it is given up.

Nobody waits in silence: after `SOON` seconds without a reply, or with one request that keeps
failing, a line says what the server does and how long it is waited for. Requests that nobody
answers are given up one by one; after `IN_A_ROW` of them the server counts as gone. Replies that
came and cannot be used say nothing of the kind: they may be those to one prompt, and fail their
episode only.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from tomeval.models.base import BackendError, Reply, Scores, Stopped, Unusable
from tomeval.models.served.http_reading import Refused, Trouble, Unanswered
from tomeval.models.waiting import SILENT, Waiting

logger = logging.getLogger(__name__)

SOON = SILENT
"""Seconds of waiting after which a line is shown; the least between two lines of one server."""

IN_A_ROW = 3
"""The number of unanswered requests in a row after which the server counts as gone."""

UNUSABLE_PATIENCE = 30.0
"""Seconds for replies that came, and are paid for, but cannot be used."""

_FIRST_DELAY, _LONGEST_DELAY = 1.0, 60.0  # seconds; a minute, because rate limits are per minute
_LEAST_ASKED = 0.01  # seconds; a server that asks for less has said nothing
_SHORT, _AT_WORD = 1.0, 5  # seconds, of which so many waits are as asked, further ones longer
_MOST_JITTER = 10.0  # seconds on top of what a server asks for
_FIRST_CONTACT = 5.0  # seconds in which a server that is not there may come up
_TEST_PATIENCE = 60.0  # seconds for a fault during the start-up test, unless it asks for waiting
_RAREST = 600.0  # seconds between two lines in a long silence

# A refusal of one request says nothing of the next one; these are about the address.
_NOWHERE = (301, 302, 303, 307, 308, 404, 405, 410)

T = TypeVar("T", Reply, Scores)


class ServerGone(Stopped):
    """A server no longer answers. Earlier answers are kept; the same command continues."""


@dataclass(frozen=True)
class Timing:
    """The clock, the sleep and the chance that retries use; tests put in their own."""

    # Seconds from any start, and seconds since 1970.
    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    # A number from 0 to 1, for jitter. Nothing that is measured depends on it.
    random: Callable[[], float] = field(default_factory=lambda: random.Random().random)


def delay(asked: float | None, attempt: int, chance: float) -> float:
    """Return the seconds to wait after a failed attempt: as asked, else longer each time.

    Examples
    --------
    >>> [delay(None, attempt, 1.0) for attempt in (1, 2, 3, 9)]
    [1.0, 2.0, 4.0, 60.0]
    >>> delay(20.0, 1, 1.0), delay(0.0, 3, 1.0)
    (22.0, 4.0)
    >>> [delay(0.02, attempt, 0.0) for attempt in (1, 5, 7, 99)]
    [0.02, 0.02, 0.08, 1.0]
    """
    if asked is not None and asked >= _LEAST_ASKED:
        if asked < _SHORT:  # a server that keeps saying so is not asked a thousand times
            asked = min(_SHORT, asked * 2.0 ** min(max(attempt - _AT_WORD, 0), 10))
        return asked + min(0.1 * asked, _MOST_JITTER) * chance
    longest = min(_LONGEST_DELAY, _FIRST_DELAY * 2.0 ** min(attempt - 1, 10))
    return longest * (0.5 + 0.5 * chance)


def startup_patience(trouble: Trouble, attempt: int) -> float:
    """Return the seconds after which the start-up test gives up on a failure.

    An internal error and a web page are seen twice and not waited out.
    """
    if attempt > 1 and (trouble.status == 500 or trouble.page):
        return 0.0
    if trouble.absent:
        return _FIRST_CONTACT
    return math.inf if trouble.status == 429 or trouble.wait is not None else _TEST_PATIENCE


class Patience:
    """What one server is given: time, further attempts, and an end.

    `name` is its base URL, for errors; notes call it as `told` does. `budget` has the seconds after
    which a request is given up, `timeout` those that one attempt may take. `told` is kept up to
    date for those who show it.
    """

    def __init__(
        self, name: str, budget: float, timeout: float, timing: Timing, told: Waiting | None = None
    ) -> None:
        self.name, self.budget, self._timeout, self._timing = name, budget, timeout, timing
        self.told = told or Waiting()
        self.told.patience = timeout
        self._given_up = 0  # requests in a row
        self._gone: ServerGone | None = None
        self._told_at = -math.inf
        self._every = SOON
        self._timer: asyncio.TimerHandle | None = None

    async def insist(self, work: Callable[[], Awaitable[T]]) -> T:
        """Ask until the reply can be used; `work` sends the request and reads the reply.

        How many replies could not be used is in its details, as ``unusable``.
        Raises the error of `work` when there is no patience left, and `ServerGone` once the server
        answers nobody.
        """
        if self._gone is not None:
            raise self._gone
        started, attempt = self._timing.monotonic(), 0
        try:
            while True:
                attempt += 1
                try:
                    reply = await work()
                except Unusable as error:
                    wait = delay(None, attempt, self._timing.random())
                    spent = self._timing.monotonic() - started
                    if spent + wait > min(self.budget, UNUSABLE_PATIENCE):
                        raise
                    await self.pause(str(error), spent, wait)
                else:
                    self._given_up = 0
                    if attempt > 1:
                        reply.details["unusable"] = attempt - 1
                    return reply
        except BackendError as error:
            self._judge(error)
            raise

    def _judge(self, error: BackendError) -> None:
        """Note what became of a request; `ServerGone` if too many in a row were not answered."""
        nowhere = isinstance(error, Refused) and error.status in _NOWHERE
        if not (nowhere or isinstance(error, Unanswered)):
            self._given_up = 0  # the server is there
            return
        self._given_up += 1
        if self._given_up >= IN_A_ROW:
            self._gone = self._gone or ServerGone(
                f"{self.said}: {self._given_up} requests in a row were not answered, so the run "
                f"stops; run the same command again to continue. The last error: {error}"
            )
            raise self._gone from None

    @property
    def said(self) -> str:
        """What notes call the server: its model, if that has a name."""
        return self.told.model or self.name

    async def pause(self, trouble: str, spent: float, wait: float) -> None:
        """Wait before a request is sent again; tell why if that takes long."""
        logger.info("%s: %s; retrying in %.1f s", self.said, trouble, wait)
        if spent + wait > SOON:
            self._tell(f"{trouble}; retrying in {wait:.0f} s")
        until = time.monotonic() + wait
        self.told.pauses(trouble, until)
        try:
            await self.told.unless_stopped(self._timing.sleep(wait))
        finally:
            self.told.resumes(until)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Watch for silence while a request is under way."""
        told = self.told
        if not told.under_way:
            told.heard, told.trouble, self._every = time.monotonic(), "", SOON
            self._timer = asyncio.get_running_loop().call_later(SOON, self._listen)
        told.under_way += 1
        try:
            yield
        finally:
            told.under_way -= 1
            if not told.under_way and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def heard(self) -> None:
        """Note a reply."""
        self._every = SOON
        self.told.replied(time.monotonic())

    def _listen(self) -> None:
        """Tell of a silence, each time after twice as long."""
        silent = time.monotonic() - self.told.heard
        if silent >= self._every - 0.1:
            seen = (
                self.told.trouble or f"each times out after {self._timeout:.0f} s (option timeout)"
            )
            plural = "" if self.told.under_way == 1 else "s"
            wait = f"{self.told.under_way} request{plural} under way"
            self._tell(f"no reply for {silent:.0f} s, {wait}; {seen}")
            self._every = min(2 * self._every, silent + _RAREST)
        due = max(1.0, self._every - silent)
        self._timer = asyncio.get_running_loop().call_later(due, self._listen)

    def _tell(self, what: str) -> None:
        now, told = time.monotonic(), self.told
        if told.shown == "field" or (told.shown == "lines" and self._told_at > told.heard):
            return  # who shows it says so from now on
        if now - self._told_at >= SOON - 1:
            self._told_at = now
            logger.warning("%s: %s", self.said, what)


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
            await self._told.unless_stopped(waiter)
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
