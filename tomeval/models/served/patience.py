"""How long a server is waited for, what is told of that, and when it is given up."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tomeval.models.base import BackendError, Damaged, Reply, Scores, Unusable
from tomeval.models.served.faults import Refused, ServerGone, Trouble, Unanswered
from tomeval.models.waiting import SILENT, Waiting

logger = logging.getLogger(__name__)

IN_A_ROW = 3
"""The number of unanswered requests in a row after which the server counts as gone."""

_AGAIN = (1.0, 2.0, 4.0, 8.0)  # seconds before a reply that cannot be used is asked for again
_QUICK, _TEST_PATIENCE = 5.0, 40.0  # seconds for a fault at the start, unless it asks for waiting

# A refusal of one request says nothing of the next one; these are about the address.
_NOWHERE = (301, 302, 303, 307, 308, 404, 405, 410)

T = TypeVar("T", Reply, Scores)


def startup_patience(trouble: Trouble) -> float:
    """Return the seconds after which the start-up test gives up on a failure."""
    quick = trouble.absent or trouble.page or trouble.status == 500
    return _QUICK if quick else math.inf if trouble.status == 429 else _TEST_PATIENCE


class Patience:
    """What one server is given: further attempts, and an end.

    `address` names it where its model has no name; `waiting` is kept up to date for its readers.
    """

    def __init__(self, address: str, budget: float, waiting: Waiting) -> None:
        self.waiting = waiting
        self._waits = [wait for wait in _AGAIN if wait <= budget]
        self._unanswered = 0  # requests in a row
        self._gone: ServerGone | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.name = waiting.model or address  # in notes

    async def insist(self, work: Callable[[], Awaitable[T]]) -> T:
        """Ask until the reply can be used; `work` sends the request and reads the reply.

        How many replies could not be used is in its details, as ``unusable``. Raises the error of
        `work` when there is no patience left, and `ServerGone` once the server answers nobody.
        """
        if self._gone is not None:
            raise self._gone
        for attempt in range(len(self._waits) + 1):
            try:
                reply = await work()
            except (Unusable, Damaged) as error:
                self._unanswered = 0
                if attempt == len(self._waits):
                    raise
                await self.wait(str(error), self._waits[attempt])
            except BackendError as error:
                self._judge(error)
                raise
            else:
                break
        self._unanswered = 0
        if attempt:
            reply.details["unusable"] = attempt
        return reply

    def _judge(self, error: BackendError) -> None:
        """Note what became of a request; `ServerGone` if too many in a row were not answered."""
        nowhere = isinstance(error, Refused) and error.status in _NOWHERE
        if not (nowhere or isinstance(error, Unanswered)):
            self._unanswered = 0  # the server is there
            return
        self._unanswered += 1
        if self._unanswered >= IN_A_ROW:
            self._gone = self._gone or ServerGone(
                f"{self.name}: {self._unanswered} requests in a row were not answered, so the run "
                f"stops; run the same command again to continue. The last error: {error}"
            )
            raise self._gone from None

    async def wait(self, trouble: str, seconds: float) -> None:
        """Wait before a request is sent again; `Stopped`, at once, if it is not to be sent."""
        logger.info("%s: %s; retrying in %.1f s", self.name, trouble, seconds)
        until = time.monotonic() + seconds
        self.waiting.pauses(trouble, until)
        try:
            await self.waiting.unless_stopped(asyncio.sleep(seconds))
        finally:
            self.waiting.resumes(until)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Tell of a long silence while a request is under way."""
        waiting = self.waiting
        if not waiting.under_way:
            waiting.heard, waiting.trouble = time.monotonic(), ""
            self._look(SILENT)
        waiting.under_way += 1
        try:
            yield
        finally:
            waiting.under_way -= 1
            if not waiting.under_way and self._timer is not None:
                self._timer.cancel()

    def _look(self, silence: float) -> None:
        """Tell of a silence that is long enough; of the next one after twice as long."""
        silent = time.monotonic() - self.waiting.heard
        if silent >= silence:
            silence *= 2
            if self.waiting.shown != "field":  # which shows it
                logger.warning("%s: %s", self.name, self.waiting.line())
        elif silent < SILENT:
            silence = SILENT
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(1.0, silence - silent), self._look, silence)
