"""Parameters of a three-player prisoner's dilemma, where it stands, and what a seat knows: all.

Moves are in *places*: a seat's two opponents in ascending order of seats, so that an action, such
as ``("cooperate", "defect")``, has the move toward the lower seat first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tomeval.games.game import Event, Public, View
from tomeval.games.ipd3.talk import Acts, acts_of

if TYPE_CHECKING:
    from tomeval.games.ipd3.rules import Ipd3
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Payoffs(BaseModel):
    """What a pair pays to one of its two players: reward, temptation, sucker, punishment."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    R: float = 3
    T: float = 5
    S: float = 0
    P: float = 1


class Rules(BaseModel):
    """Parameters of a game.

    Attributes
    ----------
    rounds : int
    talk : int
        Turns of talk per round and player: 0 or 1.
    reward : str
        ``points``: `scale` times the points of both pairs and all rounds; ``rank``: by points, the
        first 1, the second 0, the third -1; see `Ipd3.rewards` for ties.
    payoffs : Payoffs
    dilemma : bool
        Whether the payoffs are to be a dilemma, which is then checked; false says that they may be
        anything.
    scale : float
        Reward per point.
    message_limit : int
        Characters of a message; at least 100, which scripted players never need.
    rules : str
        ``own``, or ``textarena-0.7.4``: a message that is too long loses its beginning instead of
        breaking the rules, white space in messages is closed up, and tied ranks are spread as
        TextArena does.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    rounds: int = Field(default=5, ge=1, le=1000)
    talk: int = Field(default=1, ge=0, le=1)
    reward: Literal["points", "rank"] = "points"
    payoffs: Payoffs = Payoffs()
    dilemma: bool = True
    scale: float = Field(default=1, gt=0, le=1e9)
    message_limit: int = Field(default=1000, ge=100, le=100_000)
    rules: Literal["own", "textarena-0.7.4"] = "own"


MOVES = ("cooperate", "defect")
PAIRS = tuple(itertools.product(MOVES, MOVES))
"""The four actions of a decision."""

OPPONENTS = ((1, 2), (0, 2), (0, 1))
"""The opponents of every seat, in the order of its moves."""

PLACE = tuple({seat: place for place, seat in enumerate(OPPONENTS[i])} for i in range(3))
"""``PLACE[i][j]``: at which place of seat i's action its move toward seat j is."""

DECIDE = 3
"""The last stage of a round; the three before it are talk."""


class State(NamedTuple):
    """Where a game stands.

    Attributes
    ----------
    log : tuple of Event
        All that has happened; all of it is public.
    round : int
        The one that was begun last, from 1.
    stage : int
        Who is to talk (0 to 2), or `DECIDE`.
    units : tuple of int
        Points so far, in units of `Ipd3.parts`.
    out, lost : tuple of int
        Seats that were eliminated, and that forfeited.
    ending : str
        How the game ended; empty while it goes on.
    """

    log: tuple[Event, ...]
    round: int
    stage: int
    units: tuple[int, ...]
    out: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    ending: str = ""


class Ipd3View(View[State]):
    """What a seat knows, which is everything that has happened."""

    __slots__ = ()
    game: Ipd3
    events = Public[tuple[Event, ...]]("log")
    """All events, oldest first."""
    round = Public[int]()
    """The current round, from 1."""
    out = Public[tuple[int, ...]]()
    """The seats that were eliminated."""

    @property
    def opponents(self) -> tuple[int, ...]:
        """The two others, in the order of moves."""
        return OPPONENTS[self.seat]

    @property
    def said(self) -> Mapping[int, str]:
        """What was said in this round, by seat."""
        by_seat: dict[Any, str] = {}
        for event in self._state.log:
            if event.kind == "points":
                by_seat = {}
            elif event.kind == "talk":
                by_seat[event.seat] = event.data
        return by_seat

    @property
    def acts(self) -> Mapping[int, Acts]:
        """What that amounts to, by seat: acts toward the speaker's opponents."""
        return {seat: acts_of(text, OPPONENTS[seat]) for seat, text in self.said.items()}
