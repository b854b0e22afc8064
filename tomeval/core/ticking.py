"""Call something every so many seconds while other work goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Ticking:
    """Calls `call` every so many seconds: when it is told of a step, or by itself in a thread.

    Where work is done in several processes, these are forked before there is a thread; so it begins
    one only when it is told that it may.
    """

    def __init__(self, every: float, call: Callable[[], None]) -> None:
        self._every, self._call = every, call
        self._last, self._over = time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._by_itself, daemon=True)

    def step(self, alone: bool) -> None:
        """Call if it is time to; if `alone`, a thread does so by itself from now on."""
        if self._thread.is_alive() or self._over.is_set():
            return
        if alone:
            self._thread.start()
        elif (now := time.monotonic()) - self._last >= self._every:
            self._last = now
            self._call()

    def __enter__(self) -> Ticking:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _by_itself(self) -> None:
        while not self._over.wait(self._every):
            self._call()
