"""Means, intervals, tests and effect sizes of paired values, and of groups that are no pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tomeval.comparing.layout import BoolArray, Pairing, Part
from tomeval.statistics.bounded import FEWEST, cut, holds, score_ends
from tomeval.statistics.paired import (
    ENUMERATED,
    FloatArray,
    IntArray,
    differing,
    equivalence_test,
    hedges,
    label_permutation,
    sign_flip,
    sign_flip_exact,
    standard_error,
    t_quantile,
    t_test,
)

_TIE = 1e-13  # of a value's size: what the rounding of sums over some thousand steps can add up to
_NAMES = (
    *("level_mean", "baseline_mean", "difference", "t_low", "t_high", "p_t", "p_equivalence"),
    "effect_size",
)


class _Said(NamedTuple):
    """What the values of one level and the baseline in one task say, each of shape (M,)."""

    means: FloatArray  # of the level, of the baseline, of the difference: shape (3, M)
    variance: FloatArray
    freedom: int
    alike: BoolArray  # whether both sides have the same value in every pair
    bounded: BoolArray  # whether every difference lies between the measure's bounds


def estimates(pairing: Pairing, margin: FloatArray) -> tuple[dict[str, FloatArray], BoolArray]:
    """Return the numbers that need no resampling, and whether all is identical, each (S, L, M).

    See `Comparison`.
    """
    shape = (*pairing.pairs.shape, len(pairing.measures))
    numbers = {name: np.full(shape, np.nan) for name in _NAMES}
    identical = np.zeros(shape, dtype=bool)
    places = np.argwhere(pairing.counts > 0).tolist()
    said = {(task, level): _task(pairing, task, level) for task, level in places}
    for scope, level in np.argwhere(pairing.pairs > 0).tolist():
        found, alike = _scope(pairing, scope, level, said, margin)
        identical[scope, level] = alike
        for name, values in zip(_NAMES, found, strict=True):
            numbers[name][scope, level] = values
    return numbers, identical


def _task(pairing: Pairing, task: int, level: int) -> _Said:
    """Return what one level and the baseline say in one task."""
    meeting, place = pairing.places[task]
    rows = meeting.paired[:, place, level]
    side = meeting.side[rows, place, level]
    x = meeting.level[rows, place, level][side >= 0]
    y = meeting.baseline[rows, place, level][side <= 0]
    if side.any():  # two groups
        mean, freedom = x.mean(axis=0) - y.mean(axis=0), len(x) + len(y) - 2
        squares = sum(((part - part.mean(axis=0)) ** 2).sum(axis=0) for part in (x, y))
        farthest = np.stack([x.max(axis=0) - y.min(axis=0), x.min(axis=0) - y.max(axis=0)])
        apart = np.ptp(np.concatenate([x, y]), axis=0)
    else:
        farthest, freedom = x - y, len(x) - 1
        mean = farthest[0] + (farthest - farthest[0]).mean(axis=0)  # exact if all are equal
        squares = ((meeting.moves[rows, place, level] * len(x)) ** 2).sum(axis=0)
        apart = np.abs(farthest).max(axis=0)
    return _Said(
        np.stack([x.mean(axis=0), y.mean(axis=0), mean]),
        squares / max(freedom, 1),
        freedom,
        apart <= _TIE * pairing.sizes[task],
        holds(farthest, *pairing.difference_limits.T),
    )


def _scope(
    pairing: Pairing,
    scope: int,
    level: int,
    by_task: dict[tuple[int, int], _Said],
    margin: FloatArray,
) -> tuple[list[FloatArray], BoolArray]:
    """Return one level's numbers over the tasks of a scope, and whether all is identical.

    Each task counts the same but those without any value.
    """
    tasks = [task for task in pairing.scopes[scope] if pairing.counts[task, level]]
    said, used = [by_task[task, level] for task in tasks], pairing.used[tasks, level]
    count = np.where(used.any(axis=0), used.sum(axis=0), np.nan)  # of no task there is no mean

    def mean(values: ArrayLike) -> FloatArray:
        return np.asarray(np.where(used, values, 0.0).sum(axis=-2) / count)

    def every(flags: Sequence[BoolArray]) -> BoolArray:
        return np.asarray(np.all(~used | np.stack(flags), axis=0))

    all_means = np.stack([one.means for one in said], axis=1)
    x, y, difference = mean(all_means)
    # Without a difference each side is over all tasks, or has no value.
    x, y = np.where(np.isnan(difference), all_means[:2].mean(axis=1), (x, y))
    influences = [part for one in pairing.parts(scope, level) for part in one.moves]
    standard, units = standard_error(influences), sum(map(len, influences))
    limits = pairing.difference_limits
    bounded = every([one.bounded for one in said])[:, None]
    inner = np.where(bounded, limits, (-np.inf, np.inf))
    ends = score_ends(difference, standard.error, t_quantile(standard), units, *inner.T)
    low, high = cut(*ends, difference, *limits.T)
    if units < FEWEST * (1 + pairing.apart[scope, level]):
        low = high = np.full(len(difference), np.nan)
    freedom = (used * np.array([one.freedom for one in said])[:, None]).sum(axis=0)
    effect = hedges(difference, np.sqrt(mean([one.variance for one in said])), freedom)
    p = t_test(difference, standard), equivalence_test(difference, standard, margin)
    identical = every([one.alike for one in said]) & used.any(axis=0) & (units > 1)
    return [x, y, difference, low, high, *p, effect], identical


def permutation_tests(
    pairing: Pairing, resamples: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Return the permutation test's p, and how many units have a difference, each (S, L, M).

    Exact with few pairs, else by Monte Carlo; NaN for fewer than two pairs. Of pairs signs flip;
    between groups that are no pairs their units' labels are exchanged.
    """
    counts, pairs = pairing.counts, pairing.pairs
    shape = (*pairs.shape, len(pairing.measures))
    order = [*pairing.places]
    strata = [np.nan_to_num(m.adds).reshape(*m.adds.shape[:2], -1) for m in pairing.meetings]
    shares = pairing.used / np.maximum(pairing.used.sum(axis=0), 1)
    units = np.stack([m.paired.any(axis=1).sum(axis=0) for m in pairing.meetings])
    tasks, pooled = sign_flip(
        strata,
        shares[order].reshape(len(order), -1),
        np.repeat(units, shape[2], axis=1).astype(np.float64),
        resamples,
        rng,
        apart=np.asarray((counts[order] > ENUMERATED).any(axis=1)),
    )
    by_task = tasks.reshape(-1, *shape[1:])[np.argsort(order)]
    p = pairing.by_scope(by_task, lambda tasks, axis: pooled.reshape(shape[1:]))
    differ: IntArray = np.zeros(shape, dtype=np.int64)
    for scope, level in np.argwhere(pairs > 0).tolist():
        parts = pairing.parts(scope, level)
        adds = [part.adds for part in parts]
        differ[scope, level] = differing(np.concatenate(adds))
        if pairing.apart[scope, level]:
            p[scope, level] = label_permutation(*_divided(parts), resamples, rng)
        elif pairs[scope, level] <= ENUMERATED:
            p[scope, level] = sign_flip_exact(adds)
    p[pairs < 2] = np.nan
    return p, differ


_Stratum = tuple[FloatArray, FloatArray, BoolArray]


def _divided(parts: Sequence[Part]) -> tuple[list[_Stratum], FloatArray]:
    """Return the units of groups that are no pairs, and what pairs add to a scope's difference.

    The units of a stratum played the same tasks, so that any of them could be of either group; see
    `tomeval.statistics.paired.label_permutation`.
    """
    strata: list[_Stratum] = []
    flips = []
    for part in parts:
        meeting, side = part.meeting, part.side
        pairs = meeting.paired[part.at] & (side == 0)
        adds = np.where(pairs[..., None], np.nan_to_num(meeting.adds[part.at]), 0.0)
        flips.append(part.over_tasks(adds)[pairs.any(axis=1)])
        level, baseline = meeting.level[part.at], meeting.baseline[part.at]
        values = np.nan_to_num(np.where((side > 0)[..., None], level, baseline))
        values = np.where((side != 0)[..., None], values, 0.0)
        first, second = (
            part.over_tasks(one * values / np.maximum((side == one).sum(axis=0), 1)[:, None])
            for one in (1, -1)
        )
        played = side != 0
        for tasks in np.unique(played[played.any(axis=1)], axis=0):
            mine = (played == tasks).all(axis=1)
            strata.append((first[mine], second[mine], side[mine].max(axis=1) > 0))
    return strata, np.concatenate(flips)
