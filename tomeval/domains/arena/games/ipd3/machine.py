"""Finite-state machines on the product of opponents: the scripted players of this game.

A machine has one state. It talks and decides by chance given the state, each opponent apart, and it
moves to another state after every message and after every round, by what everybody can see. So its
state is never hidden from who knows the machine. `tables` says how machines are written.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.games.ipd3.rules import Ipd3
from tomeval.domains.arena.games.ipd3.states import OPPONENTS, PAIRS, Ipd3View
from tomeval.domains.arena.games.ipd3.tables import ACT_PAIRS, Draws, Table
from tomeval.domains.arena.games.ipd3.talk import SILENT, acts_of, sentence_of
from tomeval.games.game import Ask
from tomeval.games.policy import Choices, Policy


class Automaton(Policy):
    """A policy whose state follows from messages and moves, as solvers see it."""

    remembers: ClassVar[bool] = True

    @property
    @abstractmethod
    def initial(self) -> Any:
        """The state before the first round."""

    @abstractmethod
    def says(self, state: Any) -> Draws:
        """Return what it announces, if it is to talk."""

    @abstractmethod
    def plays(self, state: Any) -> Draws:
        """Return its moves."""

    @abstractmethod
    def heard(self, state: Any, speaker: int, acts: int) -> Any:
        """Return the state after a message of a place of `SPEAKERS`."""

    @abstractmethod
    def after(self, state: Any, moves: int) -> Any:
        """Return the state after a round."""

    @property
    @abstractmethod
    def talks(self) -> bool:
        """Whether it says anything, or cares for what is said."""

    def fits(self, game: Ipd3) -> None:
        """Refuse games without talk if it needs talk."""
        if self.talks and not game.rules.talk:
            raise TomevalError(
                f"ipd3: the policy {type(self).__name__} talks or listens, but the game has "
                "talk = 0; set talk = 1 or choose another policy"
            )

    def start(self, view: Ipd3View) -> Any:
        """Return the state, and how many events it has taken in."""
        return self.initial, 0

    def choices(self, view: Ipd3View, ask: Ask, memory: Any) -> Choices:
        """Return sentences, or moves."""
        if ask.kind == "talk":
            return _sentences(self.says(memory[0]), OPPONENTS[ask.seat])
        return _decisions(self.plays(memory[0]))

    def observe(self, view: Ipd3View, memory: Any) -> Any:
        """Take in the events that are new."""
        state, known = memory
        for event in view.log[known:]:
            if event.kind == "talk":
                state = self.heard(state, *spoken(event.seat, event.data, view.seat))
            elif event.kind == "moves":
                state = self.after(state, round_of(event.data, view.seat))
        return state, len(view.log)


@lru_cache(maxsize=4096)
def _sentences(draws: Draws, opponents: tuple[int, int]) -> Choices:
    return tuple((p, sentence_of(ACT_PAIRS[acts], opponents)) for p, acts in draws)


@lru_cache(maxsize=4096)
def _decisions(draws: Draws) -> Choices:
    return tuple((p, PAIRS[moves]) for p, moves in draws)


@lru_cache(maxsize=4096)
def spoken(speaker: int | None, text: str, seat: int) -> tuple[int, int]:
    """Return who spoke, from a seat's side, and the place of its acts in `ACT_PAIRS`."""
    assert speaker is not None
    acts = acts_of(text, OPPONENTS[speaker])
    return place_of(speaker, seat), turned(ACT_PAIRS.index(acts), speaker, seat)


def place_of(other: int, seat: int) -> int:
    """Return where a seat is among another one's `SPEAKERS`."""
    return 0 if other == seat else 1 + OPPONENTS[seat].index(other)


def turned(acts: int, speaker: int, seat: int) -> int:
    """Return acts toward a speaker's opponents in the order of a seat's `SPEAKERS`.

    The seat itself comes first there, wherever it sits.
    """
    order = [s for s in (seat, *OPPONENTS[seat]) if s != speaker]
    if order[0] < order[1]:
        return acts
    first, second = ACT_PAIRS[acts]
    return ACT_PAIRS.index((second, first))


@lru_cache(maxsize=4096)
def round_of(moves: tuple[tuple[str, str] | None, ...], seat: int) -> int:
    """Return a round as a number, from a seat's side; see `ROUND`."""
    order = (seat, *OPPONENTS[seat])
    number = 0
    for i in order:
        for j in order:
            if i != j:
                own, other = moves[i], moves[j]
                gone = own is None or other is None
                number *= 2
                number += not gone and own is not None and own[OPPONENTS[i].index(j)] == "defect"
    return number


class TableMachine(Automaton):
    """An automaton with a table."""

    @cached_property
    def table(self) -> Table:
        """The table in numbers."""
        raise NotImplementedError

    @property
    def initial(self) -> int:
        """The first state."""
        return self.table.start

    def says(self, state: int) -> Draws:
        """Return what it announces."""
        return self.table.says[state]

    def plays(self, state: int) -> Draws:
        """Return its moves."""
        return self.table.plays[state]

    def heard(self, state: int, speaker: int, acts: int) -> int:
        """Return the state after a message."""
        return self.table.heard[state][speaker][acts]

    def after(self, state: int, moves: int) -> int:
        """Return the state after a round."""
        return self.table.after[state][moves]

    @cached_property
    def without_chance(self) -> bool:
        """Whether it never draws."""
        return all(len(draws) == 1 for draws in (*self.table.says, *self.table.plays))

    @cached_property
    def talks(self) -> bool:
        """Whether it says anything, or cares for what is said."""
        quiet = ACT_PAIRS.index(SILENT)
        return any(acts != quiet for draws in self.table.says for _, acts in draws) or any(
            following != state
            for state, rows in enumerate(self.table.heard)
            for row in rows
            for following in row
        )
