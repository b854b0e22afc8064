"""Intervals of a mean over episodes: the published normal form, Student t, and BCa bootstrap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tomeval.core.errors import unknown
from tomeval.statistics.bootstrap import FloatArray, IntArray, bca_ends, bootstrap_shifts

INTERVALS = ("normal", "t", "bca")
RESAMPLES = 9_999


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
    shares: Mapping[Any, float] | None = None,
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
        For ``bca``: groups of episodes, such as those against one partner, resampled apart.
    shares : mapping, optional
        Share of each stratum in the mean, such as the partners' weights. The mean and its interval
        are then those of the strata's means, weighted by these shares: episodes draw their partner,
        and without shares the interval would hold only for the partners as drawn. A stratum of one
        episode leaves the mean as it is and gives no interval, because nothing shows how its
        episodes vary; with a share and without an episode, the mean is that of the other strata,
        their shares scaled to 1, again without an interval. Without shares, nothing is stratified
        if a stratum has one episode; the mean is the same.
    rng : numpy.random.Generator
        Needed for ``bca``.
    resamples : int

    Returns
    -------
    Estimate
        Metrics that are NaN in any episode give NaN. Equal values give an interval of width 0; with
        shares, only if every stratum has two episodes.

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
    nothing = np.full(size, np.nan)
    if method == "bca" and count:
        if rng is None:
            raise ValueError("the bootstrap needs a generator: rng=numpy.random.default_rng(seed)")
        found = _bca(data, _groups(strata, shares, count), rng, resamples)
        if shares is not None and strata is not None and unmet(shares, np.asarray(strata).tolist()):
            return Estimate(found.mean, nothing, nothing, nothing)
        return found
    mean = data.mean(axis=0) if count else nothing
    if count < 2:
        return Estimate(mean, nothing, nothing, nothing)
    quantile = 1.96
    if method == "t":
        from scipy.special import stdtrit

        quantile = float(stdtrit(count - 1, 0.975))
    half = quantile * data.std(axis=0, ddof=1) / np.sqrt(count)
    return Estimate(mean, half, mean - half, mean + half)


_Groups = list[tuple[IntArray, float]]  # rows of a stratum, and its share


def _bca(data: FloatArray, groups: _Groups, rng: np.random.Generator, resamples: int) -> Estimate:
    """Return the stratified BCa interval; none if a stratum has one row."""
    mean = np.zeros(data.shape[1])
    cubes, squares = np.zeros(data.shape[1]), np.zeros(data.shape[1])
    influences = []
    for rows, share in groups:
        # Deviations from the strata's means keep equal values equal and the sums exact.
        centre = data[rows].mean(axis=0)
        mean += share * centre
        deviations = share * (data[rows] - centre)
        cubes += (deviations**3).sum(axis=0) / len(rows) ** 3
        squares += (deviations**2).sum(axis=0) / len(rows) ** 2
        influences.append(deviations / len(rows))
    if min(len(rows) for rows, _ in groups) < 2:
        nothing = np.full(data.shape[1], np.nan)
        return Estimate(mean, nothing, nothing, nothing)
    first, *others = bootstrap_shifts(influences, resamples, rng)
    moved = sum(others, first)
    low, high = (mean + end for end in bca_ends(moved, cubes, squares))
    return Estimate(mean, (high - low) / 2, low, high)


def _groups(strata: ArrayLike | None, shares: Mapping[Any, float] | None, count: int) -> _Groups:
    """Return the strata that have rows, with their shares scaled to a sum of 1.

    Without shares, all rows are one group if a stratum has one row.
    """
    everything = [(np.arange(count), 1.0)]
    if strata is None:
        return everything
    labels, inverse = np.unique(np.asarray(strata), return_inverse=True)
    rows = [np.flatnonzero(inverse == k) for k in range(len(labels))]
    if shares is None:
        if min(map(len, rows)) < 2:
            return everything
        return [(part, len(part) / count) for part in rows]
    mine = [shares[label] for label in labels.tolist()]
    missing = unmet(shares, labels.tolist())
    total = sum(mine) if missing else 1.0
    return [(part, share / total) for part, share in zip(rows, mine, strict=True)]


def unmet(shares: Mapping[Any, float], strata: Iterable[Any]) -> set[Any]:
    """Return the strata that have a share and no episode."""
    return {label for label, share in shares.items() if share > 0} - set(strata)
