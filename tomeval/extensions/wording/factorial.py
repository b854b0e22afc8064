"""Variance components of a crossed design, each factor held against its own noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tomeval.statistics.paired import FloatArray

DRAWS = 4_000
PLAYER, INNER, REST, UNITS, ANY = "player", "inner", "rest", "units", "any"
"""Sources that are no axis of their own: the first axis, interactions among the other axes, those
of three or more with the first, units within cells, and all but the first axis and the units."""


Source = str | int | tuple[str, int]
"""One of these names, the number of an axis, or (`PLAYER`, axis): the interaction of the two."""


class Cells(NamedTuple):
    """A complete grid of cell means, and what each unit moves them by.

    `means` have the shape (S, l_1, ..., l_k), `moves` (S, l_1, ..., l_k, U): how far every unit
    moves the mean; sums of products over units are unbiased estimates of the means' variances and
    covariances. `within`, shape (U,), is what every unit adds to the mean variance between units of
    a cell; `freedom` the units of the smallest cell, less one. If the units are no sample, moves
    and freedom are 0.
    """

    means: FloatArray
    moves: FloatArray
    within: FloatArray
    freedom: int


class Component(NamedTuple):
    """A variance with its 95 % interval, and its share of all variance with its interval.

    `raw` is the estimate before it was cut off at 0. NaN ends: it is so far below 0 that an
    interval would hold nothing else, or it is of units that are no sample.
    """

    variance: float
    low: float
    high: float
    share: float
    share_low: float
    share_high: float
    raw: float


class Range(NamedTuple):
    """The largest less the smallest of some means, with a 95 % interval, and their places."""

    value: float
    low: float
    high: float
    smallest: int
    largest: int


def grid(values: FloatArray, exact: bool = False) -> Cells:
    """Return the cell means of a grid and their noise.

    Parameters
    ----------
    values : ndarray, shape (S, l_1, ..., l_k, U)
        One value per cell and unit, such as an episode that all cells share; NaN where a cell lacks
        the unit. Units are independent; values of one unit need not be.
    exact : bool
        The units are all there are, such as one episode per partner: means have no noise.

    Raises
    ------
    ValueError
        A cell has fewer than two units, or none if `exact`.
    """
    there = np.isfinite(values)
    count = there.sum(axis=-1, keepdims=True)
    if count.min() < (1 if exact else 2):
        raise ValueError("a cell has too few units")
    filled = np.where(there, values, 0.0)
    means = filled.sum(axis=-1, keepdims=True) / count
    gaps = np.where(there, values - means, 0.0)
    wide = gaps.shape[-1]
    if exact:
        within = (gaps**2 / count).reshape(-1, wide).mean(axis=0)
        return Cells(means[..., 0], np.zeros_like(gaps), within, 0)
    moves = gaps / np.sqrt(count * (count - 1.0))
    within = (gaps**2 / (count - 1)).reshape(-1, wide).mean(axis=0)
    return Cells(means[..., 0], moves, within, int(count.min()) - 1)


def sources(shape: Sequence[int]) -> dict[Source, list[frozenset[int]]]:
    """Return the interactions of axes that make each source of variance, for S x l_1 x ... x l_k.

    Keys: `PLAYER`, the number of an axis, `INNER`, (`PLAYER`, axis) and `REST`, as there are any.
    """
    by_source: dict[Source, list[frozenset[int]]] = {}
    axes = [axis for axis, size in enumerate(shape) if size > 1]
    order: list[Source] = [PLAYER, *range(1, len(shape)), INNER]
    order += [*((PLAYER, axis) for axis in range(1, len(shape))), REST]
    for size in range(1, len(axes) + 1):
        for chosen in itertools.combinations(axes, size):
            others = [axis for axis in chosen if axis]
            key: Source
            if 0 in chosen:
                alone: str | tuple[str, int] = (PLAYER, others[0]) if others else PLAYER
                key = alone if len(others) < 2 else REST
            else:
                key = others[0] if len(others) == 1 else INNER
            by_source.setdefault(key, []).append(frozenset(chosen))
    return {key: by_source[key] for key in order if key in by_source}


def _square(array: FloatArray, chosen: frozenset[int], shape: Sequence[int]) -> FloatArray:
    """Return the sum of squares of one interaction of cell axes, over whatever axes follow."""
    for axis, size in enumerate(shape):
        mean = array.mean(axis=axis, keepdims=True)
        array = array - mean if axis in chosen and size > 1 else mean
    repeated = math.prod(size for axis, size in enumerate(shape) if axis not in chosen)
    total: FloatArray = repeated * (array**2).sum(axis=tuple(range(len(shape))))
    return total


def _expected(keys: Sequence[Source], shape: Sequence[int]) -> FloatArray:
    """Return how much of each source's variance is in each expected mean square of true cell means.

    With C cells, S of the first axis, W of the others, every interaction drawn anew for each of its
    combinations: E[rest] = v_rest; E[P x j] = (W / l_j) v_Pj + v_rest; E[inner] = S v_inner +
    v_rest; E[j] = (C / l_j) v_j + S v_inner + (W / l_j) v_Pj + v_rest; E[P] = W v_P + sum over j of
    (W / l_j) v_Pj + v_rest.
    """
    first, wide = shape[0], math.prod(shape[1:])

    def size(key: Source) -> float:
        if isinstance(key, tuple):
            return wide / shape[key[1]]
        if isinstance(key, int):
            return first * wide / shape[key]
        return {PLAYER: wide, INNER: first, REST: 1}[key]

    def holds(square: Source, variance: Source) -> bool:
        if variance in (square, REST):
            return True
        if variance == INNER:
            return isinstance(square, int)
        return isinstance(variance, tuple) and square in variance

    return np.array([[size(v) * holds(square, v) for v in keys] for square in keys], dtype=float)


def components(
    cells: Cells, rng: np.random.Generator, draws: int = DRAWS
) -> dict[Source, Component]:
    """Return the variance of every source, of units, and of all but the first axis and units.

    `rng` is for the intervals.

    Notes
    -----
    All factors are random and crossed. The sum of squares of each source over the cell means, less
    what the noise of its own effects adds to it (their variance between units), is an unbiased
    estimate of that of the true means; expected mean squares give the variances. With every unit in
    every cell this is the analysis of variance in which a factor is tested against its interaction
    with units, and its estimates are those of restricted maximum likelihood where none is negative.
    Negative ones are 0.

    Intervals are generalised (Weerahandi 1993; Burdick, Borror and Montgomery 2005 for crossed
    factors): mean squares as if they were drawn from scaled chi-squared distributions, 2.5 and
    97.5 % of what the variances would then be. The noise has Satterthwaite's degrees of freedom,
    from how much single units add to it. A factor of two levels has one degree of freedom: its
    upper end is far above the estimate, as it should be. That of all but the first axis and the
    units is the modified large-sample interval (Burdick and Graybill 1992).

    Examples
    --------
    Two players, three wordings, no noise: wordings differ by 1, players by 4, and nothing else.

    >>> means = np.array([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]])
    >>> cells = Cells(means, np.zeros((2, 3, 1)), np.zeros(1), 0)
    >>> found = components(cells, np.random.default_rng(1))
    >>> [(key, round(one.variance, 6)) for key, one in found.items()]
    [('player', 8.0), (1, 1.0), (('player', 1), 0.0), ('units', 0.0), ('any', 1.0)]
    """
    shape = cells.means.shape
    keys = list(parts := sources(shape))
    squares = [_mean_square(cells, chosen) for chosen in parts.values()]
    solved = np.linalg.inv(_expected(keys, shape)) if keys else np.zeros((0, 0))
    noises = np.array([one.noise_draws(rng, draws) for one in squares]).reshape(-1, draws)
    seen = np.array([one.seen_draws(rng, draws) for one in squares]).reshape(-1, draws)
    raw = dict(zip(keys, (solved @ [one.net for one in squares]).tolist(), strict=True))
    raw[UNITS] = float(cells.within.sum())
    drawn = dict(zip(keys, solved @ (seen - noises), strict=True))
    drawn[UNITS] = _within_draws(cells, squares, noises, rng, draws)
    variance = {key: max(value, 0.0) for key, value in raw.items()}
    drawn = {key: np.maximum(values, 0.0) for key, values in drawn.items()}
    whole, wholes = sum(variance.values()), sum(drawn.values(), np.zeros(draws))
    of_any = [key for key in keys if key != PLAYER]
    raw[ANY], variance[ANY] = (sum(of[key] for key in of_any) for of in (raw, variance))
    drawn[ANY] = sum((drawn[key] for key in of_any), np.zeros(draws))
    result: dict[Source, Component] = {}
    for key, value in variance.items():
        low, high = map(float, np.quantile(drawn[key], (0.025, 0.975)))
        if key == ANY:
            low, high = _sum_ends(squares, solved[[keys.index(one) for one in of_any]].sum(axis=0))
        shares = np.divide(drawn[key], wholes, out=np.zeros(draws), where=wholes > 0)
        ends = np.quantile(shares, (0.025, 0.975))
        if (key == UNITS and not cells.freedom) or high <= 0 < -raw[key]:
            low, high, ends = math.nan, math.nan, np.full(2, math.nan)
        share = value / whole if whole > 0 else 0.0
        result[key] = Component(value, low, high, share, float(ends[0]), float(ends[1]), raw[key])
    return result


class _MeanSquare(NamedTuple):
    """The mean square of a source over cell means, and what noise adds to it.

    `own` are the degrees of freedom of the noise; infinite without noise.
    """

    seen: float
    freedom: int
    noise: float
    own: float

    @property
    def net(self) -> float:
        return self.seen - self.noise

    def seen_draws(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Return what its expectation would be if it were drawn from a scaled chi-squared."""
        return self.seen * self.freedom / rng.chisquare(self.freedom, draws)

    def noise_draws(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Return the same of the noise."""
        if self.noise <= 0:
            return np.zeros(draws)
        return self.noise * self.own / rng.chisquare(self.own, draws)


def _mean_square(cells: Cells, chosen: Sequence[frozenset[int]]) -> _MeanSquare:
    """Return the mean square of a source."""
    shape = cells.means.shape
    freedom = sum(math.prod(shape[axis] - 1 for axis in one) for one in chosen)
    seen = float(sum(_square(cells.means, one, shape) for one in chosen)) / freedom
    by_unit = sum((_square(cells.moves, one, shape) for one in chosen), np.zeros(1)) / freedom
    return _MeanSquare(
        seen, freedom, float(by_unit.sum()), _satterthwaite(by_unit, cells.freedom, freedom)
    )


def _within_draws(
    cells: Cells,
    squares: Sequence[_MeanSquare],
    noises: FloatArray,
    rng: np.random.Generator,
    draws: int,
) -> FloatArray:
    """Return draws of the variance within cells.

    It is the sum of the noise of all sources and of that of the grand mean, each with its own
    degrees of freedom.
    """
    within = float(cells.within.sum())
    if not cells.freedom or within <= 0:
        return np.full(draws, within)
    axes = tuple(range(cells.means.ndim))
    common = float((cells.moves.mean(axis=axes) ** 2).sum()) * cells.means.size
    freedoms = np.array([one.freedom for one in squares])
    total = common + float(freedoms @ [one.noise for one in squares])
    drawn = common * cells.freedom / rng.chisquare(cells.freedom, draws)
    return within * (drawn + freedoms @ noises) / total


def _sum_ends(squares: Sequence[_MeanSquare], weights: FloatArray) -> tuple[float, float]:
    """Return the ends of a sum of variances: the modified large-sample interval.

    Graybill and Wang 1980; Burdick and Graybill 1992, section 3.3. Percentiles of generalised draws
    would lie too high: the long tails of several variances add up.
    """
    from scipy.special import chdtri

    value = down = up = 0.0
    for one, weight in zip(squares, weights.tolist(), strict=True):
        for signed, freedom in ((weight * one.seen, one.freedom), (-weight * one.noise, one.own)):
            if not signed:
                continue
            below = 1 - freedom / float(chdtri(freedom, 0.025))
            above = freedom / float(chdtri(freedom, 0.975)) - 1
            value += signed
            down += (signed * (below if signed > 0 else above)) ** 2
            up += (signed * (above if signed > 0 else below)) ** 2
    return max(0.0, value - math.sqrt(down)), max(0.0, value + math.sqrt(up))


def _satterthwaite(by_unit: FloatArray, freedom: int, most: int) -> float:
    """Return the degrees of freedom of a sum over units from how much its terms vary.

    Between those of one effect and those of `most` independent ones.
    """
    spread = float(by_unit.var(ddof=1)) if len(by_unit) > 1 else 0.0
    mean = float(by_unit.mean())
    if mean <= 0:
        return math.inf
    degrees = 2 * mean**2 * len(by_unit) / spread if spread > 0 else math.inf
    return float(min(max(degrees, freedom), freedom * most))


def spread_of(cells: Cells, axes: Sequence[int]) -> Range:
    """Return the range of true means by some axes: the largest less the smallest.

    Means are over all other axes, numbered by the combinations of `axes`, the last one fastest.
    Without degrees of freedom they have no noise, and there is no interval.

    Notes
    -----
    Every pair of means has Student's interval at the level that Bonferroni's correction gives, and
    the range lies between the largest lower and the largest upper end of |difference|. With more
    than two means it is conservative. The range of the estimates itself lies too high where the
    true means are alike; its interval then begins at 0.

    Examples
    --------
    >>> moves = np.array([[[0.1, -0.1], [-0.1, 0.1]]])
    >>> spread_of(Cells(np.array([[1.0, 3.0]]), moves, np.zeros(2), 1), [1])
    Range(value=2.0, low=0.0, high=5.593857412..., smallest=0, largest=1)
    """
    from scipy.special import stdtrit

    others = tuple(axis for axis in range(cells.means.ndim) if axis not in axes)
    means = cells.means.mean(axis=others).ravel()
    smallest, largest = int(means.argmin()), int(means.argmax())
    value = float(means[largest] - means[smallest])
    if cells.freedom < 1:
        return Range(value, math.nan, math.nan, smallest, largest)
    moves = cells.moves.mean(axis=others).reshape(len(means), -1)
    products = moves @ moves.T
    own = np.diag(products)
    error = np.sqrt(np.clip(own[:, None] + own - 2 * products, 0.0, None))
    pairs = len(means) * (len(means) - 1) / 2
    gaps = np.abs(means[:, None] - means)
    reach = float(stdtrit(cells.freedom, 1 - 0.025 / pairs)) * error
    return Range(
        value, max(0.0, float((gaps - reach).max())), float((gaps + reach).max()), smallest, largest
    )
