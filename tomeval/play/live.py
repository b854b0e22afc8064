"""What is true of a run while it plays, for a display, and what asks it to stop.

The run writes, a display reads, from another thread if it likes. Counts are of all sessions of the
folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Literal

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.models import model_name
from tomeval.models.base import Stopped
from tomeval.models.naming import without_address
from tomeval.runs.record import Spent

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all); steps of a stopped cell leave the second number."""


class Live:
    """The state of a run that plays: no prompt, no reply and no address of a server.

    Attributes
    ----------
    progress : callable, optional
        Is told of steps.
    steps, total : int
        Those done, in earlier sessions too, and in all; those of episodes that end early count as
        done.
    ended : Counter
        Episodes by what became of them.
    spent : Spent
        What language models were asked in episodes that are over.
    names : dict of str to str
        What each model is called, by `engine.spec_key`.
    note : str
        What else is to be shown, such as that the run is to stop.
    closing : list of str
        What is said at the end.
    asking : bool
        Whether language models play by now.
    shown : str
        How the run is shown: ``field`` (which is updated), ``lines`` (now and then), or empty.
    """

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self.steps = self.total = 0
        self.ended, self.spent = Counter[str](), Spent()
        self.names: dict[str, str] = {}
        self.note = ""
        self.closing: list[str] = []
        self.asking = False
        self.shown: Literal["", "field", "lines"] = ""
        self._begun, self._before = time.monotonic(), 0

    def begin(self, models: Sequence[str], steps: int, total: int) -> None:
        """Begin with so many steps that are done; models are named by `engine.spec_key`."""
        self._begun, self.steps, self.total, self._before = time.monotonic(), steps, total, steps
        self.names |= {key: without_address(model_name(json.loads(key))) for key in models}

    def tell_steps(self) -> None:
        """Report how many steps are done to the listener."""
        if self.progress:
            self.progress(self.steps, self.total)

    @property
    def counts(self) -> str:
        """What the run holds so far, in words."""
        said = ", ".join(f"{self.ended[one]:,} {one}" for one in (COMPLETE, VOID, FAILED))
        again = self.spent.again
        return f"{said}; {again:,} {'question' if again == 1 else 'questions'} asked again"

    @property
    def left(self) -> float | None:
        """Seconds left, if a step takes as long as those of this session; None before the first."""
        done = self.steps - self._before
        spent = time.monotonic() - self._begun
        return spent / done * (self.total - self.steps) if done > 0 else None

    @property
    def asked(self) -> str:
        """A line with what language models were asked, without counts that are 0."""
        asked = self.spent
        tokens = (asked.prompt or 0) + (asked.completion or 0)
        unread = asked.unreadable / asked.answers if asked.answers else 0
        told = {
            f"calls {asked.replies:,}": asked.replies,
            f"tokens {tokens:,}": tokens,
            f"cost {asked.cost or 0:,.2f}": asked.cost is not None,
            f"unread {100 * unread:.3g} %": unread,
        }
        return ", ".join(words for words, there in told.items() if there)


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
