"""How a run goes, on standard error: a bar with counts at a terminal, else a line now and then."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from tomeval.core.printing import notes_handler, tell

if TYPE_CHECKING:
    from tomeval.runs.counts import Counts

EVERY = 30.0
"""Seconds between two lines where standard error is not a terminal."""

_SAID = "tomeval.runs.startup"
"""The log whose notes are shown too, not only its warnings."""


class Shown(Protocol):
    """What is told of a run; see `tomeval.run`."""

    def on_steps(self, done: int, total: int) -> None:
        """Take the steps done and in all."""

    def on_counts(self, counts: Counts) -> None:
        """Take the counts of episodes and questions."""


@contextmanager
def showing_progress() -> Iterator[Shown]:
    """Show progress inside the block, and what the start-up questions found."""
    log, handler = logging.getLogger(_SAID), notes_handler()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        if sys.stderr.isatty():
            with _bar() as bar:
                yield bar
        else:
            yield _Lines()
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class _Lines:
    """Prints a line, at most one in `EVERY` seconds."""

    def __init__(self) -> None:
        self._counts, self._last = "", time.monotonic()

    def on_steps(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            share = 100 * done // total if total else 100
            tell(f"{share} %; episodes: {self._counts}")

    def on_counts(self, counts: Counts) -> None:
        self._counts = str(counts)


@contextmanager
def _bar() -> Iterator[Shown]:
    """Show a bar with rate and time left, and the counts below it, within 80 columns."""
    from rich.console import Console, Group
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    counted = Text("")

    class Rate(ProgressColumn):
        """Steps per second."""

        def render(self, task: Task) -> Text:
            """Return the rate, rounded."""
            return Text(f"{task.speed:,.0f} steps/s" if task.speed else "")

    class WithCounts(Progress):
        """The bar, with the counts on a line of their own."""

        def get_renderable(self) -> Group:
            """Return both."""
            return Group(self.make_tasks_table(self.tasks), counted)

    columns: list[Any] = ["{task.percentage:>3.0f} %", BarColumn(), Rate(), TimeRemainingColumn()]
    with WithCounts(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        class Bar:
            started = False

            def on_steps(self, done: int, total: int) -> None:
                if not self.started:  # what an earlier session played says nothing about the rate
                    bar.reset(task, total=total, completed=done)
                    self.started = True
                bar.update(task, completed=done, total=total)

            def on_counts(self, counts: Counts) -> None:
                counted.plain = f"episodes: {counts}"

        yield Bar()
