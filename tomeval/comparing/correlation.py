"""The correlation of a literal and a functional measure over cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tomeval.comparing.notes import draw_notes
from tomeval.comparing.sides import Runs, cell_names, metric_names, opened, read_sides
from tomeval.core.errors import TomevalError
from tomeval.runs.columns import filled
from tomeval.statistics.paired import FloatArray


@dataclass(frozen=True, eq=False)
class Correlation:
    """The correlation of a literal and a functional metric over C cells.

    Attributes
    ----------
    names : tuple of str
        The cells.
    x, y : ndarray, shape (C,)
        The cells' means of `literal` and of `functional`.
    pearson, pearson_low, pearson_high, spearman, spearman_low, spearman_high : float
        Coefficients and 95 % intervals over cells: Fisher's z, for ranks with the variance of
        Bonett and Wright 2000. NaN if `reason` says why.
    reason : str
    notes : tuple of str
    """

    literal: str
    functional: str
    names: tuple[str, ...]
    x: FloatArray
    y: FloatArray
    pearson: float
    pearson_low: float
    pearson_high: float
    spearman: float
    spearman_low: float
    spearman_high: float
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.x)


def correlate(
    runs: Runs,
    literal: str | None = None,
    functional: str | None = None,
    reference: str | None = None,
) -> Correlation:
    """Correlate a literal with a functional metric over cells; default: the headline measures.

    The cell is the sampling unit: the interval says how far the coefficient would move with other
    subjects and tasks like these, if cells were drawn independently. Cells that share a subject or
    a game are not quite independent, and cells of games with different payoffs mix units.
    """
    with opened(runs) as listed:
        headline = listed[0].domain.show.headline
        if literal is None and len(headline) < 2:
            raise TomevalError(
                f"domain {listed[0].domain.name!r} has no default literal measure: name a metric"
            )
        [functional] = metric_names(listed, [functional or headline[0]])
        [literal] = metric_names(listed, [literal or headline[1]])
        sides = read_sides(listed, None, [literal, functional], reference)
        labels = filled([{**side.cell.columns, "seed": side.seed} for side in sides])
    names = np.array(cell_names(labels), dtype=object)
    means = np.array(
        [side.values.mean(axis=0) if len(side.episodes) else [np.nan, np.nan] for side in sides]
    )
    kept = np.isfinite(means).all(axis=1)
    x, y = means[kept].T
    numbers = (tuple(names[kept].tolist()), x, y, *correlation(x, y))
    return Correlation(literal, functional, *numbers, tuple(draw_notes(sides)))


def correlation(
    x: FloatArray, y: FloatArray
) -> tuple[float, float, float, float, float, float, str]:
    """Return Pearson's and Spearman's coefficients, each with its interval, and why they are NaN.

    Examples
    --------
    >>> found = correlation(np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 3, 2, 5, 4]))
    >>> [round(value, 3) for value in found[:3]]
    [0.8, -0.28, 0.986]
    """
    from scipy.stats import rankdata

    nothing = (float("nan"),) * 6
    if x.shape != y.shape:
        raise TomevalError("a correlation needs equally many values on both sides")
    if len(x) < 3:
        return *nothing, f"{len(x)} cells: a correlation needs at least 3"
    if _constant(x) or _constant(y):
        return *nothing, "all cells have the same value on one side"
    pearson = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    ranks = rankdata(np.round(x, 10)), rankdata(np.round(y, 10))
    spearman = float(np.clip(np.corrcoef(*ranks)[0, 1], -1, 1))
    reason = "" if len(x) > 3 else "3 cells: an interval needs at least 4"
    ends = _fisher(pearson, len(x), 1.0)
    ranked = _fisher(spearman, len(x), 1 + spearman**2 / 2)
    return pearson, *ends, spearman, *ranked, reason


def _constant(values: FloatArray) -> bool:
    return float(np.ptp(values)) <= 1e-12 * max(1.0, float(np.abs(values).max()))


def _fisher(r: float, count: int, factor: float) -> tuple[float, float]:
    """Return the ends of an interval that is symmetric in Fisher's z."""
    if count < 4:
        return float("nan"), float("nan")
    if abs(r) >= 1:
        return r, r
    half = 1.959963984540054 * np.sqrt(factor / (count - 3))
    z = np.arctanh(r)
    return float(np.tanh(z - half)), float(np.tanh(z + half))
