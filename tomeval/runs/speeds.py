"""How fast counts grow of late, by looks at them now and then.

News of replicas come in batches, and episodes that play in lockstep end together, so that in any
one minute a count may not grow at all or grow by a hundred. A speed is therefore taken from one
time that a count grew to another, over the last minute or over the last few growths if these took
longer.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

LAST = 60.0
"""Seconds that a speed is of, where a count grows often enough."""

_GROWTHS = 3
"""So many growths are looked at even if they took longer."""

_MOST = 1800.0
"""Seconds after which none is looked at any more."""


class Meter:
    """The speed of one count.

    Examples
    --------
    >>> meter = Meter()
    >>> for second in range(0, 181, 60):  # 30 more every minute
    ...     meter.see(second, second // 2)
    >>> meter.speed(now=200)
    0.5
    >>> round(meter.speed(now=600), 3)  # it does not grow any more
    0.167
    """

    def __init__(self) -> None:
        self._grown: deque[tuple[float, float]] = deque()  # when it had grown, to what

    def see(self, now: float, count: float) -> None:
        """Look at the count; one that fell is of another session."""
        grown = self._grown
        if grown and count < grown[-1][1]:
            grown.clear()
        if not grown or count > grown[-1][1]:
            grown.append((now, count))
        while len(grown) > _GROWTHS + 1 and grown[1][0] <= now - LAST:
            grown.popleft()
        while len(grown) > 1 and grown[0][0] < now - _MOST:
            grown.popleft()

    def speed(self, now: float) -> float | None:
        """Return by how much it grows in a second; None as long as it has not grown."""
        if len(self._grown) < 2:
            return None
        (began, first), (last, count) = self._grown[0], self._grown[-1]
        pause = (last - began) / (len(self._grown) - 1)  # usual between two growths
        return (count - first) / (max(last, now - pause) - began)


class Speeds:
    """Meters by name, which several threads may look at."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._meters, self._lock = clock, dict[str, Meter](), threading.Lock()

    def of(self, name: str, count: float) -> float | None:
        """Look at a count, and return its speed, per second."""
        now = self._clock()
        with self._lock:
            meter = self._meters.setdefault(name, Meter())
            meter.see(now, count)
            return meter.speed(now)
