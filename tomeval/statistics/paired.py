"""Tests and intervals of paired differences, on plain arrays.

The sampling unit is a pair of episodes that met the same chance. A *linear form* is a weighted mean
of their differences over several tasks; its influences say how much each unit moves it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ENUMERATED = 13
"""With up to this many pairs, all sign patterns are tried: 8,192."""
DIVISIONS = 20_000
"""Up to so many divisions of units into two groups are all tried: eight and eight have 12,870."""
_TIE = 1e-9  # relative: sums of the same numbers in another order are the same statistic
_SIGNS = np.array([1.0, -1.0])  # of a bit that is 0, and 1


class Standard(NamedTuple):
    """Standard error and degrees of freedom of a linear form, each of shape (M,)."""

    error: FloatArray
    freedom: FloatArray


def standard_error(influences: Sequence[FloatArray]) -> Standard:
    """Return the standard error of a linear form over independent strata.

    Parameters
    ----------
    influences : sequence of ndarray, shape (n_g, M)
        What each sampling unit of a stratum adds to the form, less the stratum's mean; for a plain
        mean of n values, (value - mean) / n.

    Returns
    -------
    Standard
        One stratum gives n - 1 degrees of freedom, several those of Welch and Satterthwaite. NaN if
        a stratum has fewer than two units. A form that does not vary has error 0.

    Examples
    --------
    >>> values = np.array([[1.0], [2.0], [4.0]])
    >>> found = standard_error([(values - values.mean(axis=0)) / 3])
    >>> round(float(found.error[0]), 6), float(found.freedom[0])
    (0.881917, 2.0)
    """
    size = influences[0].shape[1] if influences else 0
    nothing = np.full(size, np.nan)
    if not influences or min(len(part) for part in influences) < 2:
        return Standard(nothing, nothing)
    parts = np.stack([len(z) / (len(z) - 1) * (z**2).sum(axis=0) for z in influences])
    freedom = np.array([len(z) - 1.0 for z in influences])[:, None]
    total = parts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = np.where(total > 0, total**2 / (parts**2 / freedom).sum(axis=0), freedom.sum())
    return Standard(np.sqrt(total), degrees)


def t_quantile(standard: Standard) -> FloatArray:
    """Return how many standard errors lie on either side in Student's 95 % interval, (M,)."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(standard.freedom, 0.975), dtype=np.float64)


def t_test(mean: FloatArray, standard: Standard) -> FloatArray:
    """Return the two-sided p of a mean of 0; if nothing varies, 1 for a mean of 0, else NaN."""
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stdtr(standard.freedom, -np.abs(mean / standard.error))
    constant = standard.error == 0
    return np.where(constant, np.where(mean == 0, 1.0, np.nan), p)


def equivalence_test(mean: FloatArray, standard: Standard, margin: FloatArray) -> FloatArray:
    """Return p of the two one-sided tests that the mean lies outside ± margin (Schuirmann 1987).

    A small p speaks for equivalence within the margin. NaN if nothing varies or no margin (NaN) was
    stated: a sample without spread says nothing about how far off the mean may be.
    """
    from scipy.special import stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        low = stdtr(standard.freedom, -(mean + margin) / standard.error)
        high = stdtr(standard.freedom, (mean - margin) / standard.error)
    return np.where(standard.error > 0, np.maximum(low, high), np.nan)


def hedges(mean: FloatArray, deviation: FloatArray, freedom: ArrayLike) -> FloatArray:
    """Return Hedges' g of paired differences: their mean / SD, times the small-sample factor.

    0 if all differences are 0. NaN if they all equal another value, and with fewer than two degrees
    of freedom, for which the factor is 0.

    Notes
    -----
    Hedges 1981, equation 6e: J(m) = Γ(m/2) / (sqrt(m/2) Γ((m-1)/2)).

    Examples
    --------
    >>> round(float(hedges(np.array([1.0]), np.array([2.0]), 9)[0]), 4)
    0.4569
    """
    from scipy.special import gammaln

    m = np.where(np.asarray(freedom) < 2, np.nan, freedom)
    factor = np.exp(gammaln(m / 2) - gammaln((m - 1) / 2)) / np.sqrt(m / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = factor * mean / deviation
    result: FloatArray = np.where(deviation > 0, effect, np.where(mean == 0, 0.0 * m, np.nan))
    return result


def holm(p: ArrayLike) -> FloatArray:
    """Return Holm's adjusted p of one family, shape (K,); NaN is not tested and not counted.

    Examples
    --------
    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(3).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    result = np.full(values.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    steps = values[order] * np.arange(len(order), 0, -1)
    result[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return result


class _Seen:
    """What was seen of the sums of strata, and which sign patterns are at least as extreme.

    One stratum ranks patterns by the size of its sum alone, several by that of the sum over its
    standard error: means that differ between strata are then no error of their mean.
    """

    def __init__(self, strata: Sequence[FloatArray], sizes: FloatArray) -> None:
        """Take parts by stratum, shape (n_g, M), and the number of its units, shape (G, M)."""
        self.factors = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 0.0)
        self.counts = np.maximum(sizes, 1)
        self.squares = np.stack([(part**2).sum(axis=0) for part in strata])
        sums = np.stack([part.sum(axis=0) for part in strata])
        self.total = sums.sum(axis=0)
        spread = sum(np.abs(part).sum(axis=0) for part in strata)
        self.least = np.abs(self.total) - _TIE * spread
        self.variance = np.sum([self.spread_of(g, row) for g, row in enumerate(sums)], axis=0)
        self.alike = self.variance <= _TIE * self.squares.sum(axis=0)
        self.several = ((sizes > 0).sum(axis=0) > 1) & (sizes != 1).all(axis=0)

    def spread_of(self, stratum: int, sums: FloatArray) -> FloatArray:
        """Return the squared standard error of a stratum's sums, shape (..., M)."""
        rest = self.squares[stratum] - sums**2 / self.counts[stratum]
        return np.asarray(self.factors[stratum] * np.maximum(rest, 0.0))

    def as_extreme(self, totals: FloatArray, variances: FloatArray) -> NDArray[np.bool_]:
        """Return which patterns are as extreme, given sums and squared errors of shape (k, M)."""
        plain = np.abs(totals) >= self.least
        over = totals**2 * self.variance >= (1 - _TIE) * self.total**2 * variances
        extreme: NDArray[np.bool_] = np.where(self.several, over & (plain | ~self.alike), plain)
        return extreme


def sign_flip_exact(strata: Sequence[FloatArray]) -> FloatArray:
    """Return the exact two-sided p of a sum of n parts under all 2^n sign patterns, shape (M,).

    Parameters
    ----------
    strata : sequence of ndarray, shape (n_g, M)
        What each sampling unit of a stratum adds to the sum; at most `ENUMERATED` units.

    Returns
    -------
    ndarray
        The share of patterns whose statistic is at least as far from 0 as the observed one, which
        counts itself and its mirror image: never below 2 / 2^n. With one stratum the statistic is
        the sum; with several it is the sum over its standard error, that of `standard_error`, so
        that the test is also one of a mean of 0 over strata that differ (Chung and Romano 2013). A
        stratum of one unit has no error: then it is the sum.

    Examples
    --------
    >>> sign_flip_exact([np.array([[1.0], [2.0], [3.0]])]).tolist()
    [0.25]
    """
    count = sum(map(len, strata))
    if count > ENUMERATED:
        raise ValueError(f"{count} pairs have too many sign patterns to try all")
    signs = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    ends = np.cumsum([len(part) for part in strata])
    sums = [s @ part for s, part in zip(np.split(signs, ends, axis=1), strata, strict=False)]
    sizes = np.stack([np.full(part.shape[1], float(len(part))) for part in strata])
    seen = _Seen(strata, sizes)
    errors = np.sum([seen.spread_of(g, found) for g, found in enumerate(sums)], axis=0)
    p: FloatArray = seen.as_extreme(np.sum(sums, axis=0), errors).mean(axis=0).astype(np.float64)
    return p


def split_counts(sizes: Sequence[tuple[int, int]]) -> int:
    """Return in how many ways units of several strata can be divided as they are, (level, other).

    Examples
    --------
    >>> split_counts([(8, 8)]), split_counts([(1, 2), (2, 2)])
    (12870, 18)
    """
    return math.prod(math.comb(first + second, first) for first, second in sizes)


def label_permutation(
    strata: Sequence[tuple[FloatArray, FloatArray, NDArray[np.bool_]]],
    flips: FloatArray,
    resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return two-sided p of a difference of means between groups that are no pairs, shape (M,).

    Parameters
    ----------
    strata : sequence of (level, other, member)
        Units whose labels could be exchanged: what a unit adds to the difference as one of the
        level, and as one of the other group, shape (n, M) each; which are of the level, (n,).
    flips : ndarray, shape (k, M)
        What units that are pairs add; their signs flip as in `sign_flip`.
    resamples : int
        Random divisions, where there are more than `DIVISIONS`; else all are tried, unless there
        are pairs too.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray
        The share of divisions of the units, each stratum's as large as they are, whose difference
        is at least as far from 0 as the observed one.

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [3.0], [9.0], [8.0], [7.0]])
    >>> member = np.array([True] * 3 + [False] * 3)
    >>> p = label_permutation(
    ...     [(x / 3, -x / 3, member)], np.empty((0, 1)), 99, np.random.default_rng(0)
    ... )
    >>> p.tolist()
    [0.1]
    """
    observed = flips.sum(axis=0)
    sizes = np.abs(flips).sum(axis=0)
    for level, other, member in strata:
        mine = np.where(member[:, None], level, other)
        observed, sizes = observed + mine.sum(axis=0), sizes + np.abs(mine).sum(axis=0)
    least = np.abs(observed) - _TIE * sizes
    count = split_counts([(int(m.sum()), int((~m).sum())) for *_, m in strata])
    if count <= DIVISIONS and not len(flips):
        sums = np.zeros((1, len(observed)))
        for level, other, member in strata:
            ways = combinations(range(len(member)), int(member.sum()))
            chosen = np.array(list(ways), dtype=np.int64)  # [()] has no type
            gain = level - other
            part = gain[chosen].sum(axis=1) + other.sum(axis=0)
            sums = (sums[:, None] + part).reshape(-1, len(observed))
        p: FloatArray = (np.abs(sums) >= least).mean(axis=0).astype(np.float64)
        return p
    extreme = np.zeros(len(observed), dtype=np.int64)
    widest = max([len(flips), *(len(member) for *_, member in strata)])
    for chunk in chunks(resamples, widest):
        drawn = chunk.stop - chunk.start
        sums = rng.choice(_SIGNS, size=(drawn, len(flips))) @ flips
        for level, other, member in strata:
            labels = rng.permuted(np.tile(member, (drawn, 1)), axis=1).astype(np.float64)
            sums = sums + labels @ (level - other) + other.sum(axis=0)
        extreme += (np.abs(sums) >= least).sum(axis=0)
    return (1 + extreme) / (1 + resamples)


def differing(parts: FloatArray) -> IntArray:
    """Return how many parts of each sum matter to the sign flip, shape (M,): those that are not 0.

    `parts` is as for `sign_flip_exact`; a part that rounding could account for is none.

    Examples
    --------
    >>> differing(np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 1e-20]])).tolist()
    [2, 1]
    """
    sizes = np.abs(parts)
    counts: IntArray = (sizes > _TIE * sizes.sum(axis=0)).sum(axis=0).astype(np.int64)
    return counts


CHUNK = 4_000_000
"""Random numbers held at a time."""


def chunks(resamples: int, size: int) -> Iterator[slice]:
    """Yield the resamples in parts that draw at most `CHUNK` units of `size` per resample."""
    step = max(1, min(resamples, CHUNK // max(1, size)))
    for first in range(0, resamples, step):
        yield slice(first, min(first + step, resamples))


def draw_counts(count: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return how often each of `size` units is drawn in `count` resamples, shape (count, size)."""
    drawn = rng.integers(0, size, size=(count, size), dtype=np.uint32)
    flat = drawn + (np.arange(count, dtype=np.uint32) * size)[:, None]
    return np.bincount(flat.ravel(), minlength=count * size).reshape(count, size)


def sign_flip(
    strata: Sequence[FloatArray],
    shares: FloatArray,
    sizes: FloatArray,
    resamples: int,
    rng: np.random.Generator,
    apart: NDArray[np.bool_] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return Monte Carlo p of task means, and of their weighted sum, under random sign flips.

    The statistic of the weighted sum is that of `sign_flip_exact`.

    Parameters
    ----------
    strata : sequence of ndarray, shape (n_g, T_g, C)
        What each sampling unit adds to the mean of each of its stratum's tasks, for C columns; a
        unit that several tasks share flips in all of them at once.
    shares : ndarray, shape (T, C)
        Weight of each task in the sum over tasks, in the order of the strata's tasks.
    sizes : ndarray, shape (G, C)
        How many units of each stratum have a value.
    resamples : int
    rng : numpy.random.Generator
        The same signs serve all columns; p of a column does not depend on the others.
    apart : ndarray of bool, shape (T,), optional
        Tasks that need a p of their own; the others have 1 / (1 + resamples) in its place. Default:
        all.

    Returns
    -------
    tasks : ndarray, shape (T, C)
        (1 + number of resamples at least as far from 0) / (1 + resamples) (Phipson and Smyth 2010).
    pooled : ndarray, shape (C,)
    """
    columns = shares.shape[1]
    means = np.concatenate([part.sum(axis=0) for part in strata])
    spread = np.concatenate([np.abs(part).sum(axis=0) for part in strata])
    least = np.abs(means) - _TIE * spread
    extreme = np.zeros(means.shape, dtype=np.int64)
    extreme_pooled = np.zeros(columns, dtype=np.int64)
    widest = max(len(part) for part in strata)
    ends = np.cumsum([part.shape[1] for part in strata]).tolist()
    rows = [slice(end - part.shape[1], end) for end, part in zip(ends, strata, strict=True)]
    wanted = [apart is None or bool(apart[mine].any()) for mine in rows]
    together = [
        np.einsum("utc,tc->uc", part, shares[mine]) for part, mine in zip(strata, rows, strict=True)
    ]
    seen = _Seen(together, sizes)
    for chunk in chunks(resamples, widest):
        count = chunk.stop - chunk.start
        pooled, errors = np.zeros((count, columns)), np.zeros((count, columns))
        drawn = _random_signs(count, [len(part) for part in strata], rng)
        for number, (part, signs) in enumerate(zip(strata, drawn, strict=True)):
            added = signs @ together[number]
            pooled += added
            errors += seen.spread_of(number, added)
            mine = rows[number]
            for some in chunks(count, part.shape[1] * columns) if wanted[number] else ():
                sums = (signs[some] @ part.reshape(len(part), -1)).reshape(-1, *means[mine].shape)
                extreme[mine] += (np.abs(sums) >= least[mine]).sum(axis=0)
        extreme_pooled += seen.as_extreme(pooled, errors).sum(axis=0)
    return (1 + extreme) / (1 + resamples), (1 + extreme_pooled) / (1 + resamples)


def _random_signs(
    count: int, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield for each stratum independent signs, shape (count, size)."""
    for size in sizes:
        octets = np.frombuffer(rng.bytes(count * -(-size // 8)), dtype=np.uint8)
        yield _SIGNS[np.unpackbits(octets.reshape(count, -1), axis=1, count=size)]
