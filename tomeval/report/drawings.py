"""The figures of a report; for large runs drawn by other processes while the rest is made."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from tomeval.report.svg import Canvas
from tomeval.runs.domain import DOMAINS
from tomeval.runs.results import Run

COLUMN = "single"
"""Figures are drawn as for one of two columns: a narrow screen shows these without scaling down."""

MANY_CELLS = 48
"""From here on, drawing takes longer than starting processes."""


class Drawn(NamedTuple):
    """A figure as SVG, with its words."""

    title: str
    caption: str
    svg: str


class Figures:
    """Draws a run's figures, beginning at once; for `interval` and `reference` see `Options`.

    `only` and `every` choose as in `tomeval.plots.registry.chosen`. Other processes draw, as many
    as `workers`, if that is more than 1, the run has at least `MANY_CELLS` cells, and its domain
    ships: a process started anew may not know another.
    """

    def __init__(
        self,
        run: Run,
        interval: str,
        reference: str | None = None,
        workers: int = 1,
        only: Sequence[str] = (),
        every: bool = False,
    ) -> None:
        from tomeval.plots.registry import chosen

        self._run = run
        self._pool: ProcessPoolExecutor | None = None
        self._waiting: list[Future[list[Drawn]]] = []
        self._names = chosen(run, only, every=every)
        # Those of `Show.first_figures` may be files that this run has not.
        self._task = (interval, reference, bool(only))
        ships = run.domain.name in DOMAINS
        if workers > 1 and ships and len(run.cells) >= MANY_CELLS:
            # Started anew, not forked: the parent holds an open store.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(workers, context, _open, (run.folder, run.where))
            self._waiting = [self._pool.submit(_redraw, name, *self._task) for name in self._names]

    @property
    def beside(self) -> bool:
        """Whether other processes draw."""
        return self._pool is not None

    def page(self) -> tuple[list[dict[str, object]], Markup]:
        """Return the figures for the template, and the outlines of characters that they share."""
        if self._pool is not None:
            with self._pool:
                found = [drawn for future in self._waiting for drawn in future.result()]
        else:
            found = [drawn for name in self._names for drawn in _draw(self._run, name, *self._task)]
        canvas = Canvas()
        figures: list[dict[str, object]] = [
            {
                "id": f"figure-{number}",
                "title": drawn.title,
                "caption": drawn.caption,
                "svg": Markup(canvas.fit(drawn.svg)),
            }
            for number, drawn in enumerate(found)
        ]
        return figures, Markup(canvas.glyphs())

    def stop(self) -> None:
        """End the processes, if the figures are no longer wanted."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


_OPENED: list[Run] = []


def _open(folder: Path, where: Sequence[str]) -> None:
    """Prepare a process, which reads the run once."""
    _OPENED[:] = [Run(folder, where)]


def _redraw(name: str, interval: str, reference: str | None, asked: bool) -> list[Drawn]:
    """Draw the figures of one name in another process."""
    return _draw(_OPENED[0], name, interval, reference, asked)


def _draw(run: Run, name: str, interval: str, reference: str | None, asked: bool) -> list[Drawn]:
    """Draw the figures of one name; if it is not `asked` for, none where there is no such file."""
    from tomeval.plots import Options, draw_one, plain_style, svg_text

    with warnings.catch_warnings(), plain_style():
        # A label may have characters that the font lacks; a box stands for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        drawings = draw_one(run, name, Options(COLUMN, interval, reference), asked)
        return [
            Drawn(drawing.title, drawing.caption, svg_text(drawing._replace(stem=f"{name}-{i}")))
            for i, drawing in enumerate(drawings)
        ]
