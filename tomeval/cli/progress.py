"""How a run goes, on standard error: a display at a terminal, else a line each minute.

That is steps, the time left, episodes, what language models were asked, and what a server does if
it is waited for.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from tomeval.core.printing import tell
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.play.live import Live

EVERY = 60.0
"""Seconds between two lines where standard error is not a terminal."""


@contextmanager
def showing_progress(live: Live) -> Iterator[Callable[[int, int], None]]:
    """Show a run inside the block; yield what is to be called when steps are done."""
    live.shown = "field" if sys.stderr.isatty() else "lines"
    with _shown(lambda: lines_of(live) if live.total else ["starting"]) as step:
        yield lambda done, total: step(live.asking)


@contextmanager
def _shown(lines: Callable[[], list[str]]) -> Iterator[Callable[[bool], None]]:
    """Show lines again and again: at a terminal in place.

    Elsewhere they are told every minute, when the yielded function is called after a step; if it is
    called with True, from then on by a thread. Where work is done in several processes, these are
    forked before there is a thread.
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live as Display
        from rich.text import Text

        def render() -> Text:
            return Text("\n".join(lines()), no_wrap=True, overflow="ellipsis")

        with Display(
            get_renderable=render,
            console=Console(stderr=True),
            refresh_per_second=2,
            redirect_stdout=False,  # to a file or a pipe it may go, which is not this console
        ):
            yield lambda alone: None
        return
    last, over = time.monotonic(), threading.Event()

    def by_itself() -> None:
        while not over.wait(EVERY):
            tell("\n".join(lines()))

    thread = threading.Thread(target=by_itself, daemon=True)

    def step(alone: bool) -> None:
        nonlocal last
        if thread.is_alive():
            return
        if alone:
            thread.start()
        elif (now := time.monotonic()) - last >= EVERY:
            last = now
            tell("\n".join(lines()))

    try:
        yield step
    finally:
        over.set()
        if thread.is_alive():
            thread.join()


def lines_of(live: Live) -> list[str]:
    """Return all that is shown of a run as lines."""
    share = f"{100 * live.steps // live.total if live.total else 100} %"
    finished = live.total and live.steps == live.total
    left = "stopping" if live.note else _time_left(live.left)
    lines = [f"{share}, {'finished' if finished else left}", f"  episodes: {live.counts}"]
    lines += [f"  {line}" for line in (live.asked, *live.waits) if line]
    return [in_line(line) for line in (*lines, *filter(None, (live.replica_line(), live.note)))]


def _time_left(seconds: float | None) -> str:
    return (
        "time left: not known yet"
        if seconds is None
        else f"{timedelta(seconds=round(seconds))} left"
    )
