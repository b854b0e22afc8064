"""Scripted Blotto players by name.

What each does next depends on finished rounds alone, which both seats see. So a subject that knows
the policy knows its memory too, and `Commander.mix` is a Bayesian observer's posterior.
"""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt

from tomeval.core.errors import TomevalError
from tomeval.games.blotto.allocations import Allocation, Mix, best_reply, listed
from tomeval.games.blotto.rules import Blotto, BlottoView
from tomeval.games.game import Ask
from tomeval.games.solver import Chance, Choices, Memory, Policy


class Commander(Policy):
    """A scripted Blotto player."""

    @abstractmethod
    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the distribution of its next allocation."""

    def memories(self, game: Blotto) -> Sequence[Memory]:
        """Return all memories that it can have."""
        return (None,)

    def then(self, memory: Memory, other: Allocation) -> Memory:
        """Return its memory after what the other seat did."""
        return memory

    def choices(self, view: BlottoView, ask: Ask, memory: Memory) -> Choices:
        """Return its allocations with probabilities."""
        return tuple((weight, one) for one, weight in self.mix(view.game, memory).items())

    def act(
        self, view: BlottoView, ask: Ask, memory: Memory, rng: np.random.Generator
    ) -> Allocation:
        """Draw its allocation."""
        return self.mix(view.game, memory).draw(rng)

    def observe(self, view: BlottoView, memory: Memory) -> Memory:
        """Return its memory after a round; the same if a forfeit ended the first one."""
        if view.last is None:
            return memory
        return self.then(memory, view.last[1])


def _check(game: Blotto, where: str, allocations: Sequence[Allocation]) -> None:
    """Raise a `TomevalError` if an option is no allocation of the board."""
    for one in allocations:
        if broken := game.broken(one):
            raise TomevalError(f"{where}: {list(one)}: {broken.text}")


@dataclass(frozen=True, kw_only=True)
class Noisy(Commander):
    """One that may slip."""

    noise: Chance = 0.0  # that any allocation is played instead


@dataclass(frozen=True)
class Uniform(Commander):
    """Draws any allocation, all with the same probability."""

    about: ClassVar[str] = "any allocation, all equally likely"

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the uniform distribution."""
        return Mix([game.evenly], noise=1.0)


@dataclass(frozen=True)
class Mixture(Noisy):
    """Draws one of several allocations, round after round."""

    about: ClassVar[str] = "a fixed allocation, or a mixture of several"

    allocations: Annotated[tuple[Allocation, ...], Field(min_length=1)]
    weights: tuple[NonNegativeFloat, ...] | None = None  # one for each; default: equal

    def fits(self, game: Blotto) -> None:
        """Raise a `TomevalError` if an allocation is not one of this board."""
        _check(game, "allocations", self.allocations)
        weights = self.weights
        if weights is not None and (len(weights) != len(self.allocations) or not sum(weights)):
            raise TomevalError(
                f"weights: one for each of {len(self.allocations)} allocations is needed, not all "
                f"0; they are {list(weights)}"
            )

    @property
    def without_chance(self) -> bool:
        """Whether it has one allocation only."""
        return self._mix.certain

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the mixture."""
        return self._mix

    @functools.cached_property
    def _mix(self) -> Mix:
        return Mix(self.allocations, self.weights, self.noise)


@dataclass(frozen=True)
class Planner(Noisy):
    """Plays a plan, which follows from the one before and the other seat's last move.

    Its next plan is made as if it had not slipped.
    """

    remembers: ClassVar[bool] = True

    first: Allocation | None = None  # its allocation in the first round; default: the even split

    def fits(self, game: Blotto) -> None:
        """Raise a `TomevalError` if its first allocation is not one of this board."""
        if self.first is not None:
            _check(game, "first", [self.first])

    @property
    def without_chance(self) -> bool:
        """Whether it never slips."""
        return not self.noise

    def start(self, view: BlottoView) -> Allocation:
        """Return its first allocation."""
        evenly: Allocation = view.game.evenly
        return evenly if self.first is None else self.first

    def memories(self, game: Blotto) -> tuple[Allocation, ...]:
        """Return all plans of a board, if they can be listed."""
        return listed(game.fields, game.units)

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return its plan, but for slips."""
        return Mix([memory], noise=self.noise)


@dataclass(frozen=True)
class Copy(Planner):
    """Plays what the other seat played in the last round."""

    about: ClassVar[str] = "copies the opponent's last allocation"

    def then(self, memory: Allocation, other: Allocation) -> Allocation:
        """Return what the other seat did."""
        return other


@dataclass(frozen=True)
class Reply(Planner):
    """Plays the best reply to what the other seat played in the last round."""

    about: ClassVar[str] = "the best reply to the opponent's last allocation"

    def then(self, memory: Allocation, other: Allocation) -> Allocation:
        """Return the reply of `allocations.best_reply`."""
        return best_reply(other)


@dataclass(frozen=True)
class Shift(Planner):
    """Takes units away from the fields that its plan lost."""

    about: ClassVar[str] = "moves units away from the fields that it lost"

    # Units that each field gives up, as far as it has them. They go one by one to the fields that
    # were not lost, in turn from the first to the last.
    step: PositiveInt = 2

    def then(self, memory: Allocation, other: Allocation) -> Allocation:
        """Return the plan before, with units moved."""
        lost = [a < b for a, b in zip(memory, other, strict=True)]
        plan = [a - min(a, self.step) * gone for a, gone in zip(memory, lost, strict=True)]
        kept = itertools.cycle([i for i, gone in enumerate(lost) if not gone])
        for _ in range(sum(memory) - sum(plan)):
            plan[next(kept)] += 1
        return tuple(plan)


POLICIES: dict[str, type[Policy]] = {
    "uniform": Uniform,
    "mixture": Mixture,
    "copy": Copy,
    "reply": Reply,
    "shift": Shift,
}
"""Scripted players by name."""
