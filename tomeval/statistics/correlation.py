"""Coefficients of correlation with intervals."""

from __future__ import annotations

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.statistics.paired import FloatArray


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
        raise TomevalError("a correlation needs as many values on both sides")
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
