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

from tomeval.domains.arena.games.blotto.allocations import (
    Allocation,
    classes,
    count,
    drawn,
    every,
    orders,
    results,
)
from tomeval.games.policy import Choices


class Mix:
    """A distribution over the allocations of a board.

    Attributes
    ----------
    named : mapping of Allocation to float
        Allocations with their own probabilities, positive.
    uniform : float
        Probability that any allocation is drawn instead, all with equal probability; with those
        of `named` it sums to 1.
    """

    def __init__(self, named: Mapping[Allocation, float], uniform: float = 0.0) -> None:
        self.named, self.uniform = dict(named), uniform

    @classmethod
    def of(
        cls,
        allocations: Sequence[Allocation],
        weights: Sequence[float] | None = None,
        noise: float = 0.0,
    ) -> Mix:
        """Return a mix of allocations; named twice counts twice.

        Parameters
        ----------
        weights : sequence of float, optional
            Not negative, with a positive sum; default: equal.
        noise : float
            Probability that any allocation is drawn instead.
        """
        each = [1.0] * len(allocations) if weights is None else list(weights)
        total = sum(each)
        named: dict[Allocation, float] = {}
        for allocation, weight in zip(allocations, each, strict=True):
            if weight > 0 and noise < 1:
                named[allocation] = named.get(allocation, 0.0) + (1 - noise) * weight / total
        return cls(named, noise)

    @property
    def certain(self) -> bool:
        """Whether there is one allocation only."""
        return len(self.named) == 1 and not self.uniform

    def draw(self, fields: int, units: int, rng: np.random.Generator) -> Allocation:
        """Draw an allocation; a mix of one draws nothing."""
        allocations, edges = self.edges
        if self.certain:
            return allocations[0]
        index = bisect_right(edges, rng.random())
        if index < len(edges):
            return allocations[index]
        # Rounding may leave a gap of 1e-16 behind the last edge.
        return drawn(fields, units, rng) if self.uniform else allocations[-1]

    def choices(self, fields: int, units: int) -> Choices:
        """Return every allocation that may be drawn, with its probability."""
        if not self.uniform:
            return tuple((weight, allocation) for allocation, weight in self.named.items())
        each = self.uniform / count(fields, units)
        rows = map(tuple, every(fields, units).tolist())
        return tuple((each + self.named.get(row, 0.0), row) for row in rows)

    def likeliest(self, fields: int, units: int) -> float:
        """Return the probability of the likeliest allocation."""
        return max(self.named.values(), default=0.0) + self.uniform / count(fields, units)

    @functools.cached_property
    def edges(self) -> tuple[list[Allocation], list[float]]:
        """The named allocations, and where each ends if a number from 0 to 1 says which it is."""
        return list(self.named), list(itertools.accumulate(self.named.values()))


class Posterior(Mapping[Allocation, float]):
    """A mix as a mapping from allocations to probabilities; nothing is listed unless iterated."""

    def __init__(self, mix: Mix, fields: int, units: int) -> None:
        self._mix, self._fields, self._units = mix, fields, units
        self._each = mix.uniform / count(fields, units)

    def __getitem__(self, allocation: Allocation) -> float:
        named = self._mix.named.get(allocation, 0.0)
        if self._mix.uniform and self._legal(allocation):
            return named + self._each
        if not named:
            raise KeyError(allocation)
        return named

    def __iter__(self) -> Iterator[Allocation]:
        return (row for _, row in self._mix.choices(self._fields, self._units))

    def __len__(self) -> int:
        return count(self._fields, self._units) if self._mix.uniform else len(self._mix.named)

    def _legal(self, allocation: Allocation) -> bool:
        return (
            len(allocation) == self._fields
            and min(allocation) >= 0
            and sum(allocation) == self._units
        )


MOST = 12_000
"""The most allocations of a board for which an optimal strategy is computed."""

NEGLIGIBLE = 1e-9
"""Probabilities below it are rounding of the linear program."""


def payoffs(fields: int, units: int) -> NDArray[np.float64]:
    """Return the expected result of each class of allocations against each, shape (n, n).

    A class is the permutations of a row of `allocations.classes`, all equally likely.
    """
    rows = classes(fields, units)[0]
    table = np.empty((len(rows), len(rows)))
    for j, row in enumerate(rows.tolist()):
        total = np.zeros(len(rows), np.int64)
        for order in orders(row, MOST):
            total += results(rows, order)
        table[:, j] = total / len(orders(row, MOST))
    return table


@functools.lru_cache(maxsize=8)
def equilibrium(fields: int, units: int) -> Mix:
    """Return an optimal strategy of one round, up to rounding of the linear program.

    No allocation wins against it on average by more than about 1e-9 of a round; tests demand it.
    Of several optimal strategies it is the one that the solver finds.
    """
    from scipy.optimize import linprog

    table = payoffs(fields, units)
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
    named = {}
    for row, weight in zip(classes(fields, units)[0].tolist(), solution.x[:-1], strict=True):
        if weight > NEGLIGIBLE:
            same = orders(row, MOST)
            named.update({order: float(weight) / len(same) for order in same})
    total = sum(named.values())
    return Mix({allocation: weight / total for allocation, weight in named.items()})
