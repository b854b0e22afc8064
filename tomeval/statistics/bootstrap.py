"""The bootstrap: counts of drawn units, shifts of means, ends of BCa intervals.

All resampling draws here, so that a seed always means the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CHUNK = 4_000_000
"""Random numbers held at a time."""


def draw_counts(count: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return how often each of `size` units is drawn in `count` resamples, shape (count, size)."""
    drawn = rng.integers(0, size, size=(count, size), dtype=np.uint32)
    flat = drawn + (np.arange(count, dtype=np.uint32) * size)[:, None]
    return np.bincount(flat.ravel(), minlength=count * size).reshape(count, size)


def chunks(resamples: int, size: int) -> Iterator[slice]:
    """Yield the resamples in parts that draw at most `CHUNK` units of `size` per resample."""
    step = max(1, min(resamples, CHUNK // max(1, size)))
    for first in range(0, resamples, step):
        yield slice(first, min(first + step, resamples))


def bootstrap_shifts(
    strata: Iterable[FloatArray], resamples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield how far bootstrap sums lie from the observed, per stratum of shape (resamples, C_g).

    They are large, and drawn as they are asked for: hold no more of them than needed.

    Parameters
    ----------
    strata : iterable of ndarray, shape (n_g, C_g)
        Influences of the stratum's units, see `tomeval.statistics.paired.standard_error`; units are
        drawn with replacement within their stratum, the same for all columns.
    """
    for part in strata:
        total = np.empty((resamples, part.shape[1]))
        for chunk in chunks(resamples, len(part)):
            # One product with the counts is far cheaper than gathering every column.
            total[chunk] = draw_counts(chunk.stop - chunk.start, len(part), rng) @ part
        yield total


_TIE = 1e-9
"""Standard errors by which a bootstrap value may miss the estimate and still equal it."""


def bca_ends(
    shifts: FloatArray, cubes: FloatArray, squares: FloatArray, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the BCa interval relative to the estimate, each of shape (C,).

    Parameters
    ----------
    shifts : ndarray, shape (R, C)
        How far the bootstrap's values lie from the estimate.
    cubes, squares : ndarray, shape (C,)
        Sums of the cubed and of the squared influences over all units.

    Notes
    -----
    Efron 1987; the stratified acceleration is that of Davison and Hinkley 1997, equation 5.22.
    If nothing varies, both ends are 0.
    """
    from scipy.special import ndtr, ndtri

    count = len(shifts)
    varies = squares > 0
    # Values on a grid, such as shares, have many ties, which rounding must not decide.
    tie = _TIE * np.sqrt(squares)
    below = (shifts < -tie).mean(axis=0) + 0.5 * (np.abs(shifts) <= tie).mean(axis=0)
    acceleration = np.divide(cubes, 6 * squares**1.5, out=np.zeros_like(cubes), where=varies)
    bias = ndtri(np.clip(below, 0.5 / count, 1 - 0.5 / count))
    ends = np.zeros((2, shifts.shape[1]))
    levels = []
    for tail in (0.5 - level / 2, 0.5 + level / 2):
        z = bias + ndtri(tail)
        levels.append(ndtr(bias + z / (1 - acceleration * z)))
    for column in np.flatnonzero(varies):
        ends[:, column] = _quantiles(shifts[:, column], [float(row[column]) for row in levels])
    ends[:, ~varies & ~np.isfinite(squares)] = np.nan
    return ends[0], ends[1]


def _quantiles(values: FloatArray, levels: Sequence[float]) -> list[float]:
    """Return linearly interpolated quantiles; picking the needed ranks beats sorting."""
    places = [level * (len(values) - 1) for level in levels]
    ranks = sorted({rank for place in places for rank in (int(place), -int(-place // 1))})
    chosen = np.partition(values, ranks)
    ends = [(place % 1, chosen[int(place)], chosen[-int(-place // 1)]) for place in places]
    return [float(low + part * (high - low)) for part, low, high in ends]
