"""Calibration: how often the likeliest action is right, by its stated probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.extensions.probabilistic.measures import NAME
from tomeval.games.matrix.played import FloatArray, IntArray, data_of
from tomeval.games.matrix.results import MatrixRunCell, matrix_cell, matrix_cells
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import Sheet, by_task
from tomeval.plots.style import BASELINE_LINE, MARKERS, add_head, in_style, line_style, new_figure
from tomeval.runs.columns import Table, fixed, flat_share
from tomeval.runs.results import Run
from tomeval.statistics.shares import Share, clustered_share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 15
"""Bins of equal width that confidence is sorted into (Guo et al. 2017)."""

MOST_LINES = 6
"""Subjects in one picture; further ones go on the next."""


def curve(probs: FloatArray, outcomes: IntArray, episode: IntArray) -> list[tuple[float, Share]]:
    """Return the mean confidence and the share that was right of each bin with forecasts.

    Confidence is the greatest of a forecast's probabilities, (N, K); bin k holds those above k /
    BINS up to (k + 1) / BINS. Where several of the outcomes share it, each is named equally often:
    one that happens is right by 1 over their number. Intervals are Wilson's, with episodes, (N,),
    as clusters.

    Examples
    --------
    >>> [(sure, right)] = curve(np.array([[0.5, 0.5]] * 4), np.array([0, 0, 0, 1]), np.arange(4))
    >>> sure, right.share, right.items
    (0.5, 0.5, 4)
    """
    confidence = probs.max(axis=1)
    named = probs >= confidence[:, None] - 1e-9  # up to rounding
    right = named[np.arange(len(probs)), outcomes] / named.sum(axis=1)
    place = np.clip(np.ceil(np.round(confidence * BINS, 9)), 1, BINS)
    return [
        (float(confidence[here].mean()), clustered_share(right[here], episode[here]))
        for here in (place == k for k in np.unique(place))
    ]


def stated_cells(run: Run) -> list[MatrixRunCell]:
    """Return the cells with complete episodes and stated probabilities."""
    playing = [cell for cell in matrix_cells(run) if cell.played.episodes]
    return [cell for cell in playing if np.isfinite(data_of(cell.played, NAME).probs).any()]


def curve_of(cell: MatrixRunCell) -> list[tuple[float, Share]]:
    """Return the curve of a cell's steps with probabilities, see `curve`."""
    played, probs = cell.played, data_of(cell.played, NAME).probs
    there = np.isfinite(probs[:, 0])
    episode = np.repeat(np.arange(played.episodes), played.lengths)[there]
    return curve(probs[there], played.partner[there], episode)


def rows(run: Run) -> list[dict[str, Any]]:
    """Return one row per cell with stated probabilities and bin of confidence."""
    return [
        dict(cell.columns)
        | {"probabilities": "draws" if data_of(cell.played, NAME).draws.any() else "stated"}
        | {"confidence_percent": 100 * confidence}
        | (
            {"right_percent": 100 * right.share}  # episodes that are no sample have no interval
            if cell.each_once
            else flat_share("right_percent", right)
        )
        | {"steps": right.items}
        for cell in stated_cells(run)
        for confidence, right in curve_of(cell)
    ]


TABLES = {
    NAME: Table(
        "calibration: how often the likeliest action is right, by its stated probability",
        fixed(rows),
        needs="predictions with probabilities, from scored labels (LM) or draws = N: "
        'docs/measures/probabilistic.md, "Probabilistic predictions"',
    ),
}


def probabilistic(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw calibration curves, a figure per task."""
    return [
        Drawing(
            NAME,
            sheet.stem,
            _figure(sheet, options),
            f"Stated probabilities: {sheet.title}",
            f"{sheet.title}. How often the likeliest action was right, by its stated probability, "
            f"in {BINS} bins of equal width; bars are Wilson's 95 % intervals, episodes as "
            "clusters. Below the dashed line the subject is overconfident. Of "
            f"{sample_words(sheet.cells)}.",
            "; ".join(
                f"{cell.title}: "
                + ", ".join(
                    f"{100 * sure:.0f} % sure and {100 * right.share:.0f} % right"
                    for sure, right in curve_of(matrix_cell(cell))
                )
                for cell in sheet.cells
            ),
        )
        for sheet in by_task(NAME, stated_cells(run), MOST_LINES)
    ]


@in_style
def _figure(sheet: Sheet, options: Options) -> Figure:
    """Draw one task: a curve per subject, with bars unless episodes are no sample."""
    figure, [axes] = new_figure(options.width, 0.75 * options.width, 1, 1)
    for index, cell in enumerate(sheet.cells):
        bins = curve_of(matrix_cell(cell))
        x = [100 * confidence for confidence, _ in bins]
        y, low, high = 100 * np.array([right[:3] for _, right in bins]).T
        bars = None if cell.each_once else (y - low, high - y)
        look = line_style(index) | {"marker": MARKERS[index], "markersize": 4, "elinewidth": 0.8}
        axes.errorbar(x, y, bars, label=cell.title, **look)
    axes.plot([0, 100], [0, 100], label="calibrated", zorder=1, **BASELINE_LINE)
    axes.set(xlim=(-3, 103), ylim=(-3, 103), aspect="equal")
    axes.set(xlabel="probability of the likeliest action (%)", ylabel="how often it is right (%)")
    add_head(figure, sheet.title, axes.get_legend_handles_labels()[0])
    return figure
