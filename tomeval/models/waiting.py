"""State of a served model's client, for the progress display."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Literal

from tomeval.models.base import Stopped

SILENT = 30.0
"""Seconds without a reply after which that is worth saying."""


@dataclass
class Waiting:
    """The state of one server; one for each model.

    Attributes
    ----------
    model : str
        What its model is called in lines that people read, without an address; may be empty.
    shown : str
        Where it is seen already, so that the log need not repeat it: ``field`` (a field that is
        updated), ``lines`` (a line now and then), or empty.
    retries : int
        Attempts at a request beyond its first.
    trouble : str
        What came in place of the last reply that did not come, such as ``HTTP 429: slow down``.
    until : float
        When the first of the requests that failed is sent again, by `time.monotonic`.
    under_way : int
        Requests that have no reply yet.
    heard : float
        When a reply came last, or the first of these requests was made.
    at_a_time : int
        So many requests are made at a time.
    patience : float
        Seconds after which a request that is under way is given up.
    stopped : bool
        Whether nothing is sent any more.
    """

    model: str = ""
    shown: Literal["", "field", "lines"] = ""
    retries: int = 0
    trouble: str = ""
    until: float = -math.inf
    under_way: int = 0
    heard: float = math.inf
    at_a_time: int = 0
    patience: float = 0.0
    stopped: bool = False
    _waits: set[asyncio.Future[Any]] = field(default_factory=set)
    _again: list[float] = field(default_factory=list)

    def stop(self) -> None:
        """Have nothing sent any more; what waits to be sent ends at once."""
        self.stopped = True
        for wait in self._waits:
            wait.cancel()

    def check(self) -> None:
        """Raise `Stopped` if nothing is to be sent any more."""
        if self.stopped:
            raise Stopped("stopped")

    async def unless_stopped(self, wait: Awaitable[Any]) -> None:
        """Wait before something is sent; `Stopped`, at once, if it is not to be sent any more."""
        future = asyncio.ensure_future(wait)
        self._waits.add(future)
        try:
            if not self.stopped:
                await future
        except asyncio.CancelledError:
            if not self.stopped:
                raise
        finally:
            self._waits.discard(future)
            future.cancel()
        self.check()

    def pauses(self, trouble: str, until: float) -> None:
        """Record that a request waits to be sent again."""
        self.trouble = trouble
        self.retries += 1
        self._again.append(until)
        self.until = min(self._again)

    def resumes(self, until: float) -> None:
        """Record that it no longer waits."""
        self._again.remove(until)
        self.until = min(self._again, default=-math.inf)

    def replied(self, now: float) -> None:
        """Record a reply; other requests may still wait because of earlier trouble."""
        self.heard = now
        if not self._again:
            self.trouble = ""

    def line(self, now: float | None = None) -> str:
        """Return why the client waits, without its name; empty if it does not.

        Examples
        --------
        >>> Waiting(trouble="HTTP 429: slow down", until=40, under_way=3, at_a_time=8).line(now=2)
        'retrying in 38 s; HTTP 429: slow down; 3 requests under way, 8 at a time'
        >>> Waiting(under_way=1, heard=100).line(now=145)
        'no reply for 45 s; 1 request under way'
        >>> Waiting(under_way=1, heard=100).line(now=110)
        ''
        """
        now = time.monotonic() if now is None else now
        plural = "" if self.under_way == 1 else "s"
        many = f"{self.under_way:,} request{plural} under way"
        if self.until > now and self.trouble:
            limit = f", {self.at_a_time:,} at a time" if self.at_a_time else ""
            return f"retrying in {math.ceil(self.until - now):,} s; {self.trouble}; {many}{limit}"
        if self.under_way and now - self.heard >= SILENT:
            seen = f"; last: {self.trouble}" if self.trouble else ""
            return f"no reply for {now - self.heard:,.0f} s; {many}{seen}"
        return ""
