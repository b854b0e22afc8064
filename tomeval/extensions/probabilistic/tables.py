"""Calibration: how often the likeliest action is right, by its stated probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.extensions.probabilistic.measures import NAME
from tomeval.games.matrix.played import FloatArray, IntArray, data_of
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.runs.columns import Table, fixed, flat_share
from tomeval.runs.results import Run
from tomeval.statistics.shares import Share, clustered_share

BINS = 15
"""Bins of equal width that confidence is sorted into (Guo et al. 2017)."""


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
