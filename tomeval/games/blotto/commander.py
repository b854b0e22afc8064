"""What all scripted Blotto players share, and how their options are checked.

What each does next depends on finished rounds alone, which both seats see. So a subject that knows
the policy knows its memory too, and `Commander.mix` is a Bayesian observer's posterior.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.blotto.allocations import Allocation, result
from tomeval.games.blotto.mixes import Mix
from tomeval.games.blotto.rules import Blotto, BlottoView
from tomeval.games.game import Ask
from tomeval.games.policy import Choices, Memory, Policy


class Commander(Policy):
    """A scripted Blotto player."""

    @abstractmethod
    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return the distribution of its next allocation."""

    def begin(self, game: Blotto) -> Memory:
        """Return its memory before the first round."""
        return None

    def memories(self, game: Blotto) -> Sequence[Memory]:
        """Return all memories that it can have."""
        return (self.begin(game),)

    def then(self, memory: Memory, other: Allocation, found: int) -> Memory:
        """Return its memory after what the other seat did, and its own result: 1, 0 or -1."""
        return memory

    def start(self, view: BlottoView) -> Memory:
        """Return its memory before the first round."""
        return self.begin(view.game)

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
        own, other = view.last
        return self.then(memory, other, result(own, other))


def freeze(policy: Policy, name: str, value: Any) -> None:
    """Set an option of a frozen policy while it is made."""
    object.__setattr__(policy, name, value)


def allocations_of(given: Any, where: str) -> tuple[Allocation, ...]:
    """Return allocations; a `TomevalError` if it is not a list of allocations, or is empty."""
    if not isinstance(given, list | tuple) or not given:
        raise TomevalError(f"{where}: must be a list of allocations, is {given!r}")
    return tuple(allocation_of(item, where) for item in given)


def allocation_of(given: Any, where: str) -> Allocation:
    """Return an option as an allocation; a `TomevalError` if it is not a list of whole numbers."""
    if not isinstance(given, list | tuple) or any(type(units) is not int for units in given):
        raise TomevalError(f"{where}: an allocation is a list of whole numbers, not {given!r}")
    return tuple(given)


def check_noise(noise: Any, name: str) -> None:
    """Raise a `TomevalError` if the noise is not a probability."""
    if type(noise) not in (int, float) or not 0 <= noise <= 1:
        raise TomevalError(f"{name}: noise must be from 0 to 1, is {noise!r}")


def check_board(game: Blotto, where: str, allocations: Sequence[Sequence[int]]) -> None:
    """Raise a `TomevalError` if an allocation is not one of the board."""
    for allocation in allocations:
        broken = game.broken(allocation)
        if broken is not None:
            raise TomevalError(f"{where}: {list(allocation)}: {broken.text}")
