"""Intervals of a mean over episodes: Student t, normal, confidence sequences."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tomeval.core.errors import unknown
from tomeval.statistics.bounded import (
    FEWEST,
    UNBOUNDED,
    FloatArray,
    IntArray,
    cut,
    holds,
    score_ends,
    t_quantile_975,
)
from tomeval.statistics.sequences import ratio_sequence

AUTO, SEQUENCE = "auto", "sequence"
INTERVALS = (AUTO, "normal", "t", SEQUENCE)
FEW = 30
"""Below this many sampling units the normal form is too narrow, and `AUTO` is Student's t."""
RESAMPLES = 9_999
NORMAL_975 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


class Estimate(NamedTuple):
    """A mean and its 95 % interval, each of shape (M,) for M metrics.

    `half` is half the interval's width. NaN mean: no episode. NaN interval: fewer sampling units
    than `tomeval.statistics.bounded.FEWEST`.
    """

    mean: FloatArray
    half: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, mean: ArrayLike, low: ArrayLike = np.nan, high: ArrayLike = np.nan) -> Estimate:
        """Return means, (M,) or a number, with the ends of their intervals; by default without.

        Examples
        --------
        >>> Estimate.of(3.0, 2.0, 5.0).half.tolist(), Estimate.of(3.0).low.tolist()
        ([1.5], [nan])
        """
        parts = np.broadcast_arrays(np.atleast_1d(mean), low, high)
        value, first, last = (np.array(part, dtype=np.float64) for part in parts)
        return cls(value, (last - first) / 2, first, last)


def estimate(
    values: ArrayLike,
    method: str = AUTO,
    *,
    clusters: ArrayLike | None = None,
    bounds: ArrayLike = UNBOUNDED,
) -> Estimate:
    """Return means over episodes with 95 % confidence intervals.

    Parameters
    ----------
    values : array_like, shape (E,) or (E, M)
        One row per episode; steps within an episode are not independent.
    method : {"auto", "normal", "t", "sequence"}
        ``normal``: ± 1.96 sd / sqrt(E), the published form. ``t``: Student's t with E - 1 degrees
        of freedom. ``auto``: ``t`` below `FEW` sampling units, ``normal`` from there on.
        ``sequence``: holds at every number of episodes at once, however often one looks, see
        `tomeval.statistics.sequences`.
    clusters : array_like, shape (E,), optional
        Episodes with one label are one sampling unit, such as those on a common deal. The mean
        stays that over episodes; its interval is that of a ratio of sums over clusters, linearised
        (Kish 1965). Default: every episode is its own.
    bounds : array_like, shape (2,) or (M, 2)
        Between what expectations lie; infinite: no bound. Intervals end there. Where all values
        lie there too, they are those of `tomeval.statistics.bounded.score_ends`.

    Returns
    -------
    Estimate
        Metrics that are NaN in any episode give NaN. Equal values give an interval of width 0 if
        they lack a bound.

    Notes
    -----
    All say how far the mean would move with other episodes of the same cell: other partners
    drawn, other draws of the subject. None covers other games, labels or models.

    Examples
    --------
    >>> result = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> float(result.mean[0]), round(float(result.half[0]), 4)
    (3.0, 1.9632)
    >>> found = estimate([97.0, 100.0, 99.0, 100.0, 100.0], bounds=(0, 100))
    >>> round(float(found.low[0]), 1), round(float(found.high[0]), 1)
    (95.4, 99.9)
    """
    if method not in INTERVALS:
        raise unknown("interval", method, INTERVALS)
    data = np.asarray(values, dtype=np.float64)
    data = data[:, None] if data.ndim == 1 else data
    low, high = np.asarray(bounds, dtype=np.float64).T
    if method == SEQUENCE:
        return _sequences(
            data, clusters, np.broadcast_to(np.stack([low, high], -1), (data.shape[1], 2))
        )
    bounded = holds(data, low, high)
    if clusters is not None:
        labels = np.unique(np.asarray(clusters), return_inverse=True)[1]
        if len(set(labels.tolist())) < len(data):
            data = _unit_rows(data, labels)
    count, size = data.shape
    mean = data.mean(axis=0) if count else np.full(size, np.nan)
    if count < FEWEST:
        return Estimate.of(mean)
    error = data.std(axis=0, ddof=1) / np.sqrt(count)
    inner = np.where(bounded, low, -np.inf), np.where(bounded, high, np.inf)
    first, last = score_ends(mean, error, _quantile(method, count), count, *inner)
    first, last = cut(first, last, mean, low, high)
    return Estimate.of(mean, first, last)


def _sequences(data: FloatArray, clusters: ArrayLike | None, bounds: FloatArray) -> Estimate:
    """Return means of (E, M) with the ends of confidence sequences; `bounds` of shape (M, 2)."""
    count, size = data.shape
    labels = np.arange(count) if clusters is None else np.asarray(clusters)
    of = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(of)
    mean = data.mean(axis=0) if count else np.full(size, np.nan)
    ends = np.full((2, size), np.nan)
    for column in np.flatnonzero(np.isfinite(mean)) if len(sizes) >= FEWEST else ():
        sums = np.bincount(of, weights=data[:, column])
        between = float(bounds[column, 0]), float(bounds[column, 1])
        ends[:, column] = ratio_sequence(sums, sizes, bounds=between)
    return Estimate.of(mean, *ends)


def _quantile(method: str, units: int) -> float:
    """Return the number of standard errors on either side."""
    if kind_of(method, units) == "normal":
        return 1.96
    return t_quantile_975(units - 1)


def kind_of(method: str, units: int) -> str:
    """Return the kind of interval that a method gives for a number of sampling units.

    Examples
    --------
    >>> kind_of("auto", 29), kind_of("auto", 30), kind_of("normal", 6)
    ('t', 'normal', 'normal')
    """
    if method != AUTO:
        return method
    return "t" if units < FEW else "normal"


def _unit_rows(data: FloatArray, labels: IntArray) -> FloatArray:
    """Return one row per cluster, whose mean is that of all episodes.

    A row is that mean and the sum of the cluster's deviations from it, over the mean size.
    """
    mean = data.mean(axis=0)
    sums = np.zeros((int(labels.max()) + 1, data.shape[1]))
    np.add.at(sums, labels, data - mean)
    rows: FloatArray = mean + sums * (len(sums) / len(data))
    return rows


class Share(NamedTuple):
    """A share and its 95 % interval, all from 0 to 1.

    `items` and `clusters` count what the share is of. NaN share: no item; NaN interval: fewer
    clusters than `tomeval.statistics.bounded.FEWEST`.
    """

    share: float
    low: float
    high: float
    items: int
    clusters: int


def clustered_share(hits: ArrayLike, clusters: ArrayLike) -> Share:
    r"""Return a share over all items with a Wilson interval that respects clusters.

    Parameters
    ----------
    hits : array_like of bool, shape (N,)
        The items, such as turns.
    clusters : array_like, shape (N,)
        The cluster of each item, such as its game.

    Returns
    -------
    Share
        Wilson's interval (1927) if every cluster has one item. Else Wilson's with the effective
        number of items n / d and Student's quantile with G - 1 degrees of freedom:

        - share p = sum of x_g / sum of n_g, with x_g hits among n_g items in each of G clusters;
        - variance of p, linearised: v = G / (G - 1) x sum of (x_g - p n_g)^2 / n^2 (Kish 1965);
        - design effect d = v / (p (1 - p) / n), not below 1.

        If all items agree, v says nothing, and every cluster counts as one item.

    Notes
    -----
    The interval says how far the share would move with other games of the same pairing; see Korn
    and Graubard 1998 for effective sample sizes in intervals of shares.

    Examples
    --------
    >>> found = clustered_share([1, 1, 1, 1, 1, 1, 1, 1, 0, 0], range(10))
    >>> found.share, round(found.low, 4), round(found.high, 4)
    (0.8, 0.4902, 0.9433)
    >>> by_two = clustered_share([1, 1, 1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    >>> by_two.items, by_two.clusters, by_two.low < found.low
    (10, 5, True)
    """
    x = np.asarray(hits, dtype=np.float64)
    return clustered_sums(x, np.ones(len(x)), clusters)


def clustered_sums(
    hits: ArrayLike, items: ArrayLike, clusters: ArrayLike, *, sequence: bool = False
) -> Share:
    """Return the share of `clustered_share` from sums of parts of clusters, such as episodes.

    Parameters
    ----------
    hits, items : array_like, shape (E,)
        Hits and items of each part; clusters without items are left out.
    clusters : array_like, shape (E,)
        The cluster of each part.
    sequence : bool
        With `tomeval.statistics.sequences.ratio_sequence` as the interval.
    """
    inverse = np.unique(np.asarray(clusters), return_inverse=True)[1]
    top, size = (np.bincount(inverse, weights=np.asarray(part)) for part in (hits, items))
    top, size = top[size > 0], size[size > 0]
    groups, n = len(size), int(size.sum())
    if n == 0:
        return Share(math.nan, math.nan, math.nan, 0, 0)
    p = float(top.sum()) / n
    if groups < FEWEST:
        return Share(p, math.nan, math.nan, n, groups)
    if sequence:
        return Share(p, *ratio_sequence(top, size, bounds=(0.0, 1.0)), n, groups)
    variance, quantile = p * (1 - p) / n, NORMAL_975
    if groups < n:
        between = groups / (groups - 1) * float(((top - p * size) ** 2).sum()) / n**2
        variance, quantile = max(variance, between), t_quantile_975(groups - 1)
    low, high = score_ends(p, math.sqrt(variance), quantile, groups, 0, 1)
    return Share(p, float(low), float(high), n, groups)
