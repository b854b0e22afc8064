"""Ratios of two means with Fieller's interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tomeval.statistics.paired import FloatArray, standard_error


def ratio_moments(
    influences: Sequence[FloatArray], column: int
) -> tuple[float, float, float, float]:
    """Return the variances of a column's and of the first column's mean, covariance, freedom.

    Parameters
    ----------
    influences : sequence of ndarray, shape (n_g, M)
        See `tomeval.statistics.paired.standard_error`; the first column is the ratio's bottom.
    """
    pairs = [z[:, [column, 0]] for z in influences]
    total = np.sum([len(z) / (len(z) - 1) * (z.T @ z) for z in pairs], axis=0)
    freedom = float(standard_error(influences).freedom[0])
    return float(total[0, 0]), float(total[1, 1]), float(total[0, 1]), freedom


def fieller(
    top: float,
    bottom: float,
    moments: tuple[float, float, float, float],
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Return the ratio of two means with Fieller's interval.

    Parameters
    ----------
    top, bottom : float
        The means.
    moments : tuple of float
        Variance of the mean `top`, of the mean `bottom`, their covariance, degrees of freedom.
    level : float
        Of the interval.

    Returns
    -------
    value, low, high : float
        NaN if `bottom` does not differ from 0 at 1 - `level`: the interval would be unbounded.

    Examples
    --------
    >>> [round(x, 4) for x in fieller(1.0, 2.0, (0.01, 0.01, 0.0, 30.0))]
    [0.5, 0.3904, 0.6202]
    """
    from scipy.special import stdtrit

    first, second, both, freedom = moments
    square = float(stdtrit(freedom, 0.5 + level / 2)) ** 2
    a = bottom**2 - square * second
    if a <= 0:
        return float("nan"), float("nan"), float("nan")
    b = top * bottom - square * both
    c = top**2 - square * first
    root = np.sqrt(max(b**2 - a * c, 0.0))
    return top / bottom, float((b - root) / a), float((b + root) / a)
