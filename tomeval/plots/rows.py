"""Figures with a row per subject and a panel per task: the frame that forest and bars share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.plots.drawing import Options
from tomeval.plots.families import MOST_ABREAST, Family, pages
from tomeval.plots.style import fold, lines_of, new_figure
from tomeval.runs.cell import RunCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 40
"""Rows on one page; further ones go on the next."""
MOST_TOGETHER = 26
"""Rows below each other in a picture of tasks that could also have a picture each."""


class Page(NamedTuple):
    """One page of a family: some of its subjects, in all panels."""

    family: Family
    subjects: Sequence[str]
    number: int
    of: int

    @property
    def suffix(self) -> str:
        """What tells this page's file from the others."""
        return f"_{self.number}" if self.of > 1 else ""

    @property
    def words(self) -> str:
        """What tells this page's title from the others."""
        return f", page {self.number} of {self.of}" if self.of > 1 else ""

    def rows(self, cells: Sequence[RunCell]) -> list[tuple[int, RunCell]]:
        """Return the cells of a panel that are on this page, with their rows."""
        place = {name: row for row, name in enumerate(self.subjects)}
        return [(place[cell.title], cell) for cell in cells if cell.title in place]


def family_pages(family: Family) -> list[Page]:
    """Return a family's pages."""
    parts = list(pages(family.subjects, MOST_ROWS))
    return [Page(family, part, index + 1, len(parts)) for index, part in enumerate(parts)]


def row_panels(
    titles: Sequence[str],
    subjects: Sequence[str],
    axis: str,
    options: Options,
    columns: int = MOST_ABREAST,
    row_height: float = 0.145,
    **more: Any,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel per title; the rows of each are the subjects, top to bottom.

    Rows are at 0, 1, ... from the top; every other one has a grey background, which guides the eye.
    `axis` names the horizontal axis of all panels, in lines; `more` goes to `new_figure`.
    """
    from matplotlib.ticker import MaxNLocator

    columns = min(len(titles), columns)
    down = -(-len(titles) // columns)
    names = [fold(name, options.fits(20, 28)) for name in subjects]
    shown = [fold(title, options.fits(42, 90) // columns) for title in titles]
    height = len(names) * (row_height + 0.115 * (lines_of(names) - 1)) + 0.27
    height += 0.12 * lines_of(shown)
    axis = "\n".join(fold(line, options.fits(54, 110)) for line in axis.split("\n"))
    below = 0.08 + 0.12 * lines_of([axis])
    figure, panels = new_figure(
        options.width, down * height + below, down, columns, len(titles), sharey=True, **more
    )
    figure.supxlabel(axis)
    for axes, title in zip(panels, shown, strict=True):
        axes.set_title(title)
        axes.tick_params(axis="x", labelbottom=True)  # also where panels share one scale
        axes.xaxis.set_major_locator(MaxNLocator(options.fits(3, 5), steps=[1, 2, 5, 10]))
        for row in range(0, len(names), 2):
            axes.axhspan(row - 0.5, row + 0.5, color="0.955", lw=0, zorder=0)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure, panels
