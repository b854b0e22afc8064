"""Shares with Wilson intervals, of independent and of clustered draws."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tomeval.statistics.bounded import FEWEST, score_ends, t_quantile_975
from tomeval.statistics.sequences import ratio_sequence


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


def wilson(successes: float, count: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the Wilson score interval of a share (Wilson 1927).

    Parameters
    ----------
    successes, count : float
        `count` above 0; effective sample sizes need not be whole.
    z : float
        Normal (or t) quantile.

    Examples
    --------
    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    >>> wilson(0, 7)[0], wilson(7, 7)[1]
    (0.0, 1.0)
    """
    p, square = successes / count, z * z / count
    centre = (p + square / 2) / (1 + square)
    half = z * math.sqrt(p * (1 - p) / count + square / (4 * count)) / (1 + square)
    # Without hits the lower end is exactly 0, and the upper one exactly 1 without misses: the
    # difference of two equal numbers would leave the error of their rounding.
    low = max(0.0, centre - half) if p > 0 else 0.0
    return low, min(1.0, centre + half) if p < 1 else 1.0


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
        The plain Wilson interval if every cluster has one item. Else Wilson's with the effective
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
    >>> clustered_share([1, 1, 1, 0, 0, 0], [0, 1, 2, 3, 4, 5])[:3] == (0.5, *wilson(3, 6))
    True
    >>> by_two = clustered_share([1, 1, 0, 0, 1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    >>> by_two.items, by_two.clusters, by_two.low < wilson(5, 10)[0]
    (10, 5, True)
    """
    x = np.asarray(hits, dtype=np.float64)
    return clustered_sums(x, np.ones(len(x)), clusters)


def clustered_sums(
    hits: ArrayLike, items: ArrayLike, clusters: ArrayLike, *, sequence: bool = False
) -> Share:
    """Return the share of `share_of_sums` from sums of parts of clusters, such as episodes.

    Parameters
    ----------
    hits, items : array_like, shape (E,)
        Hits and items of each part.
    clusters : array_like, shape (E,)
        The cluster of each part.
    sequence : bool
        With `tomeval.statistics.sequences.ratio_sequence` as the interval.
    """
    inverse = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = [np.bincount(inverse, weights=np.asarray(part)) for part in (hits, items)]
    share = share_of_sums(*sums)
    if sequence and not math.isnan(share.low):
        some = sums[1] > 0
        low, high = ratio_sequence(sums[0][some], sums[1][some], bounds=(0.0, 1.0))
        return share._replace(low=low, high=high)
    return share


def share_of_sums(hits: ArrayLike, items: ArrayLike) -> Share:
    """Return a share over all items with the interval of `clustered_share`, from clusters' sums.

    Parameters
    ----------
    hits, items : array_like, shape (G,)
        Hits and items of each cluster; clusters without items are left out.

    Examples
    --------
    >>> share_of_sums([2, 0], [2, 2]) == clustered_share([1, 1, 0, 0], [0, 0, 1, 1])
    True
    """
    size = np.asarray(items, dtype=np.float64)
    hits_per, size = np.asarray(hits, dtype=np.float64)[size > 0], size[size > 0]
    groups, n = len(size), int(size.sum())
    if n == 0:
        return Share(math.nan, math.nan, math.nan, 0, 0)
    p = float(hits_per.sum()) / n
    if groups < FEWEST:
        return Share(p, math.nan, math.nan, n, groups)
    if groups == n:
        return Share(p, *wilson(hits_per.sum(), n), n, groups)
    variance = groups / (groups - 1) * float(((hits_per - p * size) ** 2).sum()) / n**2
    error = math.sqrt(max(variance, p * (1 - p) / n))
    low, high = score_ends(p, error, t_quantile_975(groups - 1), groups, 0, 1)
    return Share(p, float(low), float(high), n, groups)
