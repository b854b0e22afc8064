"""How work goes, on standard error: a display at a terminal, else a line each minute.

A run shows what is true of it: steps, the time left, episodes, a row for each language model, and
what its server does if it is waited for. Other work, such as drawing, shows how much is done.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tomeval.cli.progress_text import cut, short
from tomeval.cli.progress_words import (
    WIDTH,
    clock,
    left_words,
    line_of,
    percent,
    screen_of,
    time_left,
)
from tomeval.core.printing import notes_handler, tell
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from rich.console import Console, Group

    from tomeval.runs.live import Live
    from tomeval.runs.live_state import State

EVERY = 60.0
"""Seconds between two lines where standard error is not a terminal."""

_SAID = "tomeval.runs.startup"
"""The log whose notes are shown too, not only its warnings."""

_RETRIES = "tomeval.models.served"
"""The log of servers, each retry included."""

OnSteps = Callable[[int, int], None]


@contextmanager
def showing_progress(live: Live, verbose: bool = False) -> Iterator[OnSteps]:
    """Show a run inside the block; yield what is to be called when steps are done.

    What the start-up questions found is shown too, and if `verbose` each retry of a request.
    """
    with _heard(_SAID), _heard(_RETRIES if verbose else ""):
        if sys.stderr.isatty():
            live.shown = "field"
            with _display(live):
                yield lambda done, total: None
        else:
            live.shown = "lines"
            with _lines(lambda: line_of(live)) as start:
                # Where cells play in several processes, these are forked before there is a thread.
                yield lambda done, total: start(live.asking)


class Working:
    """How far some work is; `working` shows it."""

    def __init__(self, what: str, total: int | None, note: Callable[[], None]) -> None:
        self._what, self._total, self._note = what, total, note
        self._started, self._done, self._name = time.monotonic(), 0, ""

    def __call__(self, name: str) -> None:
        """Hear that a thing is done."""
        self._done, self._name = self._done + 1, name
        self._note()

    def at(self, name: str, number: int, of: int) -> None:
        """Hear that a thing is begun, the first being number 1."""
        self._done, self._name, self._total = number - 1, name, of
        self._note()

    def __str__(self) -> str:
        spent = time.monotonic() - self._started
        name = f"; {in_line(self._name)}" if self._name else ""
        if not self._total:
            return f"{self._what}: {clock(spent)} so far{name}"
        left = spent / self._done * (self._total - self._done) if self._done else None
        return f"{self._what}: {self._done:,} of {self._total:,}, {time_left(left)}{name}"


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Working]:
    """Show inside the block how far some work is; yield what to call with each thing done.

    Without a total, or calls, the time that it took so far is shown.

    Examples
    --------
    >>> with working("drawing", 2) as done:
    ...     for name in ("forest", "profiles"):
    ...         done(name)
    """
    if sys.stderr.isatty():
        state = Working(what, total, lambda: None)
        with _field(lambda: str(state)):
            yield state
    else:
        with _lines(lambda: str(state)) as start:
            state = Working(what, total, lambda: start(False))
            if total is None:  # nobody may ever call
                start(True)
            yield state


@contextmanager
def _heard(name: str) -> Iterator[None]:
    """Tell what a log notes inside the block; nothing for an empty name."""
    log, handler = logging.getLogger(name), notes_handler()
    level = log.level
    if name:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        if name:
            log.removeHandler(handler)
            log.setLevel(level)


@contextmanager
def _lines(state: Callable[[], str]) -> Iterator[Callable[[bool], None]]:
    """Tell a state each minute; yield what to call now and then.

    Called with true it makes a thread that tells by itself from then on.
    """
    over, last = threading.Event(), time.monotonic()
    thread = threading.Thread(target=lambda: by_itself(), daemon=True)

    def by_itself() -> None:
        while not over.wait(EVERY):
            tell(state())

    def start(alone: bool) -> None:
        nonlocal last
        if thread.is_alive():
            return
        if alone:
            thread.start()
        elif (now := time.monotonic()) - last >= EVERY:
            last = now
            tell(state())

    try:
        yield start
    finally:
        over.set()
        if thread.is_alive():
            thread.join()


@contextmanager
def _field(state: Callable[[], str]) -> Iterator[None]:
    """Show a state in one line at a terminal, which is gone afterwards."""
    from rich.console import Console
    from rich.live import Live as Shown
    from rich.text import Text

    def shown() -> Text:
        return Text(cut(state(), WIDTH), no_wrap=True)

    console = Console(stderr=True)
    with Shown(
        get_renderable=shown,
        console=console,
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,  # to a file or a pipe it may go, which is not this console
    ):
        yield


def screen(state: State, console: Console, above: int = 0) -> Group:
    """Return what a terminal shows of a run: a bar with the time left, and below it the counts.

    So many lines stand `above` it.
    """
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    bar = ProgressBar(total=max(1, state.total), completed=state.steps, width=24)
    steps = f"{short(state.steps)} of {short(state.total)} steps"
    grid = Table.grid(padding=(0, 1))
    grid.add_row(f"{percent(state):>3} %", bar, steps, left_words(state))
    lines = screen_of(state, console.width, console.height - above)
    return Group(grid, *(Text(line, no_wrap=True, overflow="crop") for line in lines))


@contextmanager
def _display(live: Live) -> Iterator[None]:
    """Show a run at a terminal."""
    from rich.console import Console, Group
    from rich.live import Live as Shown

    from tomeval.runs.live_state import state_of

    over = False

    def shown() -> Group:
        # Nothing may have begun, and perhaps nothing will: then nothing of it stays.
        if live.total:
            return screen(state_of(live), console)
        return Group() if over else Group("starting")

    console = Console(stderr=True)
    with Shown(get_renderable=shown, console=console, refresh_per_second=2, redirect_stdout=False):
        try:
            yield
        finally:
            over = True
