"""Allocations of units to fields: all of them, one at random, replies, and distributions."""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

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
    edges = np.full((size, fields + 1), -1, np.int16)
    edges[:, 1:-1] = places.reshape(size, fields - 1)
    edges[:, -1] = units + fields - 1
    allocations = np.asfortranarray(np.diff(edges, axis=1) - 1)
    allocations.flags.writeable = False
    return allocations


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


def best_result(other: Sequence[int]) -> int:
    """Return the best result against an allocation of as many units: 1, or 0 if it is unbeaten.

    Examples
    --------
    >>> best_result((7, 7, 6)), best_result((1, 1, 1))
    (1, 0)
    """
    return int(results(every(len(other), sum(other)), other).max())


@functools.lru_cache(maxsize=4096)
def best_reply(other: Allocation) -> Allocation:
    """Return the best reply to an allocation, if it is certain.

    Of the allocations with the best result: those that keep it against the most additional units
    on every field; of these the closest to even, with the least sum of squares; of these the
    lexicographically first. So a near miss of a prediction costs little, and nothing is presumed
    of the player that it is about.

    Examples
    --------
    >>> best_reply((7, 7, 6))
    (1, 10, 9)
    """
    lead, rows = best_result(other), every(len(other), sum(other))
    good, kept, more = rows, rows, 0
    while len(kept):
        good, raised = kept, [units + more for units in other]
        kept, more = rows[results(rows, raised) >= lead], more + 1
    squares = (good.astype(np.int64) ** 2).sum(axis=1)
    return tuple(good[squares.argmin()].tolist())


Floats = NDArray[np.float64]


class Mix(Mapping[Allocation, float]):
    """A distribution over the allocations of a board; all are listed only if it is iterated.

    Parameters
    ----------
    allocations : sequence of Allocation
        One or more of the board; named twice counts twice.
    weights : sequence of float, optional
        Not negative, with a positive sum; default: equal.
    noise : float
        Probability that any allocation is drawn instead, all with equal probability.

    Attributes
    ----------
    board : tuple of int
        Fields and units.
    named : dict of Allocation to float
        Allocations with their own probabilities, positive.
    """

    def __init__(
        self,
        allocations: Sequence[Allocation],
        weights: Sequence[float] | None = None,
        noise: float = 0.0,
    ) -> None:
        self.board, self.noise = (len(allocations[0]), sum(allocations[0])), noise
        self.named: dict[Allocation, float] = {}
        each = [1.0] * len(allocations) if weights is None else weights
        total = sum(each)
        for allocation, weight in zip(allocations, each, strict=True):
            if weight > 0 and noise < 1:
                share = (1 - noise) * weight / total
                self.named[allocation] = self.named.get(allocation, 0.0) + share
        self._any = noise / count(*self.board)

    def __getitem__(self, allocation: Allocation) -> float:
        legal = (len(allocation), sum(allocation)) == self.board and min(allocation) >= 0
        if allocation not in self.named and not (self.noise and legal):
            raise KeyError(allocation)
        return self._any + self.named.get(allocation, 0.0)

    def __iter__(self) -> Iterator[Allocation]:
        return map(tuple, every(*self.board).tolist()) if self.noise else iter(self.named)

    def __len__(self) -> int:
        return count(*self.board) if self.noise else len(self.named)

    @property
    def certain(self) -> bool:
        """Whether there is one allocation only."""
        return len(self.named) == 1 and not self.noise

    def draw(self, rng: np.random.Generator) -> Allocation:
        """Draw an allocation; a mix of one draws nothing."""
        allocations, edges = self._edges
        if self.certain:
            return allocations[0]
        index = bisect_right(edges, rng.random())
        if index < len(edges):
            return allocations[index]
        # Rounding may leave a gap of 1e-16 behind the last edge.
        return drawn(*self.board, rng) if self.noise else allocations[-1]

    @functools.cached_property
    def _edges(self) -> tuple[list[Allocation], list[float]]:
        """The named allocations, and where each ends if a number from 0 to 1 says which it is."""
        return list(self.named), list(itertools.accumulate(self.named.values()))

    @functools.cached_property
    def chances(self) -> Floats:
        """The chances of `every` allocation against it: win, tie, loss; shape (count, 3)."""
        rows = every(*self.board)
        chances = np.zeros((3, len(rows)))
        for other, weight in self.named.items():
            found = results(rows, other)
            for column, result in enumerate((1, 0, -1)):
                chances[column] += weight * (found == result)
        if self.noise:
            chances += self.noise * against_any(*self.board).T
        return chances.T


@functools.lru_cache(maxsize=4)
def against_any(fields: int, units: int) -> Floats:
    """Return the chances of `every` allocation if the other seat draws any, shape (count, 3).

    Examples
    --------
    >>> against_any(2, 2).tolist()  # against (0, 2), (1, 1), (2, 0): ties
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows, of = np.unique(np.sort(every(fields, units)), axis=0, return_inverse=True)
    found = (results(every(fields, units), row) for row in rows.tolist())
    counts = [[np.count_nonzero(one == sign) for sign in (-1, 0, 1)] for one in found]
    return (np.array(counts) / count(fields, units))[of.reshape(-1)]
