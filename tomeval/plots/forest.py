"""Forest plots: means with intervals as dots in rows, and the tabular baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.plots.drawing import (
    DEFAULT,
    Drawing,
    Options,
    axis_name,
    better_side,
    interval_words,
    sample_words,
    with_interval,
)
from tomeval.plots.families import MOST_ABREAST, Page, task_of, task_pages
from tomeval.plots.style import (
    BASELINE,
    BASELINE_LINE,
    add_head,
    fold,
    in_style,
    lines_of,
    new_figure,
)
from tomeval.runs.cell import RunCell
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 2
"""How many headline measures are drawn: in most runs the functional and the literal one."""


def forest(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw measures with intervals, by default the first ones: a row per subject, a panel per task.

    Nothing of a measure for tasks in which it has no value.
    """
    who = next(iter(run.cells[0].columns))  # the first column names who is measured
    drawings = []
    for name in options.metrics or run.headline[:SHOWN]:
        measure = run.measures[name]
        cells = [cell for cell in run.cells if np.isfinite(cell.totals(name).values).any()]
        met = {task_of(cell) for cell in cells}
        for page in task_pages(cell for cell in run.cells if task_of(cell) in met):
            title = f"{measure.heading} by {who}: {page.title}"
            drawings.append(
                Drawing(
                    "forest",
                    f"forest_{measure.short}{page.suffix}",
                    forest_figure(page, measure, title, options),
                    title,
                    _caption(page, measure),
                    _describe(page, measure),
                )
            )
    return drawings


def _caption(page: Page, measure: Measure) -> str:
    """Describe what is drawn: of how many episodes, with which intervals."""
    shares = any(cell.totals(measure.name).share for cell in page.cells)
    intervals = interval_words(page.cells[0], shares)
    better = {-1: "Further left is better.", 0: "", 1: "Further right is better."}[measure.better]
    based = any(cell.is_baseline for cell in page.cells)
    line = "Dashed: the tabular baseline, its interval shaded." if based else ""
    parts = (
        f"{measure.heading}, {page.title}: points are means over {sample_words(page.cells)}, "
        f"lines {intervals}.",
        better,
        line,
    )
    return " ".join(filter(None, parts))


def _describe(page: Page, measure: Measure) -> str:
    """Describe every row's mean and interval."""
    parts = []
    for panel in page.panels:
        said = (
            f"{page.names[row]} {with_interval(cell.estimate([measure.name]))}"
            for row, cell in page.rows(panel)
        )
        parts.append(f"{panel.title}: {', '.join(said)}")
    return f"{axis_name(measure)}. {'; '.join(parts)}."


@in_style
def forest_figure(page: Page, measure: Measure, title: str, options: Options) -> Figure:
    """Draw one measure with intervals: a panel per task, a row per subject."""
    from matplotlib.lines import Line2D

    axis = f"{axis_name(measure)}{better_side(measure)}"
    figure, drawn = _row_panels([panel.title for panel in page.panels], page.names, axis, options)
    handles = []
    for axes, panel in zip(drawn, page.panels, strict=True):
        base = next((cell for _, cell in panel.cells if cell.is_baseline), None)
        if base is not None:
            mean, low, high = _ends(base, measure)
            if np.isfinite(low):
                axes.axvspan(low, high, color="0.86", lw=0, zorder=1)
            axes.axvline(mean, **BASELINE_LINE, zorder=2)
            words = f"tabular baseline ({base.player})"
            handles.append(Line2D([], [], label=words, **BASELINE_LINE))
        if measure.unit == "%":
            axes.set_xlim(-4, 104)
        else:
            axes.margins(x=0.06)
            axes.axvline(0, color="0.6", lw=0.6, zorder=1)
        for row, cell in page.rows(panel):
            look = _POINT | {"marker": "D", "color": BASELINE} if cell.is_baseline else _POINT
            _dot(axes, row, _ends(cell, measure), look)
    add_head(figure, title, handles[:1])
    return figure


_POINT = {"marker": "o", "color": "#0072B2", "markersize": 3.8}
_POINT |= {"markeredgecolor": "white", "markeredgewidth": 0.4}

Ends = tuple[float, float, float]
"""A mean and the ends of its interval: NaN where there is none."""


def _ends(cell: RunCell, measure: Measure) -> Ends:
    found = cell.estimate([measure.name])
    return float(found.mean[0]), float(found.low[0]), float(found.high[0])


def _dot(axes: Axes, y: float, ends: Ends, look: Mapping[str, Any]) -> None:
    """Draw one mean with its interval, if it has a value."""
    mean, low, high = ends
    if math.isnan(mean):
        return
    if not math.isnan(low):
        axes.plot([low, high], [y, y], color=look["color"], lw=1.3, zorder=3)
    axes.plot([mean], [y], **{**look, "ls": "none", "zorder": 4})


def _row_panels(
    titles: Sequence[str], subjects: Sequence[str], axis: str, options: Options
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel per title; the rows of each are the subjects, top to bottom.

    Rows are at 0, 1, ... from the top; every other one has a grey background, which guides the eye.
    `axis` names the horizontal axis of all panels, in lines.
    """
    from matplotlib.ticker import MaxNLocator

    columns = min(len(titles), MOST_ABREAST)
    down = -(-len(titles) // columns)
    names = [fold(name, options.fits(20, 28)) for name in subjects]
    shown = [fold(title, options.fits(42, 90) // columns) for title in titles]
    height = len(names) * (0.145 + 0.115 * (lines_of(names) - 1)) + 0.27
    height += 0.12 * lines_of(shown)
    axis = "\n".join(fold(line, options.fits(54, 110)) for line in axis.split("\n"))
    below = 0.08 + 0.12 * lines_of([axis])
    figure, panels = new_figure(
        options.width, down * height + below, down, columns, len(titles), sharey=True
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
