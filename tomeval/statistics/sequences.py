"""Confidence sequences of means: intervals that hold at every look at once, and e-values.

With finite bounds a sequence is the set of means that a bettor cannot get rich against
(Waudby-Smith and Ramdas 2024): valid from the first sampling unit, whatever the values between the
bounds. Without, it is the normal mixture of Robbins (1970) with the spread estimated, as in a t
test (Lai 1976), whose limit is the asymptotic sequence of Waudby-Smith et al. (2024, theorem 2.2).
It holds for normal values at any number; others have to show their tails first, so it waits for
`VARIED` values and counts with larger ones than were seen. Both mix over sizes of an effect, so the
order of the values does not matter. An interval excludes a mean if and only if the e-value of that
mean is at least 1 / (1 - confidence).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tomeval.statistics.bootstrap import IntArray
from tomeval.statistics.bounded import NO_SPREAD, UNBOUNDED, Bounds, FloatArray, holds

CONFIDENCE = 0.95
DEFAULT_TUNE = 60
"""The number of sampling units at which sequences are tightest."""
VARIED = 20
"""Without bounds, so many values must differ from the most common one before an interval begins."""
_SKEW = 10  # by simulation, so that exponential values and such with zeros are held, see `_spread`
_OCTAVES = np.array([0.02, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
"""Bets, as powers of 1/2 of the largest that cannot lose everything."""
_BOLD = 1 / 3  # on the first of them: for values that are close together beside the bounds
_MOST = 1 << 40  # sampling units that a number to come is sought among
_EDGE = 1e-9  # of the bounds' distance: how close to a bound a mean is tried


def mean_sequence(
    values: ArrayLike,
    confidence: float = CONFIDENCE,
    *,
    bounds: Bounds = UNBOUNDED,
    tune: float = DEFAULT_TUNE,
) -> tuple[float, float]:
    """Return the interval, after these values, of a sequence that holds at all numbers of values.

    Parameters
    ----------
    values : array_like, shape (n,)
        One per sampling unit; their order does not matter.
    confidence : float
        The least probability that all intervals of the sequence hold the expectation.
    bounds : tuple of float
        Between what every value lies; infinite: no bound. The interval lies there too. Values
        beyond a bound (by more than rounding) are treated as if it were known of the mean only.
    tune : float
        The number of sampling units at which the sequence is to be tightest.

    Returns
    -------
    low, high : float
        Around the mean. With two finite bounds, from one value on, and of positive width even if
        all values are equal. Otherwise NaN until `VARIED` values differ from the most common one.
        NaN without values.

    Notes
    -----
    With bounds 0 and 1, capital against the mean m is the average over both directions, and over
    fractions c from 0.99 to 1/256, of the products of 1 + c (x / m - 1) and of
    1 + c ((1 - x) / (1 - m) - 1): Waudby-Smith and Ramdas 2024, section 4, with a mixture in place
    of predicted bets. A third is on 0.99, the rest falls off as 1 / (1 + d^2), d octaves from the
    best bet on a fair coin at `tune`. It is a convex function of m, so the means with a capital
    below 1 / (1 - confidence) are an interval.

    Examples
    --------
    >>> [round(end, 3) for end in mean_sequence([0.0, 1.0] * 30, bounds=(0, 1))]
    [0.305, 0.695]
    """
    data, inside = _checked(values, bounds)
    if not len(data):
        return math.nan, math.nan
    mean = float(data.mean())
    if inside and bounds[0] == bounds[1]:
        return bounds
    if inside:
        points, counts = np.unique(_scaled(data, bounds), return_counts=True)
        start, width = bounds[0], bounds[1] - bounds[0]
        low, high = _crossings(points, counts, 1 - confidence, tune)
        return min(start + width * low, mean), max(start + width * high, mean)
    below, above = (_half(_spread(data, d), len(data), 1 - confidence, tune) for d in (-1, 1))
    if not _varies(data) or not math.isfinite(below + above):
        return math.nan, math.nan
    return max(mean - below, min(bounds[0], mean)), min(mean + above, max(bounds[1], mean))


def ratio_sequence(
    sums: ArrayLike,
    sizes: ArrayLike,
    confidence: float = CONFIDENCE,
    *,
    bounds: Bounds = UNBOUNDED,
    tune: float = DEFAULT_TUNE,
) -> tuple[float, float]:
    """Return the interval of the sum of `sums` over that of `sizes`, such as a share of all items.

    Parameters
    ----------
    sums, sizes : array_like, shape (n,)
        Per sampling unit what its items add up to, and how many they are, above 0.
    bounds : tuple of float
        Between what a single item lies.
    confidence, tune
        As for `mean_sequence`, whose interval this is if all sizes are equal. Else the ratio is
        linearised (Kish 1965), with bounds as much wider as the largest unit is: valid for many.

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
    low, high = mean_sequence(rows, confidence, bounds=wider, tune=tune)
    return max(low, min(bounds[0], ratio)), min(high, max(bounds[1], ratio))


def e_value(
    values: ArrayLike,
    null: float = 0.0,
    *,
    bounds: Bounds = UNBOUNDED,
    confidence: float = CONFIDENCE,
    tune: float = DEFAULT_TUNE,
) -> float:
    """Return the evidence against an expectation: 1 is no evidence, 20 rejects at 5 % at any look.

    Parameters
    ----------
    values, bounds, confidence, tune
        As for `mean_sequence`, the interval beside it; for a comparison, the differences of pairs.
    null : float
        The expectation that is tested.

    Returns
    -------
    float
        At least 0. Under `null` it reaches 1 / a at any time with probability a at most, so 1 / e
        is a p value at every look. 1 if the values say nothing: fewer than `VARIED` that differ,
        without two finite bounds. Infinite for a `null` beyond the bounds.

    Examples
    --------
    >>> round(e_value([0.3, 0.1, 0.4, 0.2, 0.3] * 4, bounds=(-1, 1)), 1)
    19.6
    """
    data, inside = _checked(values, bounds)
    if not bounds[0] <= null <= bounds[1]:
        return math.inf
    if not len(data) or bounds[0] == bounds[1] or not (inside or _varies(data)):
        return 1.0
    if inside:
        points, counts = np.unique(_scaled(data, bounds), return_counts=True)
        null = (null - bounds[0]) / (bounds[1] - bounds[0])
        log = _log_capital(points, counts, 1 - confidence, tune)(min(max(null, _EDGE), 1 - _EDGE))
    else:
        count, gain = len(data), _precision(1 - confidence, tune) * len(data)
        away = null - data.mean()
        square = (away / _spread(data, 1 if away > 0 else -1)) ** 2  # t^2 / (n - 1)
        log = (count * (np.log1p(square) - np.log1p(square / (1 + gain))) - np.log1p(gain)) / 2
    return float(np.exp(min(log, 700.0)))


def _checked(values: ArrayLike, bounds: Bounds) -> tuple[FloatArray, bool]:
    """Return the values, and whether all lie between two finite bounds."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1:
        raise ValueError(f"values of shape {data.shape}; a sequence is one row of sampling units")
    low, high = np.array(bounds, dtype=np.float64)[:, None]
    return data, bool(np.isfinite([low, high]).all() and holds(data[:, None], low, high)[0])


def _scaled(data: FloatArray, bounds: Bounds) -> FloatArray:
    scaled: FloatArray = np.clip((data - bounds[0]) / (bounds[1] - bounds[0]), 0.0, 1.0)
    return scaled


def _varies(data: FloatArray) -> bool:
    """Tell whether enough values differ from the most common one."""
    ordered = np.sort(data)
    steps = np.diff(ordered) > NO_SPREAD * (1 + np.abs(ordered[:-1]))
    runs = np.diff(np.concatenate([[0], np.flatnonzero(steps) + 1, [len(data)]]))
    return bool(len(data) - runs.max() >= VARIED)


def _spread(data: FloatArray, side: int) -> float:
    """Return the standard deviation, with n, that the end above (1) or below (-1) is made with.

    To the variance come a value as far off as the farthest on this side, and `_SKEW` as far off as
    it is beyond the farthest on the other side: what a longer tail may hold, gone as n grows.
    """
    away = side * (data - data.mean())
    unseen = away.max() ** 2 + _SKEW * max(away.max() + away.min(), 0.0) ** 2
    return float(np.sqrt(data.var() + unseen / len(data)))


def _precision(alpha: float, tune: float) -> float:
    """Return the variance of the tightest mixture at `tune` units (2024, appendix B.2)."""
    return (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / tune


def _half(deviation: float, count: int, alpha: float, tune: float) -> float:
    """Return half the width without bounds; `deviation` divides by n. Infinite: no interval yet."""
    gain = 1 + count * _precision(alpha, tune)
    most = (math.sqrt(gain) / alpha) ** (2 / count)
    return deviation * math.sqrt((most - 1) * gain / (gain - most)) if most < gain else math.inf


def _log_capital(
    points: FloatArray, counts: FloatArray | IntArray, alpha: float, tune: float
) -> Callable[[float], float]:
    """Return the logarithm of the capital against a mean between 0 and 1; see `mean_sequence`."""
    best = math.sqrt(2 * math.log(2 / alpha) / tune)  # for values at both bounds, half of each
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
    points: FloatArray, counts: FloatArray | IntArray, alpha: float, tune: float
) -> tuple[float, float]:
    """Return between which means the capital stays below 1 / alpha, in [0, 1]."""
    from scipy.optimize import brentq

    capital, most = _log_capital(points, counts, alpha, tune), math.log(1 / alpha)
    mean = min(max(float(points @ counts / counts.sum()), _EDGE), 1 - _EDGE)

    if capital(mean) >= most:  # so many values at a bound that even `_EDGE` is too far from it
        return float(round(mean)), float(round(mean))

    def end(edge: float) -> float:
        if mean == edge or capital(edge) < most:
            return float(round(edge))
        return float(brentq(lambda m: capital(m) - most, edge, mean, xtol=1e-10))

    return end(_EDGE), end(1 - _EDGE)
