"""Probabilities of the results of one round: win, tie, loss."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.arena.games.blotto.allocations import (
    Allocation,
    count,
    every,
    result,
    results,
    sorted_ones,
)
from tomeval.domains.arena.games.blotto.mixes import Mix

_ROWS = 4096


class Chances(NamedTuple):
    """Probabilities of the results of a round, for one seat; numbers, or arrays of one shape."""

    win: float
    tie: float
    loss: float


def against(mix: Mix, own: Allocation) -> Chances:
    """Return the chances of an allocation against a distribution."""
    by_result = [0.0, 0.0, 0.0]
    for other, weight in mix.named.items():
        by_result[result(own, other)] += weight
    if mix.uniform:
        for place, chance in zip((1, 0, -1), against_any(own), strict=True):
            by_result[place] += mix.uniform * chance
    tie, win, loss = by_result
    return Chances(win, tie, loss)


def all_against(mix: Mix, fields: int, units: int) -> NDArray[np.float64]:
    """Return the chances of all allocations, in the order of `every`, shape (count, 3)."""
    rows = every(fields, units)
    found = _named_against(mix, rows)
    if mix.uniform:
        ones = sorted_ones(fields, units)
        found += mix.uniform * any_against_each(fields, units)[_places(ones, rows)]
    return found


@functools.lru_cache(maxsize=4096)
def _against_any(own: Allocation) -> Chances:
    counts = _counts(np.array([own], np.int16), sum(own))[0]
    total = count(len(own), sum(own))
    return Chances(*(int(n) / total for n in counts))


def against_any(own: Allocation) -> Chances:
    """Return the chances of an allocation if the other seat draws any, all equally likely.

    Examples
    --------
    >>> against_any((2, 0))  # against (0, 2), (1, 1), (2, 0)
    Chances(win=0.0, tie=1.0, loss=0.0)
    """
    return _against_any(tuple(sorted(own, reverse=True)))


@functools.lru_cache(maxsize=4)
def any_against_each(fields: int, units: int) -> NDArray[np.float64]:
    """Return `against_any` of all rows of `sorted_ones`, shape (n, 3)."""
    rows = sorted_ones(fields, units)
    blocks = [_counts(rows[i : i + _ROWS], units) for i in range(0, len(rows), _ROWS)]
    found = np.concatenate(blocks).astype(np.float64) / count(fields, units)
    found.flags.writeable = False
    return found


@functools.lru_cache(maxsize=4)
def winners_against_any(fields: int, units: int) -> NDArray[np.float64]:
    """Return the chances of two replies to every plan, against any allocation instead of the plan.

    Shape (plans, 2, 3), by rows of `sorted_ones`; for other orders of a plan the replies have their
    units in that order, and the same chances. Both replies win one field more than half of all,
    where the plan has the fewest units, by one unit each; what is left goes to these fields in
    equal parts, or to the others. Where that is too dear for a plan, its chances are all losses.
    """
    plans = sorted_ones(fields, units)
    most = fields // 2 + 1
    reply = np.zeros_like(plans)
    reply[:, fields - most :] = plans[:, fields - most :] + 1
    left = units - reply.sum(1, dtype=np.int64)
    found = np.zeros((len(plans), 2, 3))
    found[:, :, 2] = 1
    cheap = left >= 0
    for column, part in enumerate((slice(fields - most, fields), slice(0, fields - most))):
        full = reply[cheap].astype(np.int64)
        width = part.stop - part.start
        full[:, part] += left[cheap, None] // width
        full[:, part] += np.arange(width) < left[cheap, None] % width
        places = _places(plans, full.astype(np.int16))
        found[cheap, column] = any_against_each(fields, units)[places]
    found.flags.writeable = False
    return found


def random_against(mix: Mix, fields: int, units: int) -> Chances:
    """Return the chances of a seat that draws any allocation, against a distribution."""
    win = tie = loss = 0.0
    for other, weight in mix.named.items():
        theirs = against_any(other)
        win, tie, loss = (
            win + weight * theirs.loss,
            tie + weight * theirs.tie,
            loss + weight * theirs.win,
        )
    if mix.uniform:
        same = mix.uniform * _both_tie(fields, units)
        rest = (mix.uniform - same) / 2
        win, tie, loss = win + rest, tie + same, loss + rest
    return Chances(win, tie, loss)


def _named_against(mix: Mix, rows: NDArray[np.int16]) -> NDArray[np.float64]:
    columns = np.asfortranarray(rows)
    found = np.zeros((3, len(rows)))
    for other, weight in mix.named.items():
        sign = results(columns, other)
        found[0] += weight * (sign > 0)
        found[1] += weight * (sign == 0)
        found[2] += weight * (sign < 0)
    return found.T


def _counts(rows: NDArray[np.int16], units: int) -> NDArray[np.int64]:
    """Return how many allocations each row beats, ties and loses to, shape (n, 3).

    Counted for the first and the last fields apart, and put together by the other seat's units on
    the first ones.
    """
    half = (rows.shape[1] + 1) // 2
    first, of_first = _ways(rows[:, :half], units)
    last, of_last = _ways(rows[:, half:], units)
    last = last[:, ::-1]  # now by the units on the first fields
    found = np.zeros((len(rows), 3), np.int64)
    width, middle = last.shape[2], last.shape[2] // 2
    # by the lead over the first fields: how often it becomes a win, stays level, becomes a loss
    for place in range(first.shape[2]):
        level = middle - (place - half)  # where the leads over the last fields make it level
        parts = (slice(max(level + 1, 0), width), slice(level, level + 1), slice(0, max(level, 0)))
        for column, part in enumerate(parts):
            if (level < 0 and column > 0) or (level >= width and column < 2):
                continue
            there = last[:, :, part].sum(2)
            found[:, column] += (first[of_first, :, place] * there[of_last]).sum(1)
    return found


def _ways(rows: NDArray[np.int16], units: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ways to give units to some fields, for different rows, and the place of each row.

    ``ways[p, u, d]``: ways to give u units such that the lead over them is d - fields.
    """
    fields = rows.shape[1]
    ways = np.zeros((1, units + 1, 2 * fields + 1), np.int64)
    ways[0, 0, fields] = 1
    parents = np.zeros(len(rows), np.int64)
    for i in range(fields):
        keys, parents_of, inverse = _beginnings(parents, rows[:, i])
        sums = np.cumsum(ways, axis=1)
        after = np.zeros((len(keys), *ways.shape[1:]), np.int64)
        for own in np.unique(keys).tolist():
            here = np.flatnonzero(keys == own)
            start, total = ways[parents_of[here]], sums[parents_of[here]]
            fewer = total.copy()
            fewer[:, own:] -= total[:, : units + 1 - own]
            part = np.zeros_like(start)
            part[:, :, 1:] += fewer[:, :, :-1]
            part[:, own:] += start[:, : units + 1 - own]
            part[:, own + 1 :, :-1] += total[:, : max(units - own, 0), 1:]
            after[here] = part
        ways, parents = after, inverse
    return ways, parents


def _beginnings(
    parents: NDArray[np.int64], values: NDArray[np.int16]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the different pairs of a beginning and the next value, and the pair of every row."""
    width = int(values.max()) + 1
    pairs, inverse = np.unique(parents * width + values, return_inverse=True)
    return pairs % width, pairs // width, inverse.reshape(-1)


def _places(ones: NDArray[np.int16], rows: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return the row of `ones` of which each of `rows` is a permutation."""
    ordered = np.sort(rows, axis=1)[:, ::-1]
    _, found = np.unique(np.concatenate([ones, ordered]), axis=0, return_inverse=True)
    place = np.empty(len(ones), np.int64)
    place[found.reshape(-1)[: len(ones)]] = np.arange(len(ones))
    return place[found.reshape(-1)[len(ones) :]]


@functools.lru_cache(maxsize=8)
def _both_tie(fields: int, units: int) -> float:
    """Return the probability of a tie if both seats draw any allocation.

    ``ways[u, v, d]``: ways to give u and v units to the first fields, with a lead of d - fields.
    Sums over both seats' units of a field run along diagonals: as many each, then more of one.
    """
    ways = np.zeros((units + 1, units + 1, 2 * fields + 1))
    ways[0, 0, fields] = 1
    for _ in range(fields):
        equal = ways.copy()
        for u in range(1, units + 1):
            equal[u, 1:] += equal[u - 1, :-1]
        more, fewer = np.zeros_like(equal), np.zeros_like(equal)
        for u in range(1, units + 1):
            more[u] = more[u - 1] + equal[u - 1]
            fewer[:, u] = fewer[:, u - 1] + equal[:, u - 1]
        ways = equal
        ways[:, :, 1:] += more[:, :, :-1]
        ways[:, :, :-1] += fewer[:, :, 1:]
    return float(ways[units, units, fields] / ways[units, units].sum())
