"""The permutation test of paired values, and of groups that are no pairs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.layout import Layout
from tomeval.statistics.paired import (
    ENUMERATED,
    FloatArray,
    IntArray,
    differing,
    label_permutation,
    sign_flip,
    sign_flip_exact,
)


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
    pairs, members = layout.pairs, _members(layout)
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
    members = _members(layout)
    for scope, level in np.argwhere(layout.pairs > 0).tolist():
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
