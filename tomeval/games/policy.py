"""Scripted players: known policies, from which exact values and observers follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from tomeval.games.game import Action, Ask, Probe

Memory = Any
"""What a policy remembers: hashable."""

Choices = tuple[tuple[float, Action], ...]
"""Actions with probabilities that sum to 1, each action once."""


class Policy(ABC):
    """A scripted player of one game; immutable, so one object sits in any number of games.

    A subclass is a frozen dataclass whose fields are its options, JSON-ready, as experiments give
    them; it raises a `TomevalError` for options that make no sense. Its methods get views of its
    game's own type, see `ArenaGame.views`.

    Attributes
    ----------
    about : str
        What it does, in a few words, for lists.
    remembers : bool
        Whether it has a memory, which `observe` is to keep.
    """

    about: ClassVar[str]
    remembers: ClassVar[bool] = False

    @property
    def without_chance(self) -> bool:
        """Whether it never draws, whatever it sees."""
        return False

    def fits(self, game: Any) -> None:  # noqa: B027 (most fit every game)
        """Raise a `TomevalError` if it cannot play a game with these parameters."""

    def start(self, view: Any) -> Memory:
        """Return the memory with which a seat begins, given what it was dealt."""
        return None

    @abstractmethod
    def choices(self, view: Any, ask: Ask, memory: Memory) -> Choices:
        """Return what it does, with probabilities."""

    def observe(self, view: Any, memory: Memory) -> Memory:
        """Return the memory after a stage; called once after every stage if it `remembers`."""
        return memory

    def predict(
        self, view: Any, ask: Ask, probe: Probe, memory: Memory, rng: np.random.Generator
    ) -> Action | None:
        """Answer a literal question, as the measured player; None: it has nothing to say."""
        return None

    def act(self, view: Any, ask: Ask, memory: Memory, rng: np.random.Generator) -> Action:
        """Draw what it does; a choice without alternative draws nothing."""
        return draw(self.choices(view, ask, memory), rng)


def draw(choices: Choices, rng: np.random.Generator) -> Action:
    """Draw one of several choices."""
    if len(choices) == 1:
        return choices[0][1]
    u = rng.random() * sum(weight for weight, _ in choices)
    for weight, action in choices:
        u -= weight
        if u < 0:
            return action
    return choices[-1][1]
