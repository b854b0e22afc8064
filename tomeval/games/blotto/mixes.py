"""Distributions over allocations: some named ones, and all with equal probability."""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tomeval.games.blotto.allocations import (
    Allocation,
    count,
    drawn,
    every,
    results,
)

Floats = NDArray[np.float64]

MOST = 1_000
"""The most allocations of a board for which an optimal strategy is computed."""

NEGLIGIBLE = 1e-9
"""Probabilities below it are rounding of the linear program."""


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


@functools.lru_cache(maxsize=8)
def equilibrium(fields: int, units: int) -> Mix:
    """Return an optimal strategy of one round, up to rounding of the linear program.

    A round is a symmetric zero-sum game, so that its value is 0. No allocation wins against the mix
    on average by more than about 1e-9 of a round. Of several it is the one that the solver finds.
    """
    from scipy.optimize import linprog

    rows = every(fields, units)
    table = np.stack([results(rows, other) for other in rows.tolist()], axis=1)
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
    weights = np.where(solution.x[:-1] > NEGLIGIBLE, solution.x[:-1], 0.0)
    return Mix([tuple(row) for row in rows.tolist()], weights.tolist())
