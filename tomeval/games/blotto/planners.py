"""Reactive Blotto players: a plan follows from the one before and the other seat's last move."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tomeval.core.errors import TomevalError
from tomeval.games.blotto.allocations import Allocation, listed
from tomeval.games.blotto.commander import (
    Commander,
    allocation_of,
    check_board,
    check_noise,
    freeze,
)
from tomeval.games.blotto.mixes import Mix
from tomeval.games.blotto.replies import best_reply
from tomeval.games.blotto.rules import Blotto
from tomeval.games.policy import Memory


@dataclass(frozen=True)
class Planner(Commander):
    """Plays the plan that it made after the last round.

    Attributes
    ----------
    name : str
        As experiments name it.
    first : list of int, optional
        Its allocation in the first round; default: the even split.
    noise : float
        Probability that it slips and plays any allocation instead, from 0 to 1. Its next plan is
        made as if it had not slipped.
    """

    name: ClassVar[str]
    remembers: ClassVar[bool] = True

    first: Sequence[int] | None = None
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.first is not None:
            freeze(self, "first", allocation_of(self.first, f"{self.name}: first"))
        check_noise(self.noise, self.name)

    def fits(self, game: Blotto) -> None:
        """Raise a `TomevalError` if its first allocation is not one of this board."""
        if self.first is not None:
            check_board(game, f"{self.name}: first", [self.first])

    @property
    def without_chance(self) -> bool:
        """Whether it never slips."""
        return not self.noise

    @abstractmethod
    def plan(self, before: Allocation, other: Allocation) -> Allocation:
        """Return its next plan, given the one before and what the other seat did."""

    def begin(self, game: Blotto) -> Allocation:
        """Return its first allocation."""
        return game.evenly if self.first is None else tuple(self.first)

    def memories(self, game: Blotto) -> tuple[Allocation, ...]:
        """Return all plans of a board, if they can be listed."""
        return listed(game.fields, game.units)

    def then(self, memory: Memory, other: Allocation, found: int) -> Allocation:
        """Return its next plan."""
        return self.plan(memory, other)

    def mix(self, game: Blotto, memory: Memory) -> Mix:
        """Return its plan, but for slips."""
        return Mix([memory], noise=self.noise)


@dataclass(frozen=True)
class Copy(Planner):
    """Plays what the other seat played in the last round."""

    name: ClassVar[str] = "copy"
    about: ClassVar[str] = "copies the opponent's last allocation"

    def plan(self, before: Allocation, other: Allocation) -> Allocation:
        """Return what the other seat did."""
        return other


@dataclass(frozen=True)
class Reply(Planner):
    """Plays the best reply to what the other seat played in the last round."""

    name: ClassVar[str] = "reply"
    about: ClassVar[str] = "the best reply to the opponent's last allocation"

    def plan(self, before: Allocation, other: Allocation) -> Allocation:
        """Return the reply of `replies.best_reply`."""
        return best_reply(other)


@dataclass(frozen=True)
class Shift(Planner):
    """Takes units away from the fields that its plan lost.

    Attributes
    ----------
    step : int
        Units that each field gives up, as far as it has them. They go one by one to the fields
        that were not lost, in turn from the first to the last.
    """

    name: ClassVar[str] = "shift"
    about: ClassVar[str] = "moves units away from the fields that it lost"

    step: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.step) is not int or self.step < 1:
            raise TomevalError(f"shift: step must be 1 or more, is {self.step!r}")

    def plan(self, before: Allocation, other: Allocation) -> Allocation:
        """Return the plan before, with units moved."""
        lost = [a < b for a, b in zip(before, other, strict=True)]
        plan = [a - min(a, self.step) * gone for a, gone in zip(before, lost, strict=True)]
        kept = itertools.cycle([i for i, gone in enumerate(lost) if not gone])
        for _ in range(sum(before) - sum(plan)):
            plan[next(kept)] += 1
        return tuple(plan)
