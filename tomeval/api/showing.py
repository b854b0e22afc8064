"""How results show themselves: in words at a prompt, as pictures in a notebook."""

from __future__ import annotations

import base64
import dataclasses
import io
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from tomeval.comparing.result import Comparison
from tomeval.core.printing import wrap
from tomeval.core.text import in_line, visible
from tomeval.play.live import Live, Progress
from tomeval.plots.drawing import Drawing
from tomeval.report.comparisons import overview
from tomeval.report.rows import grid_of
from tomeval.report.tables import Grid, set_grid

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


class Text(str):
    """Lines that show themselves as such."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the text."""
        return str(self)


class Figures(dict[str, "Figure"]):
    """matplotlib figures by the names that their files would have, each with its words.

    Attributes
    ----------
    drawings : list of Drawing
        Title, caption and text alternative of each.
    """

    def __init__(self, drawings: Sequence[Drawing]) -> None:
        self.drawings = list(drawings)
        super().__init__((drawing.stem, drawing.figure) for drawing in drawings)

    def __repr__(self) -> str:
        """Name the figures with their titles, a line each."""
        return "\n".join(f"{drawing.stem}: {in_line(drawing.title)}" for drawing in self.drawings)

    def _repr_html_(self) -> str:
        """Return the pictures with their captions."""
        return "".join(map(_figure_html, self.drawings))


def _figure_html(drawing: Drawing) -> str:
    buffer = io.BytesIO()
    drawing.figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    alternative = escape(visible(drawing.description))
    return (
        f'<figure><img alt="{alternative}" src="data:image/png;base64,{data}">'
        f"<figcaption><b>{escape(visible(drawing.title))}</b> {escape(visible(drawing.caption))}"
        "</figcaption></figure>"
    )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Compared(Comparison):
    """A comparison that shows itself as the table of ``tomeval compare``."""

    @classmethod
    def of(cls, found: Comparison) -> Compared:
        """Return a comparison as one that shows itself."""
        return cls(**{one.name: getattr(found, one.name) for one in dataclasses.fields(found)})

    def table(self, by_task: bool = True) -> pandas.DataFrame:
        """Return `rows`, one per scope, metric and level; without `by_task` of the first scope."""
        import pandas

        return pandas.DataFrame(self.rows(None if by_task else [0]))

    def __repr__(self) -> str:
        """Return its table as text, and the notes."""
        rows, above, notes = overview(self)
        return table_text(above, [grid_of(rows, words=in_line)] if rows else [], notes)


def table_text(
    above: Sequence[str],
    grids: Sequence[Grid],
    notes: Sequence[str],
    form: str = "text",
    fit: bool = True,
) -> Text:
    """Return tables below each other with what is said of them, fitted to a terminal if it is one.

    Without a terminal, or without `fit`, lines are not wrapped.
    """
    width = shutil.get_terminal_size().columns if fit and sys.stdout.isatty() else None
    tables = "\n\n".join(set_grid(grid, form, width) for grid in grids) or "nothing to show"

    def line(said: str) -> str:
        said = in_line(said)
        return said if width is None else "\n".join(wrap(said, width, "  "))

    said = [*map(line, above), tables, *(line(f"note: {note}") for note in notes)]
    return Text("\n".join(said))


EVERY = 0.5
"""Seconds between two states that are shown."""


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def watched(progress: Progress | None) -> Iterator[tuple[Live | None, Progress | None]]:
    """Give who is told how a run goes: in a notebook a bar, where no one else asked to be.

    The last state of the bar stays.
    """
    if progress is not None or not in_notebook():
        yield None, progress
        return
    from IPython.display import display

    live, last = Live(), time.monotonic()
    handle: Any = display(_state(live), raw=True, display_id=True)

    def on_steps(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            handle.update(_state(live), raw=True)

    try:
        yield live, on_steps
    finally:
        handle.update(_state(live), raw=True)


def _state(live: Live) -> dict[str, str]:
    """Return a bar, steps, time left and episodes as a notebook shows them."""
    left = f", {timedelta(seconds=round(live.left))} left" if live.left else ""
    text = f"{live.steps:,} of {live.total:,} steps{left}; episodes: {live.counts}"
    bar = f'<progress max="{max(1, live.total)}" value="{live.steps}"></progress>'
    return {"text/plain": text, "text/html": f"{bar} {escape(text)}"}
