"""A progress bar on standard error, with rate and time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar with rate and time left on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Steps per second."""

        def render(self, task: Task) -> Text:
            """Return the rate, rounded."""
            return Text(f"{task.speed:,.0f} steps/s" if task.speed else "")

    columns: list[Any] = ["{task.percentage:>3.0f} %", BarColumn(), Rate(), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        started = False

        def update(done: int, total: int) -> None:
            nonlocal started
            if not started:  # what an earlier session played says nothing about the rate
                bar.reset(task, total=total, completed=done)
                started = True
            bar.update(task, completed=done, total=total)

        yield update
