"""How a run goes, below the cell of a notebook: lines that are written anew, without widgets."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import escape
from typing import Any

from tomeval.core.text import in_line
from tomeval.runs.live import Live, Progress

EVERY = 0.5
"""Seconds between two states that are shown."""


def in_notebook() -> bool:
    """Tell whether a notebook's kernel runs this; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def shown_in_notebook() -> Iterator[tuple[Live, Progress]]:
    """Give what a run keeps up to date, and what to call with its steps; the last state stays."""
    from IPython.display import display

    shown = _Shown(display)
    try:
        yield shown.live, shown.on_steps
    finally:
        shown.update()


class _Shown:
    """The state of a run, in one element of the page."""

    def __init__(self, display: Any) -> None:
        self.live, self._last = Live(), time.monotonic()
        self._handle = display(self._state(), raw=True, display_id=True)

    def on_steps(self, done: int, total: int) -> None:
        """Hear that steps were done."""
        if time.monotonic() - self._last >= EVERY:
            self.update()

    def update(self) -> None:
        """Show the present state."""
        self._last = time.monotonic()
        self._handle.update(self._state(), raw=True)

    def _state(self) -> dict[str, str]:
        """Return a bar, steps and time left, and a line per model that was asked."""
        live = self.live.now()
        left = ""
        if live.left:
            left = f", {'> ' * bool(live.unseen)}{timedelta(seconds=round(live.left))} left"
        lines = [f"{live.steps:,} of {live.total:,} steps{left}; episodes: {live.counts}"]
        for model in live.models.values():
            share = model.unreadable_share
            asked = model.asked
            said = f"{asked.calls:,} calls, {asked.prompt + asked.completion:,} tokens"
            said += "" if share is None else f", {100 * share:.1f} % of answers unreadable"
            said += f", {model.retries:,} retries" if model.retries else ""
            lines.append(in_line(f"{model.name}: {said}"))
        bar = f'<progress max="{max(1, live.total)}" value="{live.steps}"></progress>'
        return {
            "text/plain": "\n".join(lines),
            "text/html": f"{bar} {'<br>'.join(map(escape, lines))}",
        }
