"""Forest plots: every subject's regret and ToM % with its interval, and the tabular line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.plots.drawing import (
    DEFAULT,
    INTERVAL_WORDS,
    TABULAR,
    Drawing,
    Options,
    baseline,
    families,
    metric_estimates,
    with_interval,
)
from tomeval.plots.rows import Page, family_pages, row_panels
from tomeval.plots.style import BASELINE, add_legend, in_style
from tomeval.runs.results import Run, RunCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRICS_SHOWN = {
    "delta_functional_per_step": ("regret", "ΔFunctional/T (payoff units)"),
    "tom_percent": ("tom", "ToM %"),
}


def forest(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw regret and ToM % with intervals, a row per subject and a panel per game."""
    drawings = []
    for family in families(run.cells):
        for page in family_pages(family):
            for metric, (short, axis) in METRICS_SHOWN.items():
                parts = []
                for title, cells in family.panels:
                    said = (
                        f"{cell.title} {with_interval(metric_estimates(cell, [metric], options))}"
                        for _, cell in page.rows(cells)
                    )
                    parts.append(f"{title}: {', '.join(said)}")
                drawings.append(
                    Drawing(
                        "forest",
                        f"forest_{short}_{family.stem}{page.suffix}",
                        forest_figure(page, metric, options),
                        f"{axis} by subject: {family.title}{page.words}",
                        f"{axis} of every subject with {INTERVAL_WORDS[options.interval]}. Dashed: "
                        "the tabular baseline, where the run has one, with its interval shaded.",
                        f"{axis}. {'; '.join(parts)}.",
                    )
                )
    return drawings


@in_style
def forest_figure(page: Page, metric: str, options: Options) -> Figure:
    """Draw one metric with intervals: a panel per task, a row per subject."""
    from matplotlib.lines import Line2D

    titles = [title for title, _ in page.family.panels]
    figure, panels = row_panels(titles, page.subjects, METRICS_SHOWN[metric][1], options)
    based = False
    for axes, (_, cells) in zip(panels, page.family.panels, strict=True):
        based = _tabular_line(axes, cells, metric, options) or based
        for row, cell in page.rows(cells):
            _point(axes, row, cell, metric, options)
        if metric == "tom_percent":
            axes.set_xlim(-4, 104)
        else:
            axes.margins(x=0.06)
            axes.axvline(0, color="0.6", lw=0.6, zorder=1)
    if based:
        words = f"tabular baseline ({TABULAR})"
        line = Line2D([], [], color=BASELINE, lw=1.1, ls=(0, (4, 1.5)), label=words)
        add_legend(figure, [line], top=True, handlelength=3)
    return figure


def _tabular_line(axes: Axes, cells: Sequence[RunCell], metric: str, options: Options) -> bool:
    """Draw the tabular baseline of a task with its interval; tell whether there is one."""
    base = baseline(cells)
    if base is None:
        return False
    found = metric_estimates(base, [metric], options)
    if np.isfinite(found.low[0]):
        axes.axvspan(float(found.low[0]), float(found.high[0]), color="0.86", lw=0, zorder=1)
    axes.axvline(float(found.mean[0]), color=BASELINE, lw=1.1, ls=(0, (4, 1.5)), zorder=2)
    return True


def _point(axes: Axes, row: int, cell: RunCell, metric: str, options: Options) -> None:
    """Draw one subject's mean and interval; nothing where the metric has no value."""
    found = metric_estimates(cell, [metric], options)
    if np.isnan(found.mean[0]):
        return
    if np.isfinite(found.low[0]):
        axes.plot([found.low[0], found.high[0]], [row, row], color="#0072B2", lw=1.4, zorder=3)
    tabular = cell.definition["kind"] == TABULAR
    axes.plot(
        found.mean[0],
        row,
        marker="D" if tabular else "o",
        color=BASELINE if tabular else "#0072B2",
        markeredgecolor="white",
        markeredgewidth=0.4,
        markersize=3.8,
        zorder=4,
    )
