"""Scripted Blotto players by name; here those that draw from mixtures."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.blotto.allocations import Allocation, count, orders
from tomeval.games.blotto.commander import (
    Commander,
    allocations_of,
    check_board,
    check_noise,
    freeze,
)
from tomeval.games.blotto.mixes import MOST, Mix, equilibrium
from tomeval.games.blotto.planners import Copy, Reply, Shift
from tomeval.games.blotto.rules import Blotto
from tomeval.games.policy import Memory, Policy

PERMUTED = 10_000
"""The most allocations that a mixture may have after its permutations."""


@functools.lru_cache(maxsize=4)
def _uniform(evenly: Allocation) -> Mix:
    return Mix([evenly], noise=1.0)


@dataclass(frozen=True)
class Uniform(Commander):
    """Draws any allocation, all with the same probability."""

    about: ClassVar[str] = "any allocation, all equally likely"

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the uniform distribution."""
        return _uniform(game.evenly)


@dataclass(frozen=True)
class Mixture(Commander):
    """Draws one of several allocations, round after round.

    Attributes
    ----------
    allocations : list of list of int
    weights : list of float, optional
        One for each allocation; default: equal.
    permuted : bool
        Whether the units are then dealt to the fields at random.
    noise : float
        Probability that any allocation is played instead, from 0 to 1.
    """

    about: ClassVar[str] = "a fixed allocation, or a mixture of several"

    allocations: Sequence[Sequence[int]]
    weights: Sequence[float] | None = None
    permuted: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        freeze(self, "allocations", allocations_of(self.allocations, "mixture: allocations"))
        check_noise(self.noise, "mixture")
        if self.weights is None:
            return
        if not isinstance(self.weights, list | tuple):
            raise TomevalError(f"mixture: weights must be a list of numbers, is {self.weights!r}")
        wrong = [w for w in self.weights if type(w) not in (int, float) or not 0 <= w < np.inf]
        if wrong or not sum(self.weights) > 0:
            given = list(self.weights)
            raise TomevalError(f"mixture: weights must be positive numbers, are {given}")
        if len(self.weights) != len(self.allocations):
            raise TomevalError(
                f"mixture: {len(self.allocations)} allocations have {len(self.weights)} weights"
            )
        freeze(self, "weights", tuple(self.weights))

    def fits(self, game: Blotto) -> None:
        """Raise a `TomevalError` if an allocation is not one of this board."""
        check_board(game, "mixture: allocations", self.allocations)
        try:
            self._mix  # noqa: B018 (kept, and checked before the first round)
        except ValueError as error:
            raise TomevalError(f"mixture: permuted: {error}") from error

    @property
    def without_chance(self) -> bool:
        """Whether it has one allocation only."""
        return self._mix.certain

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the mixture."""
        return self._mix

    @functools.cached_property
    def _mix(self) -> Mix:
        allocations = [tuple(a) for a in self.allocations]
        if not self.permuted:
            return Mix(allocations, self.weights, self.noise)
        weights = self.weights or [1.0] * len(allocations)
        spread = [orders(a, PERMUTED) for a in allocations]
        return Mix(
            [a for same in spread for a in same],
            [w / len(same) for w, same in zip(weights, spread, strict=True) for _ in same],
            self.noise,
        )


@dataclass(frozen=True)
class Equilibrium(Commander):
    """Draws from an optimal strategy of one round, see `mixes.equilibrium`."""

    about: ClassVar[str] = "an optimal strategy of one round, on boards where it can be computed"

    def fits(self, game: Blotto) -> None:
        """Raise a `TomevalError` on boards that are too large."""
        size = count(game.fields, game.units)
        if size > MOST:
            raise TomevalError(
                f"equilibrium: {game.fields} fields and {game.units} units have {size}"
                f" allocations, more than {MOST}; use a permuted mixture instead"
            )

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the optimal strategy."""
        return equilibrium(game.fields, game.units)


@dataclass(frozen=True)
class ByResult(Commander):
    """Draws from one of several lists, by its own result in the last round.

    Attributes
    ----------
    won, lost : list of list of int
        Allocations, equally likely; one named twice is twice as likely.
    tied, first : list of list of int, optional
        After a tie, and in the first round; default: those of `won` and `lost` together.
    noise : float
        Probability that any allocation is played instead, from 0 to 1.
    """

    about: ClassVar[str] = "allocations that depend on whether it took the last round"
    remembers: ClassVar[bool] = True

    won: Sequence[Sequence[int]]
    lost: Sequence[Sequence[int]]
    tied: Sequence[Sequence[int]] = ()
    first: Sequence[Sequence[int]] = ()
    noise: float = 0.0

    def __post_init__(self) -> None:
        for name in ("won", "lost", "tied", "first"):
            given = getattr(self, name)
            if name in ("tied", "first") and given == ():
                given = (*self.won, *self.lost)
            freeze(self, name, allocations_of(given, f"by_result: {name}"))
        check_noise(self.noise, "by_result")

    def fits(self, game: Blotto) -> None:
        """Raise a `TomevalError` if an allocation is not one of this board."""
        for name in ("won", "lost", "tied", "first"):
            check_board(game, f"by_result: {name}", getattr(self, name))

    @property
    def without_chance(self) -> bool:
        """Whether it has one allocation after each result."""
        return all(mix.certain for mix in self._mixes.values())

    def begin(self, game: Blotto) -> str:
        """Return ``first``."""
        return "first"

    def memories(self, game: Blotto) -> Sequence[str]:
        """Return the names of its lists."""
        return tuple(self._mixes)

    def then(self, memory: Memory, other: Allocation, found: int) -> str:
        """Return ``won``, ``lost`` or ``tied``."""
        return ("tied", "won", "lost")[found]

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the mixture that belongs to its last result."""
        return self._mixes[memory]

    @functools.cached_property
    def _mixes(self) -> Mapping[str, Mix]:
        return {
            name: Mix([tuple(a) for a in getattr(self, name)], noise=self.noise)
            for name in ("won", "lost", "tied", "first")
        }


POLICIES: dict[str, type[Policy]] = {
    "uniform": Uniform,
    "mixture": Mixture,
    "equilibrium": Equilibrium,
    "by_result": ByResult,
    "copy": Copy,
    "reply": Reply,
    "shift": Shift,
}
"""Scripted players by name."""
