"""State of a served model's client, for the progress display."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

SILENT = 30.0
"""Seconds without a reply after which that is worth saying."""


@dataclass
class Waiting:
    """The state of one server; one for each model.

    Attributes
    ----------
    model : str
        What its model is called in lines that people read, without an address; may be empty.
    retries : int
        Attempts at a request beyond its first.
    trouble : str
        What came in place of the last reply that did not come, such as ``HTTP 429: slow down``.
    until : float
        When a request that failed is sent again, by `time.monotonic`.
    under_way : int
        Requests that have no reply yet.
    heard : float
        When a reply came last, or the first of these requests was made.
    """

    model: str = ""
    retries: int = 0
    trouble: str = ""
    until: float = -math.inf
    under_way: int = 0
    heard: float = math.inf

    def line(self, now: float | None = None) -> str:
        """Return why the client waits, without its name; empty if it does not.

        Examples
        --------
        >>> Waiting(trouble="HTTP 429: slow down", until=40, under_way=3).line(now=2)
        'retrying in 38 s; HTTP 429: slow down; 3 requests under way'
        >>> Waiting(under_way=1, heard=100).line(now=145)
        'no reply for 45 s; 1 request under way'
        >>> Waiting(under_way=1, heard=100).line(now=110)
        ''
        """
        now = time.monotonic() if now is None else now
        many = f"{self.under_way:,} request{'' if self.under_way == 1 else 's'} under way"
        if self.until > now and self.trouble:
            return f"retrying in {math.ceil(self.until - now):,} s; {self.trouble}; {many}"
        if self.under_way and now - self.heard >= SILENT:
            seen = f"; last: {self.trouble}" if self.trouble else ""
            return f"no reply for {now - self.heard:,.0f} s; {many}{seen}"
        return ""
