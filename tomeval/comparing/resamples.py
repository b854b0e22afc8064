"""The resampling of paired values: the permutation test and the bootstrap's interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.layout import Layout
from tomeval.statistics.bootstrap import bca_ends, bootstrap_shifts
from tomeval.statistics.paired import ENUMERATED, FloatArray, sign_flip, sign_flip_exact

_BLOCK = 30_000_000  # bootstrap values held at a time


def permutation_p(
    layout: Layout, difference: FloatArray, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the permutation test's p, shape (S, L, M).

    Exact with few pairs, else by Monte Carlo; NaN if `difference` is, and for fewer than two pairs.
    """
    levels, width = layout.shape[1:]
    flat = [part.reshape(*part.shape[:2], -1) for part in layout.signs]
    shares = np.repeat(layout.shares, width, axis=1)
    tasks, pooled = sign_flip([np.nan_to_num(part) for part in flat], shares, resamples, rng)
    p = np.full(layout.shape, np.nan)
    for task, row in enumerate(tasks):
        p[layout.scope(task)] = row.reshape(levels, width)
    if layout.pooled:
        p[0] = pooled.reshape(levels, width)
    pairs = layout.pairs()
    for scope, level in np.argwhere((pairs <= ENUMERATED) & (pairs > 1)):
        p[scope, level] = sign_flip_exact(_parts(layout, int(scope), int(level)))
    p[pairs < 2] = np.nan
    p[np.isnan(difference)] = np.nan
    return p


def _parts(layout: Layout, scope: int, level: int) -> FloatArray:
    """Return what every sampling unit of a scope adds to its mean difference, shape (n, M)."""
    found = []
    whole = layout.pooled and scope == 0
    for number, meeting in enumerate(layout.pairing.meetings):
        first = layout.first[number]
        chosen = [t for t in range(len(meeting.tasks)) if whole or layout.scope(first + t) == scope]
        if chosen:
            shares = layout.shares[first:][chosen, level] if whole else np.ones(len(chosen))
            rows = meeting.paired[:, chosen, level].any(axis=1)
            parts = np.nan_to_num(layout.signs[number][rows][:, chosen, level])
            found.append(np.einsum("utm,t->um", parts, shares))
    return np.concatenate(found)


def bootstrap_interval(
    layout: Layout, difference: FloatArray, defined: NDArray[np.bool_], resamples: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the BCa interval of the difference, shape (S, L, M); NaN if not `defined`.

    Blocks of levels are resampled alone, all with the same `seed` and so the same resamples.
    """
    ends = np.full((2, *layout.shape), np.nan)
    levels, width = layout.shape[1:]
    size = max(1, _BLOCK // (resamples * (len(layout.order) + 1) * width))
    for start in range(0, levels, size):
        block = slice(start, min(start + size, levels))
        moves = [np.nan_to_num(part[:, :, block]) for part in layout.moves]
        flat = [part.reshape(len(part), -1) for part in moves]
        shifts = bootstrap_shifts(flat, resamples, np.random.default_rng(seed))
        ends[:, :, block] = _block_ends(layout, block, moves, shifts)
    ends += difference
    ends[:, ~defined] = np.nan
    return ends[0], ends[1]


def _block_ends(
    layout: Layout, block: slice, moves: list[FloatArray], shifts: list[FloatArray]
) -> FloatArray:
    """Return the ends of a block of levels relative to the difference, shape (2, S, l, M)."""
    shares = layout.shares[:, block, None]
    shape = moves[0].shape[2:]
    ends = np.full((2, layout.shape[0], *shape), np.nan)
    pooled: Any = 0.0
    cubes, squares = np.zeros(shape), np.zeros(shape)
    for number, (move, drawn) in enumerate(zip(moves, shifts, strict=True)):
        first = layout.first[number]
        part = shares[first : first + move.shape[1]]
        shift = drawn.reshape(len(drawn), *move.shape[1:])
        for task in range(move.shape[1]):
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
    found = bca_ends(shifts.reshape(len(shifts), -1), cubes.ravel(), squares.ravel())
    return np.stack(found).reshape(2, *cubes.shape)
