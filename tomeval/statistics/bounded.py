"""Intervals of means that have bounds, such as shares: they end inside, and hold the mean."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FEWEST = 5
"""With fewer sampling units there is no interval: two equally likely kinds of episode would show as
one in 1 / 2^(n - 1) of samples, 12 % for four, and no spread that they show means anything."""

NO_SPREAD = 1e-12
"""A standard error this small beside the bounds' distance is the rounding of equal values."""

Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-math.inf, math.inf)
FROM_ZERO: Bounds = (0.0, math.inf)


def t_quantile_975(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def score_ends(
    mean: ArrayLike,
    error: ArrayLike,
    quantile: ArrayLike,
    units: ArrayLike,
    low: ArrayLike = -math.inf,
    high: ArrayLike = math.inf,
) -> tuple[FloatArray, FloatArray]:
    r"""Return the ends of the score interval of a mean whose values lie between two bounds.

    Parameters
    ----------
    mean, error : array_like
        The mean and its standard error, estimated from the spread of the sampling units.
    quantile : array_like
        Of Student's t, or the normal one.
    units : array_like
        The number of sampling units.
    low, high : array_like
        The bounds, which no value exceeds; infinite where there is no bound.

    Returns
    -------
    low, high : ndarray
        Within the bounds, and around the mean.

    Notes
    -----
    The spread of values is taken to depend on their expectation m as that of a share does: the
    variance is proportional to (m - low) (high - m), to the one factor where only one bound is
    finite, and constant without bounds. The interval holds every m whose distance from the mean is
    at most `quantile` of its standard errors (Wilson 1927 for shares, with an effective number of
    items as in Korn and Graubard 1998). Without bounds that is Student's interval; for independent
    hits it is Wilson's. Where all values are alike, their spread says nothing: as in Wilson's
    interval of hits alone, a share q^2 / (units + q^2) of others, q the quantile, may lie at either
    bound unseen; with an infinite bound the width is 0.

    Examples
    --------
    >>> [round(float(end), 4) for end in score_ends(0.8, (0.16 / 10) ** 0.5, 1.959964, 10, 0, 1)]
    [0.4902, 0.9433]
    >>> [round(float(end), 2) for end in score_ends(1.0, 0.5, 2.0, 9, 0)]
    [0.38, 2.62]
    >>> [round(float(end), 2) for end in score_ends(100.0, 0.0, 2.0, 12, 0, 100)]
    [75.0, 100.0]
    """
    mean, error, quantile, units, low, high = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (mean, error, quantile, units, low, high))
    )
    below, above = np.maximum(mean - low, 0.0), np.maximum(high - mean, 0.0)
    both, alike = np.isfinite(below) & np.isfinite(above), no_spread(error, mean, low, high)
    square = np.where(alike, 0.0, (quantile * error) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        # d^2 = square (1 + d / below) (1 - d / above) for the distance d = m - mean.
        tilt, bend = square * (1 / below - 1 / above), square / below / above
        root = np.sqrt(tilt**2 + 4 * (1 + bend) * square)
        ends = (tilt - root) / (2 * (1 + bend)), (tilt + root) / (2 * (1 + bend))
    unseen = np.where(both, quantile**2 / (units + quantile**2), 0.0)
    with np.errstate(invalid="ignore"):
        unseen_ends = np.where(both, below * -unseen, 0.0), np.where(both, above * unseen, 0.0)
    first, last = (mean + np.where(alike, *pair) for pair in zip(unseen_ends, ends, strict=True))
    return cut(first, last, mean, low, high)


def no_spread(
    error: ArrayLike, mean: ArrayLike, low: ArrayLike, high: ArrayLike
) -> NDArray[np.bool_]:
    """Return whether a standard error is that of equal values: 0, but for rounding.

    Examples
    --------
    >>> no_spread([0.0, 1e-8, 1e-8], 1e6, -math.inf, [math.inf, 5.0, 5.0]).tolist()
    [True, True, True]
    >>> no_spread([1e-4, 1e-8], 1e6, 0.0, 1e9).tolist()
    [True, True]
    >>> no_spread(1e-8, 1.0, 0.0, 5.0).tolist()
    False
    """
    width = np.subtract(high, low)
    scale = np.where(np.isfinite(width), width, 1 + np.abs(mean))
    return np.asarray(np.less_equal(error, NO_SPREAD * scale), dtype=np.bool_)


def cut(
    first: ArrayLike, last: ArrayLike, mean: ArrayLike, low: ArrayLike, high: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals, cut at bounds, or at the mean where it is beyond one.

    Examples
    --------
    >>> [end.tolist() for end in cut([91.0, -1.0], [103.0, 1.0], [97.0, -0.5], 0, 100)]
    [[91.0, -0.5], [100.0, 1.0]]
    """
    start: FloatArray = np.maximum(first, np.minimum(low, mean))
    end: FloatArray = np.minimum(last, np.maximum(high, mean))
    return start, end


def holds(values: FloatArray, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Return whether all values of each column, (E, M), lie between its bounds, (M,)."""
    with np.errstate(invalid="ignore"):
        slack = 1e-9 * np.where(np.isfinite(high - low), high - low, 1.0)
    inside = (values >= low - slack) & (values <= high + slack)
    return np.asarray(inside.all(axis=0), dtype=np.bool_)


def ends_if_alike(
    score: float, units: int, low: float = -math.inf, high: float = math.inf
) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a score that was the same in all units.

    As in Wilson's interval of hits alone, a share 3.84 / (units + 3.84) of other episodes may not
    have been seen: at chance, 0, or at the best, 100. Of scores that lie beyond, at the bound.

    Parameters
    ----------
    score : float
        From 0 at chance to 100 at the best attainable.
    units : int
        The number of sampling units, at least `FEWEST`.
    low, high : float
        The bounds of the score; infinite: nothing lies beyond it.

    Examples
    --------
    >>> [round(end, 1) for end in ends_if_alike(100.0, 5, -50.0, 100.0)]
    [56.6, 100.0]
    >>> [round(end, 1) for end in ends_if_alike(-50.0, 15, -50.0, 100.0)]
    [-50.0, -19.4]
    """
    unseen = 1.96**2 / (units + 1.96**2)
    below = 0.0 if score > 0 else min(low, score)
    above = 100.0 if score < 100 else max(high, score)
    below, above = (end if math.isfinite(end) else score for end in (below, above))
    return score + unseen * (below - score), score + unseen * (above - score)
