"""Intervals of a mean over episodes: the published normal form, Student t, and BCa bootstrap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tomeval.errors import unknown

FloatArray = NDArray[np.float64]

INTERVALS = ("normal", "t", "bca")
RESAMPLES = 9_999
_CHUNK = 2_000_000  # resampled indices held at a time


class Estimate(NamedTuple):
    """A mean and its 95 % interval, each of shape (M,) for M metrics.

    `half` is half the interval's width. NaN mean: no episode. NaN interval: fewer than two.
    """

    mean: FloatArray
    half: FloatArray
    low: FloatArray
    high: FloatArray


def estimate(
    values: ArrayLike,
    method: str = "normal",
    *,
    strata: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return means over episodes with 95 % confidence intervals.

    Parameters
    ----------
    values : array_like, shape (E,) or (E, M)
        One row per episode, the sampling unit; steps within an episode are not independent.
    method : {"normal", "t", "bca"}
        ``normal``: ± 1.96 sd / sqrt(E), the published form. ``t``: Student's t with E - 1 degrees
        of freedom. ``bca``: bias-corrected and accelerated bootstrap (Efron 1987).
    strata : array_like, shape (E,), optional
        Labels of groups, such as the episode's partner, whose sizes the bootstrap keeps. Where a
        group has a single episode the bootstrap is not stratified.
    rng : numpy.random.Generator
        Needed for ``bca``.
    resamples : int
        Bootstrap resamples.

    Returns
    -------
    Estimate
        Metrics that are NaN in any episode give NaN. Equal values give an interval of width 0.

    Notes
    -----
    All three say how far the mean would move with other episodes of the same cell: other partners
    drawn, other draws of the subject. None covers other games, labels or models. The stratified
    acceleration follows Davison and Hinkley 1997, equation 5.22.

    Examples
    --------
    >>> result = estimate([1.0, 2.0, 3.0, 4.0])
    >>> float(result.mean[0]), round(float(result.half[0]), 4)
    (2.5, 1.2652)
    """
    if method not in INTERVALS:
        raise unknown("interval", method, INTERVALS)
    data = np.asarray(values, dtype=np.float64)
    data = data[:, None] if data.ndim == 1 else data
    count, size = data.shape
    if count == 0:
        nothing = np.full(size, np.nan)
        return Estimate(nothing, nothing, nothing, nothing)
    mean = data.mean(axis=0)
    if count == 1:
        nothing = np.full(size, np.nan)
        return Estimate(mean, nothing, nothing, nothing)
    if method == "bca":
        if rng is None:
            raise ValueError("the bootstrap needs a generator: rng=numpy.random.default_rng(seed)")
        low, high = _bca(data, strata, rng, resamples)
        return Estimate(mean, (high - low) / 2, low, high)
    half = _multiplier(method, count) * data.std(axis=0, ddof=1) / np.sqrt(count)
    return Estimate(mean, half, mean - half, mean + half)


def _multiplier(method: str, count: int) -> float:
    """Return how many standard errors make half an interval."""
    if method == "normal":
        return 1.96
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975))


def _bca(
    data: FloatArray, strata: ArrayLike | None, rng: np.random.Generator, resamples: int
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the stratified BCa interval, each of shape (M,)."""
    from scipy.special import ndtr, ndtri

    groups = _groups(strata, len(data))
    # Centring keeps sums exact enough that equal values stay equal.
    centre = data.mean(axis=0)
    means = _resampled_means(data - centre, groups, rng, resamples)
    below = (means < 0).mean(axis=0) + 0.5 * (means == 0).mean(axis=0)
    cubes, squares = np.zeros(data.shape[1]), np.zeros(data.shape[1])
    for group in groups:
        weight = len(group) / len(data)
        influence = weight * (data[group] - data[group].mean(axis=0))
        cubes += (influence**3).sum(axis=0) / len(group) ** 3
        squares += (influence**2).sum(axis=0) / len(group) ** 2
    varies = squares > 0
    with np.errstate(all="ignore"):
        acceleration = np.where(varies, cubes / (6 * squares**1.5), 0.0)
    bias = ndtri(np.clip(below, 0.5 / resamples, 1 - 0.5 / resamples))
    ends = []
    for quantile in (0.025, 0.975):
        z = bias + ndtri(quantile)
        level = ndtr(bias + z / (1 - acceleration * z))
        ends.append(
            np.array(
                [
                    np.quantile(means[:, j], level[j]) if np.isfinite(level[j]) else np.nan
                    for j in range(data.shape[1])
                ]
            )
        )
    low, high = (np.where(varies, end, 0.0) + centre for end in ends)
    return low, high


def _groups(strata: ArrayLike | None, count: int) -> list[NDArray[np.int64]]:
    """Return the rows of each stratum; all rows as one where a stratum has a single row."""
    everything = [np.arange(count)]
    if strata is None:
        return everything
    _, inverse = np.unique(np.asarray(strata), return_inverse=True)
    groups = [np.flatnonzero(inverse == k) for k in range(inverse.max() + 1)]
    return groups if min(len(group) for group in groups) > 1 else everything


def _resampled_means(
    data: FloatArray, groups: list[NDArray[np.int64]], rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Return bootstrap means, shape (resamples, M).

    The same resampled episodes serve all metrics. Counting how often each episode was drawn, then
    one matrix product, is far cheaper than gathering every metric.
    """
    count = len(data)
    total = np.zeros((resamples, data.shape[1]))
    for group in groups:
        size = len(group)
        rows = max(1, _CHUNK // size)
        for first in range(0, resamples, rows):
            part = min(rows, resamples - first)
            drawn = rng.integers(0, size, size=(part, size), dtype=np.uint32)
            flat = drawn + (np.arange(part, dtype=np.uint32) * size)[:, None]
            times = np.bincount(flat.ravel(), minlength=part * size).reshape(part, size)
            total[first : first + part] += times @ data[group]
    return total / count
