"""Means, intervals, tests and effect sizes of paired values, and of groups that are no pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tomeval.comparing.layout import Layout
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
_MEANS = ("level_mean", "baseline_mean", "difference")
_TESTS = (*_MEANS, "t_low", "t_high", "p_t", "p_equivalence")
_NAMES = (*_TESTS, "effect_size")


class Estimates(NamedTuple):
    """The numbers that need no resampling, each of shape (S, L, M); see `Comparison`."""

    numbers: dict[str, FloatArray]
    identical: NDArray[np.bool_]


class _Said(NamedTuple):
    """What the values of one level and the baseline in one task say, each of shape (M,)."""

    mean: FloatArray  # difference
    deviation: FloatArray
    freedom: int
    alike: NDArray[np.bool_]  # whether both sides have the same value in every pair
    bounded: NDArray[np.bool_]  # whether every difference lies between the measure's bounds


def estimates(layout: Layout, margin: FloatArray) -> Estimates:
    """Return the numbers that need no resampling; `margin` as in `Comparison`."""
    found = Estimates(
        {name: np.full(layout.shape, np.nan) for name in _NAMES}, np.zeros(layout.shape, dtype=bool)
    )
    members = tasks_of(layout)
    for level in range(len(layout.pairing.levels)):
        parts = {
            task: _task(layout, found, (number, place, task), level, margin)
            for number, place, task in layout.tasks()
            if layout.counts[task, level]
        }
        if layout.pooled and parts:
            influences = influences_of(layout, members[0], True, level)
            _pool(layout, found, level, margin, parts, influences)
    return found


def influences_of(
    layout: Layout, members: Mapping[int, list[int]], whole: bool, level: int
) -> list[FloatArray]:
    """Return what each unit adds to a scope's difference, less its stratum's mean, (n, M) each.

    `members` are the scope's, as of `tasks_of`; `whole`: whether it is the one of all tasks. Units
    of two groups that are no pairs are strata of their own.
    """
    influences = []
    for number, chosen in members.items():
        meeting = layout.pairing.meetings[number]
        rows = meeting.paired[:, chosen, level].any(axis=1)
        if not rows.any():
            continue
        move = layout.moves[number][rows][:, chosen, level]
        if whole:
            tasks = layout.first[number] + np.array(chosen)
            blind, shares = layout.blind[tasks, level], layout.shares[tasks, level]
            move = np.where(blind, 0.0, move * shares)
        side = np.sign(meeting.sides[rows][:, chosen, level].sum(axis=1))
        influences += [move.sum(axis=1)[side == one] for one in np.unique(side)]
    return influences


def _task(
    layout: Layout, found: Estimates, place: tuple[int, int, int], level: int, margin: FloatArray
) -> _Said:
    """Fill one level in one task."""
    number, task, index = place
    meeting = layout.pairing.meetings[number]
    rows = meeting.paired[:, task, level]
    side, scope = meeting.sides[rows, task, level], layout.scope(index)
    at, apart = (scope, level), bool(side.any())
    x = meeting.level[rows, task, level][side >= 0]
    y = meeting.baseline[rows, task, level][side <= 0]
    tie = _TIE * layout.pairing.sizes[layout.order[index]]
    influences = influences_of(layout, {number: [task]}, False, level)
    said = _of_groups(layout, x, y, tie) if apart else _of_pairs(layout, x, y, influences[0], tie)
    means = x.mean(axis=0), y.mean(axis=0), said.mean
    _fill(found, at, means, influences, margin, layout, said.bounded)
    found.identical[at] = said.alike if len(side) > 1 else False
    found.numbers["effect_size"][at] = hedges(said.mean, said.deviation, said.freedom)
    return said


def _of_pairs(
    layout: Layout, x: FloatArray, y: FloatArray, influences: FloatArray, tie: FloatArray
) -> _Said:
    mean = (x - y)[0] + ((x - y) - (x - y)[0]).mean(axis=0)  # exact if all are equal
    count = len(x)
    deviation = np.sqrt((influences**2).sum(axis=0) * count**2 / max(count - 1, 1))
    alike = np.all(np.abs(x - y) <= tie, axis=0)
    bounded = holds(x - y, *layout.pairing.difference_limits.T)
    return _Said(mean, deviation, count - 1, alike, bounded)


def _of_groups(layout: Layout, x: FloatArray, y: FloatArray, tie: FloatArray) -> _Said:
    """Return what two groups say; units of the level come first."""
    whole, freedom = np.concatenate([x, y]), len(x) + len(y) - 2
    squares = sum(((part - part.mean(axis=0)) ** 2).sum(axis=0) for part in (x, y))
    deviation = np.sqrt(squares / max(freedom, 1))
    alike = np.ptp(whole, axis=0) <= tie
    farthest = np.stack([x.max(axis=0) - y.min(axis=0), x.min(axis=0) - y.max(axis=0)])
    bounded = holds(farthest, *layout.pairing.difference_limits.T)
    mean = x.mean(axis=0) - y.mean(axis=0)
    return _Said(mean, deviation, freedom, alike, bounded)


def _pool(
    layout: Layout,
    found: Estimates,
    level: int,
    margin: FloatArray,
    parts: Mapping[int, _Said],
    influences: list[FloatArray],
) -> None:
    """Fill one level over all its tasks, each counting the same but those without any value."""
    at, scopes = (0, level), [layout.scope(task) for task in parts]
    used = layout.shares[list(parts), level] > 0
    count = np.where(used.any(axis=0), used.sum(axis=0), np.nan)  # of no task there is no mean

    def mean(values: ArrayLike) -> FloatArray:
        result: FloatArray = np.where(used, values, 0.0).sum(axis=0) / count
        return result

    def every(flags: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
        return np.asarray(np.all(~used | np.stack(flags), axis=0))

    by_task = [found.numbers[name][scopes, level] for name in _MEANS]
    means = [mean(values) for values in by_task]
    for side in (0, 1):  # without a difference each side is over all tasks, or has no value
        means[side] = np.where(np.isnan(means[2]), np.mean(by_task[side], axis=0), means[side])
    bounded = every([said.bounded for said in parts.values()])
    _fill(found, at, (means[0], means[1], means[2]), influences, margin, layout, bounded)
    several = used.any(axis=0) & (sum(map(len, influences)) > 1)
    found.identical[at] = every([said.alike for said in parts.values()]) & several
    variance = mean([said.deviation**2 for said in parts.values()])
    freedom = (used * np.array([said.freedom for said in parts.values()])[:, None]).sum(axis=0)
    found.numbers["effect_size"][at] = hedges(means[2], np.sqrt(variance), freedom)


def _fill(
    found: Estimates,
    at: tuple[int, int],
    means: tuple[FloatArray, FloatArray, FloatArray],
    influences: list[FloatArray],
    margin: FloatArray,
    layout: Layout,
    bounded: NDArray[np.bool_],
) -> None:
    """Fill means, their interval and both t tests; `bounded` as in `_Said`."""
    standard, difference = standard_error(influences), means[2]
    limits = layout.pairing.difference_limits
    inner = np.where(bounded[:, None], limits, (-np.inf, np.inf))
    units = sum(map(len, influences))
    ends = score_ends(difference, standard.error, t_quantile(standard), units, *inner.T)
    low, high = cut(*ends, difference, *limits.T)
    if units < FEWEST * (1 + layout.apart[at]):
        low = high = np.full(len(difference), np.nan)
    p = t_test(difference, standard), equivalence_test(difference, standard, margin)
    for name, values in zip(_TESTS, (*means, low, high, *p), strict=True):
        found.numbers[name][at] = values


def permutation_p(
    layout: Layout, difference: FloatArray, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the permutation test's p, shape (S, L, M).

    Exact with few pairs, else by Monte Carlo; NaN if `difference` is, and for fewer than two pairs.
    Of pairs signs flip; between groups that are no pairs their units' labels are exchanged.
    """
    levels, width = layout.shape[1:]
    flat = [part.reshape(*part.shape[:2], -1) for part in layout.signs]
    shares = layout.shares.reshape(len(layout.shares), -1)
    many = np.asarray((layout.counts > ENUMERATED).any(axis=1))
    strata = [np.nan_to_num(part) for part in flat]
    units = np.stack([m.paired.any(axis=1).sum(axis=0) for m in layout.pairing.meetings])
    sizes = np.repeat(units, width, axis=1).astype(np.float64)
    tasks, pooled = sign_flip(strata, shares, sizes, resamples, rng, apart=many)
    p = np.full(layout.shape, np.nan)
    for task, row in enumerate(tasks):
        p[layout.scope(task)] = row.reshape(levels, width)
    if layout.pooled:
        p[0] = pooled.reshape(levels, width)
    pairs, members = layout.pairs, tasks_of(layout)
    for scope, level in np.argwhere((pairs <= ENUMERATED) & (pairs > 1)).tolist():
        whole = layout.pooled and scope == 0
        p[scope, level] = sign_flip_exact(_parts(layout, members[scope], whole, level))
    for scope, level in np.argwhere(layout.apart).tolist():
        whole = layout.pooled and scope == 0
        p[scope, level] = label_permutation(
            *_divided(layout, members[scope], whole, level), resamples, rng
        )
    p[pairs < 2] = np.nan
    p[np.isnan(difference)] = np.nan
    return p


_Stratum = tuple[FloatArray, FloatArray, NDArray[np.bool_]]


def _divided(
    layout: Layout, members: Mapping[int, list[int]], whole: bool, level: int
) -> tuple[list[_Stratum], FloatArray]:
    """Return the units of groups that are no pairs, and what pairs add to a scope's difference.

    The units of a stratum played the same tasks, so that any of them could be of either group; see
    `tomeval.statistics.paired.label_permutation`.
    """
    strata: list[_Stratum] = []
    flips = [np.zeros((0, layout.shape[2]))]
    for number, chosen in members.items():
        meeting = layout.pairing.meetings[number]
        there, side = (part[:, chosen, level] for part in (meeting.paired, meeting.sides))
        shares = layout.shares[layout.first[number] :][chosen, level]
        shares = shares if whole else np.ones_like(shares)
        pairs = there & (side == 0)
        signs = np.nan_to_num(layout.signs[number][:, chosen, level])
        flips.append(np.einsum("utm,ut,tm->um", signs, pairs, shares)[pairs.any(axis=1)])
        values = np.where(
            (side > 0)[..., None],
            meeting.level[:, chosen, level],
            meeting.baseline[:, chosen, level],
        )
        values = np.where((side != 0)[..., None], np.nan_to_num(values), 0.0)
        adds = [
            sign
            * np.einsum("utm,t,tm->um", values, 1 / np.maximum((side == sign).sum(0), 1), shares)
            for sign in (1, -1)
        ]
        played = side != 0
        for tasks in np.unique(played[played.any(axis=1)], axis=0):
            mine = (played == tasks).all(axis=1)
            strata.append((adds[0][mine], adds[1][mine], side[mine].max(axis=1) > 0))
    return strata, np.concatenate(flips)


def differing_pairs(layout: Layout) -> IntArray:
    """Return how many sampling units of each comparison have a difference, shape (S, L, M)."""
    counts: IntArray = np.zeros(layout.shape, dtype=np.int64)
    members = tasks_of(layout)
    for scope, level in np.argwhere(layout.pairs > 0).tolist():
        whole = layout.pooled and scope == 0
        parts = np.concatenate(_parts(layout, members[scope], whole, level))
        counts[scope, level] = differing(parts)
    return counts


def tasks_of(layout: Layout) -> dict[int, dict[int, list[int]]]:
    """Return by scope the places of its tasks in the meetings, by the meeting's number."""
    members: dict[int, dict[int, list[int]]] = {}
    for number, task_at, task in layout.tasks():
        for scope in {layout.scope(task), 0 if layout.pooled else layout.scope(task)}:
            members.setdefault(scope, {}).setdefault(number, []).append(task_at)
    return members


def _parts(
    layout: Layout, members: Mapping[int, list[int]], whole: bool, level: int
) -> list[FloatArray]:
    """Return by meeting what each sampling unit of a scope adds to its mean difference, (n, M).

    `members` are the scope's, as of `tasks_of`; `whole`: whether it is the one of all tasks.
    """
    added = []
    for number, chosen in members.items():
        shares = layout.shares[layout.first[number] :][chosen, level]
        rows = layout.pairing.meetings[number].paired[:, chosen, level].any(axis=1)
        parts = np.nan_to_num(layout.signs[number][rows][:, chosen, level])
        added.append(np.einsum("utm,tm->um", parts, shares if whole else np.ones_like(shares)))
    return [part for part in added if len(part)]
