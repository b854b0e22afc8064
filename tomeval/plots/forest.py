"""Forest plots: every subject's headline measures with their intervals, and the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.plots.dots import dot
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
from tomeval.plots.families import MOST_TOGETHER, Page, family_pages, row_panels, sheets, task_of
from tomeval.plots.style import BASELINE, BASELINE_LINE, add_head, in_style
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
        for family in sheets((cell for cell in run.cells if task_of(cell) in met), MOST_TOGETHER):
            stem = "_".join(filter(None, ("forest", measure.short, family.stem)))
            for page in family_pages(family):
                title = f"{measure.heading} by {who}: {family.title}{page.words}"
                drawings.append(
                    Drawing(
                        "forest",
                        stem + page.suffix,
                        forest_figure(page, measure, title, options),
                        title,
                        _caption(run, page, measure, options),
                        _describe(page, measure, options),
                    )
                )
    return drawings


def _caption(run: Run, page: Page, measure: Measure, options: Options) -> str:
    """Say what is drawn: of how many episodes, with which intervals."""
    cells = [cell for _, members in page.family.panels for cell in members]
    shares = any(cell.totals(measure.name).share for cell in cells)
    intervals = interval_words(options, shares).replace("episodes", f"{run.domain.compare.unit}s")
    better = {-1: "Further left is better.", 0: "", 1: "Further right is better."}[measure.better]
    based = any(cell.is_baseline for cell in cells)
    line = f"Dashed: the {run.domain.compare.baseline}, its interval shaded." if based else ""
    parts = (
        f"{measure.heading}, {page.family.title}: points are means over {sample_words(cells)}, "
        f"lines {intervals}.",
        better,
        line,
    )
    return " ".join(filter(None, parts))


def _describe(page: Page, measure: Measure, options: Options) -> str:
    """Say every subject's mean and interval."""
    parts = []
    for title, cells in page.family.panels:
        said = (
            f"{cell.title} {with_interval(measured(cell, [measure.name], options))}"
            for _, cell in page.rows(cells)
        )
        parts.append(f"{title}: {', '.join(said)}")
    return f"{axis_name(measure)}. {'; '.join(parts)}."


@in_style
def forest_figure(page: Page, measure: Measure, title: str, options: Options) -> Figure:
    """Draw one measure with intervals: a panel per task, a row per subject."""
    from matplotlib.lines import Line2D

    titles = [title for title, _ in page.family.panels]
    axis = f"{axis_name(measure)}{better_side(measure)}"
    figure, panels = row_panels(titles, page.subjects, axis, options)
    based: RunCell | None = None
    for axes, (_, cells) in zip(panels, page.family.panels, strict=True):
        based = _baseline(axes, cells, measure, options) or based
        for row, cell in page.rows(cells):
            _point(axes, row, cell, measure, options)
        if measure.unit == "%":
            axes.set_xlim(-4, 104)
        else:
            axes.margins(x=0.06)
            axes.axvline(0, color="0.6", lw=0.6, zorder=1)
    handles = []
    if based:
        words = f"{based.domain.compare.baseline} ({based.player})"
        handles = [Line2D([], [], label=words, **BASELINE_LINE)]
    add_head(figure, title, handles, handlelength=3)
    return figure


def _baseline(
    axes: Axes, cells: Sequence[RunCell], measure: Measure, options: Options
) -> RunCell | None:
    """Draw the baseline of a task with its interval and return it, if there is one."""
    base = next((cell for cell in cells if cell.is_baseline), None)
    if base is None:
        return None
    estimate = measured(base, [measure.name], options)
    if np.isfinite(estimate.low[0]):
        axes.axvspan(float(estimate.low[0]), float(estimate.high[0]), color="0.86", lw=0, zorder=1)
    axes.axvline(float(estimate.mean[0]), **BASELINE_LINE, zorder=2)
    return base


def _point(axes: Axes, row: int, cell: RunCell, measure: Measure, options: Options) -> None:
    """Draw one subject's mean and interval, if the measure has a value."""
    estimate = measured(cell, [measure.name], options)
    ends = float(estimate.mean[0]), float(estimate.low[0]), float(estimate.high[0])
    look = {"marker": "o", "color": "#0072B2", "markersize": 3.8}
    look |= {"markeredgecolor": "white", "markeredgewidth": 0.4}
    if cell.is_baseline:
        look |= {"marker": "D", "color": BASELINE}
    dot(axes, row, ends, look, color="#0072B2", lw=1.4)
