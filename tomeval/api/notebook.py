"""How a run goes, below the cell of a notebook: one line that is written anew, without widgets."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from tomeval.runs.counts import Counts, OnCounts, Progress

EVERY = 0.5
"""Seconds between two states that are shown."""


def in_notebook() -> bool:
    """Tell whether a notebook's kernel runs this; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def shown_in_notebook() -> Iterator[tuple[Progress, OnCounts]]:
    """Give what to call with steps and with counts; the last state stays on the page."""
    from IPython.display import display

    shown = _Shown(display)
    try:
        yield shown.on_steps, shown.on_counts
    finally:
        shown.update()


class _Shown:
    """Steps and episodes so far, in one element of the page."""

    def __init__(self, display: Any) -> None:
        self._steps, self._counts, self._last = (0, 0), Counts(), 0.0
        self._handle = display(self._state(), raw=True, display_id=True)

    def on_steps(self, done: int, total: int) -> None:
        """Take the steps done and in all."""
        self._steps = (done, total)
        if time.monotonic() - self._last >= EVERY:
            self.update()

    def on_counts(self, counts: Counts) -> None:
        """Take the counts of episodes and questions."""
        self._counts = counts

    def update(self) -> None:
        """Show the present state."""
        self._last = time.monotonic()
        self._handle.update(self._state(), raw=True)

    def _state(self) -> dict[str, str]:
        done, total = self._steps
        text = f"{done:,} of {total:,} steps; episodes: {self._counts}"
        bar = f'<progress max="{max(1, total)}" value="{done}"></progress>'
        return {"text/plain": text, "text/html": f"{bar} {escape(text)}"}
