"""Predictions, actions and regret by step since the partner's policy changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.domains.matrix.played import BoolArray, FloatArray
from tomeval.domains.matrix.results import matrix_cell
from tomeval.extensions.adaptation.measures import adaptation
from tomeval.plots.drawing import (
    DEFAULT,
    Drawing,
    Options,
    interval_words,
    sample_words,
    with_interval,
)
from tomeval.plots.families import by_task
from tomeval.plots.settings import SMALL, in_style
from tomeval.plots.style import COLOURS, add_head, add_legend, fold, lines_of, new_figure
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run
from tomeval.statistics import Estimate
from tomeval.statistics.bounded import FROM_ZERO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 6
"""Subjects in one picture; further ones go on the next."""

_LINES: dict[str, dict[str, Any]] = {
    "prediction right": {"color": COLOURS[0], "ls": "-"},
    "action optimal": {"color": COLOURS[1], "ls": "--"},
    "regret of the step": {"color": "0.15", "ls": "-"},
}


def adaptation_figures(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw a row per subject and a figure per task whose partners change."""
    return [
        Drawing(
            "adaptation",
            stem,
            _figure(cells, title, options),
            f"Adaptation to a change of policy: {title}",
            f"{title}: left, percent of episodes in which the prediction names the partner's most "
            "probable action (solid) and in which the action is optimal for the rest of the "
            "episode (dashed); right, the regret of the actions; both by step since the partner's "
            f"policy changed. Means over {sample_words(cells)}; bands: {interval_words(options)}.",
            "; ".join(_words(cell, options) for cell in cells) + ".",
        )
        for title, stem, cells in by_task("adaptation", filter(_can_be_drawn, run.cells), MOST_ROWS)
    ]


def _can_be_drawn(cell: RunCell) -> bool:
    """Tell whether episodes of a cell can be laid over each other at the change."""
    if not len(cell.episodes):
        return False
    measured = adaptation(matrix_cell(cell).played)
    return bool(measured.steps.switched.any()) and not np.isnan(measured.window.after)


def _words(cell: RunCell, options: Options) -> str:
    """Say a cell's lags in words."""
    names = ("detection_steps", "adaptation_steps", "knowing_lead_steps")
    lags = cell.estimate(names, options.interval, options.reference)
    said = [with_interval(lags, index) for index in range(3)]
    return (
        f"{cell.title}: detection after {said[0]} steps, adaptation after {said[1]}, "
        f"difference {said[2]}"
    )


def _aligned(cell: RunCell, options: Options) -> tuple[FloatArray, list[Estimate | None]]:
    """Return steps since the change, and means over the episodes that switched of `_LINES`.

    Steps are those that all of these episodes have; None where nothing was predicted.
    """
    measured = adaptation(matrix_cell(cell).played)
    around = measured.steps
    rows = np.flatnonzero(around.switched)
    start = around.change[rows] - 1
    before = min(int(start.min()), int(measured.window.after))
    after = int((around.lengths[rows] - start).min())
    places = start[:, None] + np.arange(-before, after)

    def mean(values: FloatArray | BoolArray, top: float) -> Estimate:
        table = np.full((len(around.change), places.shape[1]), np.nan)
        table[rows] = np.take_along_axis(values[rows].astype(np.float64), places, axis=1) * top
        bounds = (0.0, 100.0) if top == 100.0 else FROM_ZERO
        return cell.mean(table, options.interval, among=around.switched, bounds=bounds)

    right = None if around.predicted is None else mean(around.predicted.right, 100.0)
    means = [right, mean(around.acted.right, 100.0), mean(around.loss, 1.0)]
    return np.arange(-before, after, dtype=np.float64), means


@in_style
def _figure(cells: Sequence[RunCell], title: str, options: Options) -> Figure:
    """Draw two panels per subject: answers that are right, and regret."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    names = [fold(cell.title, int(6.5 * options.width)) for cell in cells]
    height = len(cells) * (1.1 + 0.125 * lines_of(names)) + 0.4
    figure, panels = new_figure(options.width, height, len(cells), 2, sharex=True, sharey="col")
    for row, (cell, name) in enumerate(zip(cells, names, strict=True)):
        left, right = panels[2 * row : 2 * row + 2]
        steps, means = _aligned(cell, options)
        for axes, made, look in zip((left, left, right), means, _LINES.values(), strict=True):
            if made is not None:
                _line(axes, steps, made, look)
        left.set_ylim(-4, 104)
        left.set_yticks([0, 50, 100])
        right.axhline(0, color="0.4", lw=0.6)
        left.set_title(name, loc="left", fontsize=SMALL)
        for axes in (left, right):
            axes.axvline(-0.5, color="0.4", lw=0.8, ls=":")
            axes.margins(x=0.01)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))  # there is no step 2.5
    for axes in panels[-2:]:
        axes.set_xlabel("steps since the change")
    middle = (len(cells) - 1) // 2 * 2
    panels[middle].set_ylabel("% of episodes")
    panels[middle + 1].set_ylabel("regret (payoff units)")
    add_head(figure, title)
    handles = [Line2D([], [], lw=1.4, label=label, **look) for label, look in _LINES.items()]
    add_legend(figure, handles, handlelength=3)
    return figure


def _line(axes: Axes, x: FloatArray, made: Estimate, look: dict[str, Any]) -> None:
    """Draw a mean by step with its band."""
    axes.plot(x, made.mean, lw=1.3, **look)
    if np.isfinite(made.low).all():
        axes.fill_between(x, made.low, made.high, color=look["color"], alpha=0.18, linewidth=0)
