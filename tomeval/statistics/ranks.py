"""Ranks with intervals, and how far two rankings agree."""

from __future__ import annotations

import numpy as np

from tomeval.statistics.paired import FloatArray, IntArray

DRAWS = 4_000
TAIL = 0.025
"""What a 95 % interval leaves out on either side."""
SAME = 1e-9
"""Values no further apart are equal but for rounding."""


def ranks(value: FloatArray) -> IntArray:
    """Return the rank of each value, 1 for the largest; equal values share the better rank.

    Examples
    --------
    >>> ranks(np.array([2.0, 5.0, 2.0])).tolist()
    [2, 1, 2]
    """
    found: IntArray = 1 + (value[None, :] > value[:, None] + SAME).sum(axis=1)
    return found


def comparison_tails(covariance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the upper tail to leave out in each comparison of one value with all others, (P,).

    Parameters
    ----------
    covariance : ndarray, shape (P, P)
        Of normal estimates.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray
        Two-sided intervals of all differences from that value, each with this much outside on
        either side, hold at once in 95 % of draws: 0.025 where there is one difference or all move
        together, less where they do not.
    """
    from scipy.special import ndtr

    count = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    drawn = rng.normal(size=(DRAWS, count)) @ (vectors * np.sqrt(np.clip(values, 0.0, None))).T
    variance = np.diag(covariance)
    error = np.sqrt(np.clip(variance[:, None] + variance - 2 * covariance, 0.0, None))
    tails = np.full(count, TAIL)
    for k in range(count):
        varies = error[k] > 1e-12
        if varies.sum() > 1:
            apart = np.abs(drawn[:, [k]] - drawn[:, varies]) / error[k, varies]
            tails[k] = ndtr(-float(np.quantile(apart.max(axis=1), 1 - 2 * TAIL)))
    return tails
