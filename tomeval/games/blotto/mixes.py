"""Distributions over allocations: some named ones, and all with equal probability.

An optimal strategy of one round is such a mix, found by linear programming over classes of
allocations. One round is a symmetric zero-sum game with payoffs 1, 0 and -1, so its value is 0.
Averaged over the permutations of the fields an optimal strategy stays optimal; so there is one that
plays all permutations of an allocation equally often, and only the probabilities of these classes
are sought.
"""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tomeval.games.blotto.allocations import (
    Allocation,
    classes,
    count,
    drawn,
    every,
    orders,
    results,
)

Floats = NDArray[np.float64]

MOST = 12_000
"""The most allocations of a board for which an optimal strategy is computed."""

NEGLIGIBLE = 1e-9
"""Probabilities below it are rounding of the linear program."""

_CELLS = 2**21
"""Numbers that are counted with at once."""


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

    @functools.cached_property
    def corners(self) -> NDArray[np.int64]:
        """The places of allocations of which one is best, whatever results are worth."""
        return corners(self.chances)


@functools.lru_cache(maxsize=4)
def against_any(fields: int, units: int) -> Floats:
    """Return the chances of `every` allocation if the other seat draws any, shape (count, 3).

    Examples
    --------
    >>> against_any(2, 2).tolist()  # against (0, 2), (1, 1), (2, 0): ties
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows, of = classes(fields, units)
    parts = 1 + len(rows) * (units + 1) * (2 * fields + 1) // _CELLS
    counts = [_counts(part, units) for part in np.array_split(rows, parts) if len(part)]
    return (np.concatenate(counts) / count(fields, units))[of]


def _counts(rows: NDArray[np.int16], units: int) -> NDArray[np.int64]:
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


def corners(chances: Floats) -> NDArray[np.int64]:
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


@functools.lru_cache(maxsize=8)
def equilibrium(fields: int, units: int) -> Mix:
    """Return an optimal strategy of one round, up to rounding of the linear program.

    No allocation wins against it on average by more than about 1e-9 of a round; tests demand it.
    Of several optimal strategies it is the one that the solver finds.
    """
    from scipy.optimize import linprog

    rows = classes(fields, units)[0]
    same = [orders(row, MOST) for row in rows.tolist()]
    # The expected result of each class of allocations against each.
    table = np.stack(
        [np.mean([results(rows, order) for order in each], axis=0) for each in same], axis=1
    )
    size = len(table)
    # Maximise v subject to: p' table >= v in every column, sum p = 1, p >= 0.
    solution = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack([-table.T, np.ones(size)]),
        b_ub=np.zeros(size),
        A_eq=np.append(np.ones(size), 0.0)[None],
        b_eq=[1.0],
        bounds=[*[(0, None)] * size, (None, None)],
    )
    assert solution.x is not None, solution.message
    assert solution.status == 0, solution.message
    named: dict[Allocation, float] = {}
    for each, weight in zip(same, solution.x[:-1].tolist(), strict=True):
        if weight > NEGLIGIBLE:
            named |= dict.fromkeys(each, weight / len(each))
    return Mix(list(named), list(named.values()))
