"""Known policies, and what one seat's decisions are worth against them: exact, or not known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from pydantic import ConfigDict, Field

from tomeval.games.game import Action, Ask, Probe

Chance = Annotated[float, Field(ge=0, le=1)]
"""An option that is a probability."""

Memory = Any
"""What a policy remembers: hashable."""

Choices = tuple[tuple[float, Action], ...]
"""Actions with probabilities that sum to 1, each action once."""


class Policy(ABC):
    """A scripted player of one game; immutable, so one object sits in any number of games.

    A subclass is a frozen dataclass whose fields are its options, as experiments give them; where
    these do, pydantic holds them to the types, lists as tuples. Its methods get views of its game's
    own type, see `ArenaGame.views`.
    """

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False)

    about: ClassVar[str]  # what it does, in a few words, for lists
    remembers: ClassVar[bool] = False  # whether it has a memory, which `observe` is to keep

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

    def predict(self, view: Any, ask: Ask, probe: Probe, memory: Memory) -> Action:
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


class Weighed(NamedTuple):
    """What the options of a decision are worth: the best one, the one that was chosen, the mean."""

    best: float
    chosen: float
    mean: float

    @classmethod
    def of(cls, worths: Mapping[Action, float], chosen: Action) -> Weighed | None:
        """Return what options are worth; None if the choice is not one of them."""
        if chosen not in worths:
            return None
        return cls(max(worths.values()), worths[chosen], fmean(worths.values()))


class Values(ABC):
    """One decision of a seat, from what the seat knows: V* and Q* of the final reward.

    The values are expectations over everything the seat cannot know, given all that it has seen and
    the policies of the other seats, if it plays on as well as it can. They are exact, or None.
    """

    @property
    @abstractmethod
    def best(self) -> float | None:
        """V*: the value of the best action."""

    @abstractmethod
    def of(self, action: Action) -> float | None:
        """Return Q* of an action."""

    def regret(self, action: Action) -> float | None:
        """Return V* - Q* of an action."""
        best, value = self.best, self.of(action)
        return None if best is None or value is None else max(0.0, best - value)

    def best_actions(self) -> Sequence[Action]:
        """Return actions that attain V*, or else the most promising ones; empty: none is known."""
        return ()

    def reply(self, said: Mapping[Probe, Action]) -> Action | None:
        """Return the best reply to what the seat stated, as if it were certain of that.

        None if nothing follows from it, or if it contradicts what the seat has seen.
        """
        return None

    def worths(self, said: Mapping[Probe, Action] | None = None) -> Mapping[Action, float]:
        """Return Q* of every option, or what they are worth if what the seat stated is true.

        Empty where they are not known, or not listed, or nothing follows from what was said.
        """
        return {}

    def weighed(
        self, action: Action, rng: np.random.Generator, said: Mapping[Probe, Action] | None = None
    ) -> Weighed | None:
        """Return `worths` as the scores need them; None where they are not known.

        `rng` is for games that have too many options to list. Default: of all options.
        """
        return Weighed.of(self.worths(said), action)

    def observer(self, probe: Probe) -> Mapping[Action, float] | None:
        """Return the exact posterior of a Bayesian observer over the answers to a probe.

        The observer sees what the seat sees and knows the policies. None where it is not computed.
        """
        return None

    def answer(self, probe: Probe) -> tuple[Action, float] | None:
        """Return the answer to a probe that scores most in expectation, and its score, 0 to 1.

        None where it is not computed. Default: the likeliest one, of several the first in the order
        of their text; games whose `ArenaGame.hit` gives parts of 1 have their own.
        """
        chances = self.observer(probe)
        if not chances:
            return None
        likeliest = max(sorted(chances, key=str), key=lambda said: chances[said])
        return likeliest, chances[likeliest]

    def guess(self, probe: Probe) -> Action | None:
        """Return the answer to a probe that scores most in expectation; None: not computed."""
        best = self.answer(probe)
        return None if best is None else best[0]

    def attainable(self, probe: Probe) -> float | None:
        """Return the most that answers to a probe can score in expectation, from 0 to 1."""
        best = self.answer(probe)
        return None if best is None else best[1]


class Follower(ABC):
    """Follows one seat through one game, stage by stage; work per stage does not grow."""

    @abstractmethod
    def values(self, view: Any, ask: Ask) -> Values | None:
        """Return the coming decision's values; None where nothing is known."""

    def observe(self, view: Any) -> None:  # noqa: B027 (some look nothing up between stages)
        """Take a stage in that is over; called once after every stage."""


class Solver(ABC):
    """Values for one seat of one game against known policies in the others.

    Made once for many games: what does not depend on the deal is computed once.
    """

    @abstractmethod
    def follow(self, view: Any) -> Follower:
        """Return a follower of a new game, given what the seat was dealt."""

    def value(self) -> float | None:
        """Return V* before the deal, over all deals; None where it is not computed."""
        return None

    def chance(self) -> float | None:
        """Return the value of playing legal actions at random, before the deal; None: not known."""
        return None


T = TypeVar("T")


def arrangements(pack: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Yield every order of a pack once, first those that begin with what comes first.

    Examples
    --------
    >>> list(arrangements((1, 1, 2)))
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not pack:
        yield ()
    for first in dict.fromkeys(pack):
        rest = list(pack)
        rest.remove(first)
        yield from ((first, *others) for others in arrangements(rest))
