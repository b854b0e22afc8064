"""Confidence sequences of means: intervals that hold at every look at once.

A sequence is the set of means that a bettor cannot get rich against (Waudby-Smith and Ramdas 2024):
valid from the first sampling unit, whatever the values between their bounds; without finite bounds
there is none. It mixes over sizes of an effect, so the order of the values does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tomeval.statistics.bounded import UNBOUNDED, Bounds, FloatArray, IntArray, holds

CONFIDENCE = 0.95
TUNE = 60
"""The number of sampling units at which sequences are tightest."""
_OCTAVES = np.array([0.02, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
"""Bets, as powers of 1/2 of the largest that cannot lose everything."""
_BOLD = 1 / 3  # on the first of them: for values that are close together beside the bounds
_EDGE = 1e-9  # of the bounds' distance: how close to a bound a mean is tried


def mean_sequence(
    values: ArrayLike, confidence: float = CONFIDENCE, *, bounds: Bounds = UNBOUNDED
) -> tuple[float, float]:
    """Return the interval, after these values, of a sequence that holds at all numbers of values.

    Parameters
    ----------
    values : array_like, shape (n,)
        One per sampling unit; their order does not matter.
    confidence : float
        The least probability that all intervals of the sequence hold the expectation.
    bounds : tuple of float
        Between what every value lies.

    Returns
    -------
    low, high : float
        Around the mean, from one value on, and of positive width even if all values are equal. NaN
        without values, without finite bounds, or if a value lies beyond them by more than rounding.

    Notes
    -----
    With bounds 0 and 1, capital against the mean m is the average over both directions, and over
    fractions c from 0.99 to 1/256, of the products of 1 + c (x / m - 1) and of
    1 + c ((1 - x) / (1 - m) - 1): Waudby-Smith and Ramdas 2024, section 4, with a mixture in place
    of predicted bets. A third is on 0.99, the rest falls off as 1 / (1 + d^2), d octaves from the
    best bet on a fair coin at `TUNE`. It is a convex function of m, so the means with a capital
    below 1 / (1 - confidence) are an interval.

    Examples
    --------
    >>> [round(end, 3) for end in mean_sequence([0.0, 1.0] * 30, bounds=(0, 1))]
    [0.305, 0.695]
    """
    data = np.asarray(values, dtype=np.float64)
    start, end = map(float, bounds)
    inside = holds(data[:, None], *np.array([[start], [end]]))
    if not len(data) or not math.isfinite(end - start) or not inside[0]:
        return math.nan, math.nan
    if start == end:
        return start, end
    mean, scaled = float(data.mean()), np.clip((data - start) / (end - start), 0.0, 1.0)
    points, counts = np.unique(scaled, return_counts=True)
    low, high = _crossings(points, counts, 1 - confidence)
    return min(start + (end - start) * low, mean), max(start + (end - start) * high, mean)


def sequence_p(
    values: ArrayLike,
    expected: float,
    *,
    bounds: Bounds = UNBOUNDED,
    confidence: float = CONFIDENCE,
) -> float:
    """Return p of the hypothesis that the expectation is `expected`, valid at every look.

    One over the capital of `mean_sequence` against it, at most 1: under the hypothesis the
    probability that it is ever at or below p is at most p (Ville 1939). It is at most
    1 - confidence exactly where the sequence leaves `expected` out.

    Parameters
    ----------
    values, bounds, confidence
        As for `mean_sequence`; `confidence` only sets the number of units it is sharpest at.
    expected : float
        Between the bounds and on neither.

    Returns
    -------
    float
        NaN where there is no sequence, or `expected` is at or beyond a bound.

    Examples
    --------
    >>> round(sequence_p([1.0] * 10, 0.5, bounds=(0, 1)), 4)
    0.0051
    """
    (start, end), data = map(float, bounds), np.asarray(values, dtype=np.float64)
    inside = holds(data[:, None], *np.array([[start], [end]]))
    if not (len(data) and math.isfinite(end - start) and inside[0] and start < expected < end):
        return math.nan
    points, counts = np.unique(np.clip((data - start) / (end - start), 0, 1), return_counts=True)
    capital = _log_capital(points, counts, 1 - confidence)((expected - start) / (end - start))
    return float(min(1.0, math.exp(-capital)))


def ratio_sequence(
    sums: ArrayLike, sizes: ArrayLike, *, bounds: Bounds = UNBOUNDED
) -> tuple[float, float]:
    """Return the interval of the sum of `sums` over that of `sizes`, such as a share of all items.

    That of `mean_sequence` if all sizes are equal. Else the ratio is linearised (Kish 1965), with
    bounds as much wider as the largest unit is: valid for many.

    Parameters
    ----------
    sums, sizes : array_like, shape (n,)
        Per sampling unit what its items add up to, and how many they are, above 0.
    bounds : tuple of float
        Between what a single item lies.

    Examples
    --------
    >>> [round(end, 3) for end in ratio_sequence([0, 2, 3] * 10, [2, 2, 4] * 10, bounds=(0, 1))]
    [0.431, 0.774]
    """
    top, items = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if not len(top):
        return math.nan, math.nan
    ratio, widest = float(top.sum() / items.sum()), float(items.max() / items.mean())
    rows = ratio + (top - ratio * items) / items.mean()
    wider = ratio + widest * (bounds[0] - ratio), ratio + widest * (bounds[1] - ratio)
    low, high = mean_sequence(rows, bounds=wider)
    return max(low, min(bounds[0], ratio)), min(high, max(bounds[1], ratio))


def _log_capital(
    points: FloatArray, counts: FloatArray | IntArray, alpha: float
) -> Callable[[float], float]:
    """Return the logarithm of the capital against a mean between 0 and 1; see `mean_sequence`."""
    best = math.sqrt(2 * math.log(2 / alpha) / TUNE)  # for values at both bounds, half of each
    weights = 1 / (1 + (_OCTAVES + math.log2(best)) ** 2)
    weights *= (1 - _BOLD) / weights.sum()
    weights[0] += _BOLD
    shares = np.log(np.concatenate([weights, weights]) / 2)
    bets = 2.0 ** -_OCTAVES[:, None]

    def capital(mean: float) -> float:
        up = np.log1p(bets * (points / mean - 1)) @ counts
        down = np.log1p(bets * ((1 - points) / (1 - mean) - 1)) @ counts
        return float(np.logaddexp.reduce(np.concatenate([up, down]) + shares))

    return capital


def _crossings(
    points: FloatArray, counts: FloatArray | IntArray, alpha: float
) -> tuple[float, float]:
    """Return between which means the capital stays below 1 / alpha, in [0, 1]."""
    from scipy.optimize import brentq

    capital, most = _log_capital(points, counts, alpha), math.log(1 / alpha)
    mean = min(max(float(points @ counts / counts.sum()), _EDGE), 1 - _EDGE)

    if capital(mean) >= most:  # so many values at a bound that even `_EDGE` is too far from it
        return float(round(mean)), float(round(mean))

    def end(edge: float) -> float:
        if mean == edge or capital(edge) < most:
            return float(round(edge))
        return float(brentq(lambda m: capital(m) - most, edge, mean, xtol=1e-10))

    return end(_EDGE), end(1 - _EDGE)
