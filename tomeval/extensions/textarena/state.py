"""Where a game of TextArena stands, and what one seat may know of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from tomeval.domains.arena.game import Event, View
from tomeval.extensions.textarena.table import Table

MOST_PLAYERS = 15


class Rules(BaseModel):
    """How a game of TextArena is played here.

    Attributes
    ----------
    players : int or None
        Default: the fewest that it can be played with.
    most : int
        Actions after which a game that goes on is broken off: every reward is 0.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    players: int | None = Field(default=None, ge=2, le=MOST_PLAYERS)
    most: int = Field(default=200, ge=1, le=100_000)


@dataclass
class Behind:
    """The environment behind states of one line of play.

    Attributes
    ----------
    at : int
        How many actions it has taken; -1: it is of no use any more.
    ahead : tuple or None
        The last action that was tried, and the state that it leads to.
    """

    table: Table
    at: int = 0
    ahead: tuple[str, State] | None = None


@dataclass(frozen=True)
class State:
    """A game so far; equal if and only if deal and record are.

    Attributes
    ----------
    seed : int
        The deal.
    actions : tuple of str
        The record.
    seat : int or None
        Whose turn it is; None: the game is over.
    actors : tuple of int
        Who took each action of the record.
    prompts : tuple of str
        What every seat was told before the game.
    news : tuple of Event
        All that has happened.
    roles : tuple of str
    rewards : tuple of float or None
        In a game that is over.
    how : str
        How it ended.
    loser : int or None
        Who forfeited it.
    """

    seed: int
    actions: tuple[str, ...]
    seat: int | None
    actors: tuple[int, ...] = field(default=(), compare=False, repr=False)
    how: str = ""
    loser: int | None = None
    prompts: tuple[str, ...] = field(default=(), compare=False, repr=False)
    news: tuple[Event, ...] = field(default=(), compare=False, repr=False)
    roles: tuple[str, ...] = field(default=(), compare=False, repr=False)
    rewards: tuple[float, ...] | None = field(default=None, compare=False)
    behind: Behind | None = field(default=None, compare=False, repr=False)


class TextArenaView(View[State]):
    """What one seat may know."""

    @property
    def instructions(self) -> str:
        """What TextArena told the seat before the game."""
        return self._state.prompts[self.seat]

    @property
    def role(self) -> str:
        """The seat's role; ``player`` in games without roles."""
        return self._state.roles[self.seat]

    @property
    def acted(self) -> int:
        """How often the seat has acted."""
        return self._state.actors.count(self.seat)
