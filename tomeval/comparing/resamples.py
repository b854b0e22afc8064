"""The resampling of paired values: the permutation test and the bootstrap's interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.layout import Layout
from tomeval.statistics.bootstrap import bca_ends, bootstrap_shifts
from tomeval.statistics.paired import (
    ENUMERATED,
    FloatArray,
    IntArray,
    differing,
    label_permutation,
    sign_flip,
    sign_flip_exact,
)

_BLOCK = 10_000_000  # bootstrap values held at a time


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
    tasks, pooled = sign_flip(strata, shares, resamples, rng, apart=many)
    p = np.full(layout.shape, np.nan)
    for task, row in enumerate(tasks):
        p[layout.scope(task)] = row.reshape(levels, width)
    if layout.pooled:
        p[0] = pooled.reshape(levels, width)
    pairs, members = layout.pairs(), _members(layout)
    for scope, level in np.argwhere((pairs <= ENUMERATED) & (pairs > 1)).tolist():
        whole = layout.pooled and scope == 0
        p[scope, level] = sign_flip_exact(_parts(layout, members[scope], whole, level))
    for scope, level in np.argwhere(layout.apart()).tolist():
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
    members = _members(layout)
    for scope, level in np.argwhere(layout.pairs() > 0).tolist():
        whole = layout.pooled and scope == 0
        counts[scope, level] = differing(_parts(layout, members[scope], whole, level))
    return counts


def _members(layout: Layout) -> dict[int, dict[int, list[int]]]:
    """Return by scope the places of its tasks in the meetings, by the meeting's number."""
    members: dict[int, dict[int, list[int]]] = {}
    for number, task_at, task in layout.tasks():
        for scope in {layout.scope(task), 0 if layout.pooled else layout.scope(task)}:
            members.setdefault(scope, {}).setdefault(number, []).append(task_at)
    return members


def _parts(layout: Layout, members: Mapping[int, list[int]], whole: bool, level: int) -> FloatArray:
    """Return what every sampling unit of a scope adds to its mean difference, shape (n, M).

    `members` are the scope's, as in `_members`; `whole`: whether it is the one of all tasks.
    """
    added = []
    for number, chosen in members.items():
        shares = layout.shares[layout.first[number] :][chosen, level]
        rows = layout.pairing.meetings[number].paired[:, chosen, level].any(axis=1)
        parts = np.nan_to_num(layout.signs[number][rows][:, chosen, level])
        added.append(np.einsum("utm,tm->um", parts, shares if whole else np.ones_like(shares)))
    return np.concatenate(added)


def bootstrap_interval(
    layout: Layout,
    difference: FloatArray,
    defined: NDArray[np.bool_],
    resamples: int,
    seed: int,
    by_task: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the BCa interval of the difference, shape (S, L, M); NaN if not `defined`.

    Blocks of levels are resampled alone, all with the same `seed` and so the same resamples. Unless
    `by_task`, only the first scope has an interval.
    """
    ends = np.full((2, *layout.shape), np.nan)
    levels, width = layout.shape[1:]
    most = max(part.shape[1] for part in layout.moves)
    size = max(1, _BLOCK // (resamples * (most + 1) * width))
    for start in range(0, levels, size):
        block = slice(start, min(start + size, levels))
        moves = [np.nan_to_num(part[:, :, block]) for part in layout.moves]
        flat = (part.reshape(len(part), -1) for part in moves)
        shifts = bootstrap_shifts(flat, resamples, np.random.default_rng(seed))
        ends[:, :, block] = _block_ends(layout, block, moves, shifts, by_task)
    ends += difference
    ends[:, ~defined] = np.nan
    return ends[0], ends[1]


def _block_ends(
    layout: Layout,
    block: slice,
    moves: list[FloatArray],
    shifts: Iterable[FloatArray],
    by_task: bool,
) -> FloatArray:
    """Return the ends of a block of levels relative to the difference, shape (2, S, l, M)."""
    shares = layout.shares[:, block]
    shape = moves[0].shape[2:]
    ends = np.full((2, layout.shape[0], *shape), np.nan)
    pooled: Any = 0.0
    cubes, squares = np.zeros(shape), np.zeros(shape)
    for number, (move, drawn) in enumerate(zip(moves, shifts, strict=True)):
        first = layout.first[number]
        part = shares[first : first + move.shape[1]]
        shift = drawn.reshape(len(drawn), *move.shape[1:])
        for task in range(move.shape[1]) if by_task or not layout.pooled else ():
            own = move[:, task]
            scope = layout.scope(first + task)
            ends[:, scope] = _ends(shift[:, task], (own**3).sum(0), (own**2).sum(0))
        if layout.pooled:
            weights = np.broadcast_to(part, move.shape[1:])
            pooled = pooled + np.einsum("rtlm,tlm->rlm", shift, weights)
            unit = (move * part).sum(axis=1)
            cubes += (unit**3).sum(axis=0)
            squares += (unit**2).sum(axis=0)
    if layout.pooled:
        ends[:, 0] = _ends(pooled, cubes, squares)
    return ends


def _ends(shifts: FloatArray, cubes: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the ends of the BCa interval of one scope, shape (2, l, M)."""
    ends = bca_ends(shifts.reshape(len(shifts), -1), cubes.ravel(), squares.ravel())
    return np.stack(ends).reshape(2, *cubes.shape)
