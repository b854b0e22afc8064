"""How far rankings of the same players agree: Kendall's tau-b and W, Spearman's rho."""

from __future__ import annotations

import math

import numpy as np

from tomeval.statistics.paired import FloatArray

SAME = 1e-9
"""Values no further apart are equal but for rounding."""

ENOUGH = 0.9
"""The least share of resamples in which a coefficient exists, for an interval."""


def kendall(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-b of two scores of the same players (Kendall 1945).

    Examples
    --------
    >>> kendall(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]))
    0.3333333333333333
    """
    above, other = _signs(first), _signs(second)
    bottom = math.sqrt(float((above**2).sum()) * float((other**2).sum()))
    return float((above * other).sum()) / bottom if bottom else math.nan


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's rank correlation; equal scores share the mean of their ranks.

    Examples
    --------
    >>> spearman(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]))
    0.5
    """
    # The number above less the number below is twice the distance from the middle rank.
    place, other = _signs(first).sum(axis=1), _signs(second).sum(axis=1)
    bottom = math.sqrt(float((place**2).sum()) * float((other**2).sum()))
    return float((place * other).sum()) / bottom if bottom else math.nan


def concordance(scores: FloatArray) -> float:
    """Return Kendall's W of several rankings of the same players, corrected for ties.

    Parameters
    ----------
    scores : ndarray, shape (K, P)
        K rankings as scores; more is better.

    Returns
    -------
    float
        From 0 to 1, all alike. NaN with fewer than two players or rankings, or without any
        difference in any of them.

    Notes
    -----
    Kendall and Smith 1939; with mean r of Spearman's coefficient over pairs of rankings without
    ties, W = (1 + (K - 1) r) / K: independent rankings give 1 / K on average, not 0.

    Examples
    --------
    >>> concordance(np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]))
    1.0
    >>> concordance(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
    0.0
    """
    places = np.stack([_signs(one).sum(axis=1) for one in scores])
    bottom = len(scores) * float((places**2).sum())
    if len(scores) < 2 or not bottom:
        return math.nan
    return float((places.sum(axis=0) ** 2).sum()) / bottom


def mean_kendall(scores: FloatArray) -> float:
    """Return the mean of tau-b over all pairs of rankings; those that do not exist are left out.

    Examples
    --------
    >>> mean_kendall(np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [3.0, 1.0, 2.0]]))
    0.555555555555555...
    """
    signs = np.stack([_signs(one).ravel() for one in scores])
    length = np.sqrt((signs**2).sum(axis=1))
    signs = signs[length > 0] / length[length > 0, None]
    if len(signs) < 2:
        return math.nan
    products = signs @ signs.T
    return min(1.0, float(products[np.triu_indices(len(signs), 1)].mean()))


def first_shares(scores: FloatArray) -> FloatArray:
    """Return in which share of K rankings each player is first, shape (P,); ties share it.

    Examples
    --------
    >>> first_shares(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 2.0]])).tolist()
    [0.5, 0.25, 0.25]
    """
    first = scores >= scores.max(axis=1, keepdims=True) - SAME
    shares: FloatArray = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def _signs(scores: FloatArray) -> FloatArray:
    """Return 1 where the row's player is above the column's, -1 where below, 0 where equal."""
    gap = scores[:, None] - scores
    return np.where(np.abs(gap) <= SAME, 0.0, np.sign(gap))
