"""Allocations of units to fields: how many there are, all of them, one at random, one another's."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Allocation = tuple[int, ...]
"""Units by field."""

LISTED = 400_000
"""The most allocations that are ever listed."""

SHORT = 5_000
"""The most allocations that are listed as tuples, or one by one in a posterior."""


def count(fields: int, units: int) -> int:
    """Return how many allocations there are.

    Examples
    --------
    >>> count(3, 20), count(5, 50), count(7, 75)
    (231, 316251, 324540216)
    """
    return math.comb(units + fields - 1, fields - 1)


@functools.lru_cache(maxsize=8)
def every(fields: int, units: int) -> NDArray[np.int16]:
    """Return all allocations in lexicographic order, shape (count, fields), read-only, by columns.

    Every choice of ``fields - 1`` bars among ``units + fields - 1`` places is one allocation: the
    units of a field are the places between two bars.

    Examples
    --------
    >>> every(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    size = count(fields, units)
    if size > LISTED:
        raise ValueError(f"{size} allocations are too many to list; the limit is {LISTED}")
    bars = itertools.combinations(range(units + fields - 1), fields - 1)
    places = np.fromiter(itertools.chain.from_iterable(bars), np.int16, size * (fields - 1))
    allocations = np.asfortranarray(_between(places.reshape(size, fields - 1), fields, units))
    allocations.flags.writeable = False
    return allocations


@functools.lru_cache(maxsize=4)
def classes(fields: int, units: int) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return the allocations whose units do not ascend, and for each of `every` which it is of.

    Every allocation is a permutation of exactly one of them.

    Examples
    --------
    >>> classes(3, 4)[0].tolist()
    [[2, 1, 1], [2, 2, 0], [3, 1, 0], [4, 0, 0]]
    """
    ordered = np.sort(every(fields, units), axis=1)[:, ::-1]
    rows, inverse = np.unique(ordered, axis=0, return_inverse=True)
    return rows, inverse.reshape(-1)


def orders(allocation: Sequence[int], most: int) -> list[Allocation]:
    """Return all different orders of the units of an allocation, in lexicographic order.

    Raises
    ------
    ValueError
        More than `most` are met on the way.

    Examples
    --------
    >>> orders((2, 1, 1), most=3)
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    left = tuple(sorted(allocation))
    begun: list[tuple[Allocation, Allocation]] = [((), left)]
    for _ in left:
        begun = [
            ((*start, units), (*rest[:i], *rest[i + 1 :]))
            for start, rest in begun
            for i, units in enumerate(rest)
            if i == 0 or rest[i - 1] != units
        ]
        if len(begun) > most:
            raise ValueError(f"{list(allocation)} has more than {most} orders")
    return [start for start, _ in begun]


def drawn(fields: int, units: int, rng: np.random.Generator) -> Allocation:
    """Draw one allocation, each with the same probability, on a short board by one number."""
    all_of_them = listed(fields, units)
    if all_of_them:
        return all_of_them[int(rng.random() * len(all_of_them))]
    places = rng.choice(units + fields - 1, fields - 1, replace=False, shuffle=False)
    bars = [-1, *sorted(places.tolist()), units + fields - 1]
    return tuple(b - a - 1 for a, b in itertools.pairwise(bars))


@functools.lru_cache(maxsize=8)
def listed(fields: int, units: int) -> tuple[Allocation, ...]:
    """Return all allocations of a small board; of others none."""
    if count(fields, units) > SHORT:
        return ()
    return tuple(tuple(row) for row in every(fields, units).tolist())


def even(fields: int, units: int) -> Allocation:
    """Return the even split, the remainder on the first fields.

    Examples
    --------
    >>> even(3, 20)
    (7, 7, 6)
    """
    each, more = divmod(units, fields)
    return tuple(each + (i < more) for i in range(fields))


def result(own: Sequence[int], other: Sequence[int]) -> int:
    """Return 1 if the first of two allocations takes more fields, -1 if the second, else 0.

    Examples
    --------
    >>> result((0, 10, 10), (7, 7, 6)), result((10, 0, 10), (10, 10, 0))
    (1, 0)
    """
    lead = 0
    for a, b in zip(own, other, strict=True):
        if a > b:
            lead += 1
        elif a < b:
            lead -= 1
    return (lead > 0) - (lead < 0)


def results(rows: NDArray[np.int16], other: Sequence[int]) -> NDArray[np.int8]:
    """Return `result` of many allocations, shape (n, fields), against one; shape (n,)."""
    lead = np.zeros(len(rows), np.int8)
    for i, units in enumerate(other):
        lead += rows[:, i] > units
        lead -= rows[:, i] < units
    return np.sign(lead)


def place(allocation: Sequence[int]) -> int:
    """Return the place of an allocation among `every`.

    Examples
    --------
    >>> place((0, 2)), place((2, 0))
    (0, 2)
    """
    found, left = 0, sum(allocation)
    for bars, units in zip(range(len(allocation) - 1, 0, -1), allocation, strict=False):
        # All that agree before this field and have fewer units on it.
        found += math.comb(left + bars, bars) - math.comb(left - units + bars, bars)
        left -= units
    return found


def _between(bars: NDArray[np.int16], fields: int, units: int) -> NDArray[np.int16]:
    edges = np.full((len(bars), fields + 1), -1, np.int16)
    edges[:, 1:-1] = bars
    edges[:, -1] = units + fields - 1
    return (np.diff(edges, axis=1) - 1).astype(np.int16)
