"""Where a three-player prisoner's dilemma stands, and what a seat may know of it: everything.

Moves are in *places*: a seat's two opponents in ascending order of seats, so that an action, such
as ``("cooperate", "defect")``, has the move toward the lower seat first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tomeval.domains.arena.game import Event, Public, View
from tomeval.domains.arena.games.ipd3.talk import Acts, acts_of

if TYPE_CHECKING:
    from tomeval.domains.arena.games.ipd3.rules import Ipd3

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
        Rounds that are over.
    stage : int
        Who is to talk (0 to 2), or `DECIDE`.
    units : tuple of int
        Points so far, in units of `Ipd3.parts`.
    out, lost : tuple of int
        Seats that were eliminated, and that forfeited.
    """

    log: tuple[Event, ...]
    round: int
    stage: int
    units: tuple[int, ...]
    out: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()


class Ipd3View(View[State]):
    """What a seat knows, which is everything that has happened."""

    __slots__ = ()
    game: Ipd3
    log = Public[tuple[Event, ...]]()
    """All events, oldest first."""
    events = Public[tuple[Event, ...]]("log")
    """The same: every one is public."""
    stage = Public[int]()
    """The next seat to talk (0 to 2), or `DECIDE`."""
    out = Public[tuple[int, ...]]()
    """The seats that were eliminated."""
    units = Public[tuple[int, ...]]()
    """Points of every seat, in units of `Ipd3.parts`."""

    @property
    def round(self) -> int:
        """The current round, from 1; one more than there are when the game is over."""
        return self._state.round + 1

    @property
    def opponents(self) -> tuple[int, ...]:
        """The two others, in the order of moves."""
        return OPPONENTS[self.seat]

    @property
    def points(self) -> tuple[float, ...]:
        """Points of every seat."""
        return tuple(units / self.game.parts for units in self._state.units)

    @property
    def said(self) -> Mapping[int, str]:
        """What was said in this round, by seat."""
        by_seat = {}
        for event in reversed(self._state.log):
            if event.kind == "points":
                break
            if event.kind == "talk":
                by_seat[event.seat] = event.data
        return {seat: by_seat[seat] for seat in sorted(s for s in by_seat if s is not None)}

    @property
    def acts(self) -> Mapping[int, Acts]:
        """What that amounts to, by seat: acts toward the speaker's opponents."""
        return {seat: acts_of(text, OPPONENTS[seat]) for seat, text in self.said.items()}
