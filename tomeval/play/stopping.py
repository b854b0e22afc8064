"""A run is asked to stop: the first Ctrl-C or TERM lets it finish what is in flight.

Replies that are on their way are paid for, and an episode that goes on later is not asked for them
again if they are kept.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from tomeval.models.base import Stopped

_STDERR = 2


class Stopping:
    """Handles Ctrl-C and TERM inside the block, but not in a thread or if others handle them.

    Attributes
    ----------
    signal : int
        What asked the run to stop; 0 while nothing did.
    on_request : callable
        Called when the run is asked to stop.
    say : callable
        Tells the user so; default: on standard error, which a display there would overwrite.
    reason : callable or None
        Returns why the run stops by itself; None while it does not.
    """

    def __init__(self) -> None:
        self.signal = 0
        self.on_request: Callable[[], object] = lambda: None
        self.say: Callable[[str], None] = _write
        self.reason: Callable[[], Exception] | None = None
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether the run is to stop."""
        return bool(self.signal or self.reason)

    def stop(self, reason: Callable[[], Exception]) -> None:
        """Stop the run as a signal does; what is in flight is finished, then `reason` is raised."""
        self.reason = self.reason or reason
        self.on_request()

    def __enter__(self) -> Stopping:
        """Begin to hear signals."""
        if threading.current_thread() is threading.main_thread():
            usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
            for number, handler in usual.items():
                if signal.getsignal(number) is handler:
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the signals as they were."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self.signal:
            _raise(number)
        self.signal = number
        self.say("tomeval: finishing work in flight; a second signal stops at once")
        self.on_request()

    def check(self) -> None:
        """Stop here if the run was asked to stop."""
        if self.signal:
            _raise(self.signal)
        if self.reason:
            raise self.reason()

    def refuse(self) -> None:
        """Refuse calls once the run was asked to stop."""
        if self.asked:
            raise Stopped("stopped")


def _write(text: str) -> None:
    os.write(_STDERR, f"{text}\n".encode())  # a print may meet a half-written line


def _raise(number: int) -> None:
    """End as a signal would: Ctrl-C as an exception, TERM with the exit code of shells."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)
