"""Calibration curves: how often the likeliest action is right, by its stated probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.numbers import number
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cell
from tomeval.extensions.probabilistic.forecasts import BINS, curve
from tomeval.extensions.probabilistic.measures import by_step
from tomeval.extensions.probabilistic.tables import calibration_error, calibration_of, stated_cells
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words, with_interval
from tomeval.plots.families import by_task
from tomeval.plots.settings import in_style
from tomeval.plots.style import BASELINE_LINE, MARKERS, add_head, line_style, new_figure
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "probabilistic"
MOST_LINES = 6
"""Subjects in one picture; further ones go on the next."""


def probabilistic(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw calibration curves, a figure per task."""
    drawings = []
    for title, stem, part in by_task(NAME, stated_cells(run), MOST_LINES):
        cells = [matrix_cell(cell) for cell in part]
        drawings.append(
            Drawing(
                NAME,
                stem,
                _figure(cells, title, options),
                f"Stated probabilities: {title}",
                f"{title}. How often the likeliest action was right, by its stated probability, in "
                f"{BINS} bins of equal width; larger dots have more steps; bars are Wilson's 95 % "
                "intervals, episodes as clusters. On the dashed line the subject is right as often "
                f"as it says; below the line it is overconfident. Of {sample_words(cells)}.",
                _describe(cells),
            )
        )
    return drawings


def _describe(cells: Sequence[MatrixRunCell]) -> str:
    """Say every subject's calibration error, its log loss and that of Bayes."""
    said = []
    for cell in cells:
        steps = by_step(cell.played)
        loss, best = (float(np.nanmean(steps[name])) for name in ("log_loss", "bayes_log_loss"))
        error = with_interval(calibration_error(cell), 0, 1)
        said.append(
            f"{cell.title}: calibration error {error} percentage points, log loss {number(loss)} "
            f"nats, Bayes {number(best)}"
        )
    return f"{'; '.join(said)}."


@in_style
def _figure(cells: Sequence[MatrixRunCell], title: str, options: Options) -> Figure:
    """Draw one task: a calibration curve per subject."""
    from matplotlib.lines import Line2D

    figure, [axes] = new_figure(options.width, 0.75 * options.width, 1, 1)
    handles = []
    for index, cell in enumerate(cells):
        _curve(axes, cell, index)
        style = line_style(index) | {"marker": MARKERS[index]}
        handles.append(Line2D([], [], label=cell.title, markersize=4, lw=1.2, **style))
    axes.plot([0, 100], [0, 100], zorder=1, **BASELINE_LINE)
    handles.append(Line2D([], [], label="calibrated", **BASELINE_LINE))
    axes.set(xlim=(-3, 103), ylim=(-3, 103), aspect="equal")
    axes.set(xlabel="probability of the likeliest action (%)", ylabel="how often it is right (%)")
    add_head(figure, title, handles)
    return figure


def _curve(axes: Axes, cell: MatrixRunCell, index: int) -> None:
    """Draw a dot per bin, larger with more steps, and bars unless episodes are no sample."""
    points = curve(calibration_of(cell))
    x, y, low, high = (100 * part for part in points[1:])
    style = line_style(index)
    axes.plot(x, y, lw=0.9, zorder=3, **style)
    if not cell.each_once:
        axes.vlines(x, low, high, color=style["color"], lw=0.8, alpha=0.6, zorder=2)
    size = 6 + 34 * points.items / points.items.sum()
    marks = {"marker": MARKERS[index], "color": style["color"]}
    axes.scatter(x, y, s=size, lw=0.4, ec="white", zorder=5, **marks)
