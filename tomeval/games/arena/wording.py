"""How players of TextArena write the actions of a game of ours, and how TextArena plays it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from tomeval.games.game import Action, Ask, Broken

TEXTARENA = "textarena-0.7.4"
"""The parameter `rules` of every game under which it goes as TextArena's does."""

KEPT = 1000
"""Characters that TextArena keeps of a text in games with free talk: the last ones."""


def whole(digits: str) -> int:
    """Return a whole number; one of more than 18 digits as 10^18: Python refuses very long ones.

    Examples
    --------
    >>> whole("042"), whole("9" * 5000) == 10**18
    (42, True)
    """
    return int(digits) if len(digits) <= 18 else 10**18


class Reading(NamedTuple):
    """A text, read as TextArena reads it and judged as we judge.

    Attributes
    ----------
    action
        What TextArena takes it for; without a meaning if it is not taken.
    broken : Broken or None
        How it breaks the rules.
    taken : bool
        Whether TextArena goes on with the action, be it what was meant or not.
    """

    action: Action
    broken: Broken | None = None
    taken: bool = True


class Wording(ABC):
    """One game's actions as texts.

    Attributes
    ----------
    ids : mapping
        TextArena's ids, and the parameters that they stand for.
    seats : range
        How many there can be; of several numbers one is the parameter ``players``.
    talks : bool
        Whether texts are cut to their last `KEPT` characters; else those without brackets get some.
    attempts : int
        How many refused texts of one decision cost a seat its place or its game.
    cost : str
        Which of the two: ``eliminate`` or ``forfeit``.
    policy : str
        TextArena's whole way with broken rules, as the nearest of our policies.
    """

    ids: ClassVar[Mapping[str, Mapping[str, Any]]]
    seats: ClassVar[range]
    talks: ClassVar[bool]
    attempts: ClassVar[int] = 2
    cost: ClassVar[str] = "forfeit"
    policy: ClassVar[str] = "forfeit"

    @abstractmethod
    def write(self, game: Any, ask: Ask, action: Action) -> str:
        """Return the text that TextArena reads as an action."""

    @abstractmethod
    def read(self, view: Any, ask: Ask, text: str) -> Reading:
        """Read what TextArena's wrappers leave of a text, see `wrapped`."""

    def wrapped(self, text: str) -> str:
        """Return a text as TextArena's wrappers hand it to the game."""
        if self.talks:
            return text[-KEPT:]
        return text if "[" in text or "]" in text else f"[{text}]"

    def parameters(self, name: str, seats: int) -> Mapping[str, Any]:
        """Return the parameters of an id with so many seats."""
        players = {"players": seats} if len(self.seats) > 1 else {}
        return {**self.ids[name], **players, "rules": TEXTARENA}

    def dealt(self, game: Any, seen: Mapping[int, str], given: Any) -> Any:
        """Return the first state of a game, given what seats were shown first.

        `given` is the deal as a file of trajectories may say it, see docs/arena/trajectories.md;
        None without. The answer is a sentence if the deal cannot be told.
        """
        import numpy as np

        return game.deal(np.random.default_rng(0))  # nothing is drawn

    def deal_of(self, state: Any) -> Any:
        """Return the deal as the field ``deal`` of a file gives it, or None."""
        return None

    def speaking(self, state: Any, seat: int) -> Any:
        """Return the state with this seat as the next speaker, where TextArena draws the order."""
        return state

    def struck(
        self, game: Any, state: Any, ask: Ask, actions: Mapping[int, Action]
    ) -> tuple[Any, Any]:
        """Return the state after a seat was struck, and one in which the game was over by that.

        The second is None unless TextArena still ends the stage, in which the others in `actions`
        had decided.
        """
        return game.struck(state, ask, self.cost), None

    def outcomes(
        self, game: Any, state: Any, actions: Mapping[int, Action], decided: Any
    ) -> list[Any]:
        """Return the states that may follow a stage; `decided` is the second one of `struck`."""
        return [after for _, after in game.outcomes(state, actions)]
