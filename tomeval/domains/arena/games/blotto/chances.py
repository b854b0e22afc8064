"""Probabilities of the results of one round: win, tie, loss."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.arena.games.blotto.allocations import (
    Allocation,
    classes,
    count,
    every,
    result,
    results,
)
from tomeval.domains.arena.games.blotto.mixes import Mix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CELLS = 2**21
"""Numbers that are counted with at once."""


def against(mix: Mix, own: Allocation) -> Floats:
    """Return the chances of an allocation against a distribution."""
    chances = np.zeros(3)
    for other, weight in mix.named.items():
        chances[1 - result(own, other)] += weight
    return chances + mix.uniform * against_any(own) if mix.uniform else chances


def all_against(mix: Mix, fields: int, units: int) -> Floats:
    """Return the chances of all allocations, in the order of `every`, shape (count, 3)."""
    rows = every(fields, units)
    chances = np.zeros((3, len(rows)))
    for other, weight in mix.named.items():
        sign = results(rows, other)
        for column, one in enumerate((1, 0, -1)):
            chances[column] += weight * (sign == one)
    if mix.uniform:
        chances += mix.uniform * any_against_each(fields, units)[classes(fields, units)[1]].T
    return chances.T


@functools.lru_cache(maxsize=4096)
def _against_any(own: Allocation) -> Floats:
    return np.asarray(_counts(np.array([own]), sum(own))[0] / count(len(own), sum(own)))


def against_any(own: Allocation) -> Floats:
    """Return the chances of an allocation if the other seat draws any, all equally likely.

    Examples
    --------
    >>> against_any((2, 0)).tolist()  # against (0, 2), (1, 1), (2, 0)
    [0.0, 1.0, 0.0]
    """
    return _against_any(tuple(sorted(own, reverse=True)))


@functools.lru_cache(maxsize=4)
def any_against_each(fields: int, units: int) -> Floats:
    """Return `against_any` of all rows of `allocations.classes`, shape (n, 3)."""
    rows = classes(fields, units)[0]
    step = max(1, _CELLS // ((units + 1) * (2 * fields + 1)))
    blocks = [_counts(rows[i : i + step], units) for i in range(0, len(rows), step)]
    return np.concatenate(blocks) / count(fields, units)


def _counts(rows: NDArray[np.int_] | NDArray[np.int16], units: int) -> Ints:
    """Return how many allocations each row beats, ties and loses to, shape (n, 3).

    ``ways[row, u, d]``: the other seat's ways to give u units to the fields so far, such that the
    row leads on d - fields of them. With k units on a field it is behind there if k is less than
    the row's, so that sums over k are differences of running sums over u.
    """
    size, fields = rows.shape
    ways = np.zeros((size, units + 1, 2 * fields + 1), np.int64)
    ways[:, 0, fields] = 1
    u = np.arange(units + 1)
    for own in rows.T:
        sums = np.concatenate([np.zeros_like(ways[:, :1]), ways.cumsum(axis=1)], axis=1)
        at = np.maximum(u - own[:, None].astype(np.int64), -1) + 1
        upto = np.take_along_axis(sums, at[:, :, None], axis=1)
        below = np.take_along_axis(sums, np.maximum(at - 1, 0)[:, :, None], axis=1)
        ways = upto - below
        ways[:, :, 1:] += (sums[:, 1:] - upto)[:, :, :-1]
        ways[:, :, :-1] += below[:, :, 1:]
    last = ways[:, units]
    ends = (last[:, fields + 1 :].sum(1), last[:, fields], last[:, :fields].sum(1))
    return np.stack(ends, axis=1)


def corners(chances: Floats) -> Ints:
    """Return which chances are corners of their convex hull, without points between corners.

    The best of ``win * w + tie * t + loss * l`` lies on one of them, whatever the worths are.

    Examples
    --------
    >>> corners(np.array([[0.5, 0, 0.5], [0, 1, 0], [0.5, 0.25, 0.25], [0.5, 0.5, 0]])).tolist()
    [1, 0, 3]
    """
    order = np.lexsort((chances[:, 1], chances[:, 0]))
    # Of equal chances of a win only the least and the most likely tie can be corners.
    step = np.flatnonzero(np.diff(chances[order, 0])) + 1
    ends = order[np.unique(np.concatenate([[0], step, step - 1, [len(order) - 1]]))]
    kept: set[int] = set()
    for places in (range(len(ends)), range(len(ends) - 1, -1, -1)):
        chain: list[int] = []
        for i in places:
            while len(chain) > 1 and not _turns(chances[ends[[*chain[-2:], i]]]):
                chain.pop()
            chain.append(i)
        kept.update(chain)
    return np.asarray(ends[sorted(kept)], np.int64)


def _turns(points: Floats) -> bool:
    """Tell whether a way over three points turns left at the second."""
    (ax, ay, _), (bx, by, _), (x, y, _) = points.tolist()
    return bool((bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0)


def at_corners(mix: Mix, fields: int, units: int) -> tuple[Floats, NDArray[np.int16]]:
    """Return the corners of `all_against`, and their allocations; kept for equal mixes."""
    return _at_corners(tuple(mix.named.items()), mix.uniform, fields, units)


@functools.lru_cache(maxsize=32)
def _at_corners(
    named: tuple[tuple[Allocation, float], ...], uniform: float, fields: int, units: int
) -> tuple[Floats, NDArray[np.int16]]:
    chances = all_against(Mix(dict(named), uniform), fields, units)
    places = corners(chances)
    return chances[places], every(fields, units)[places]
