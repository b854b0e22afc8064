"""Forest plots: every subject's headline measures with their intervals, and the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tomeval.plots.dots import Ends, Panel, Series, dots_figure
from tomeval.plots.drawing import (
    DEFAULT,
    Drawing,
    Options,
    axis_name,
    better_side,
    interval_words,
    measured,
    sample_words,
    with_interval,
)
from tomeval.plots.families import Page, task_of, task_pages
from tomeval.plots.style import BASELINE, BASELINE_LINE
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
                    _caption(run, page, measure, options),
                    _describe(page, measure, options),
                )
            )
    return drawings


def _caption(run: Run, page: Page, measure: Measure, options: Options) -> str:
    """Describe what is drawn: of how many episodes, with which intervals."""
    shares = any(cell.totals(measure.name).share for cell in page.cells)
    intervals = interval_words(options, shares).replace("episodes", f"{run.domain.unit}s")
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


def _describe(page: Page, measure: Measure, options: Options) -> str:
    """Describe every row's mean and interval."""
    parts = []
    for panel in page.panels:
        said = (
            f"{page.names[row]} {with_interval(measured(cell, [measure.name], options))}"
            for row, cell in page.rows(panel)
        )
        parts.append(f"{panel.title}: {', '.join(said)}")
    return f"{axis_name(measure)}. {'; '.join(parts)}."


def forest_figure(page: Page, measure: Measure, title: str, options: Options) -> Figure:
    """Draw one measure with intervals: a panel per task, a row per subject."""
    from matplotlib.lines import Line2D

    def ends(cell: RunCell) -> Ends:
        found = measured(cell, [measure.name], options)
        return float(found.mean[0]), float(found.low[0]), float(found.high[0])

    bases = [
        next((cell for _, cell in panel.cells if cell.is_baseline), None) for panel in page.panels
    ]

    def finish(axes: Axes, number: int) -> None:
        if base := bases[number]:
            mean, low, high = ends(base)
            if np.isfinite(low):
                axes.axvspan(low, high, color="0.86", lw=0, zorder=1)
            axes.axvline(mean, **BASELINE_LINE, zorder=2)
        if measure.unit == "%":
            axes.set_xlim(-4, 104)
        else:
            axes.margins(x=0.06)
            axes.axvline(0, color="0.6", lw=0.6, zorder=1)

    panels = [
        Panel(one.title, {(row, int(cell.is_baseline)): ends(cell) for row, cell in page.rows(one)})
        for one in page.panels
    ]
    based = next(filter(None, bases), None)
    words = f"tabular baseline ({based.player})" if based else ""
    handles = [Line2D([], [], label=words, **BASELINE_LINE)] if based else []
    axis = f"{axis_name(measure)}{better_side(measure)}"
    series = [Series("", _POINT), Series("", _POINT | {"marker": "D", "color": BASELINE})]
    return dots_figure(
        title, panels, page.names, axis, series, options, finish=finish, handles=handles
    )


_POINT = {"marker": "o", "color": "#0072B2", "markersize": 3.8}
_POINT |= {"markeredgecolor": "white", "markeredgewidth": 0.4}
