"""A repeated matrix game as a game of two seats, and a partner's table as a policy of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.games.game import (
    Action,
    ArenaGame,
    Ask,
    Event,
    Probe,
    Public,
    Said,
    Stage,
    View,
    What,
)
from tomeval.games.matrix.games import Labels, MatrixGame
from tomeval.games.matrix.partners import Partner
from tomeval.games.solver import Choices, Memory, Policy

NONE = -1
"""Index that stands for 'no action' in the arrays; NULL on disk."""

SEAT = "subject"
"""The seat that is measured in tables of cells."""

PARTNER = "partner"
"""The other seat, where a player sits in it and no table. Its answers are among ``answers``: to
``act`` and ``predict`` an object with ``action`` and, where they are known, ``probs`` and
``details``; to other questions as for the subject. The steps hold its action too."""

SEATS = (SEAT, PARTNER)

ACT, PREDICT = "act", "predict"
"""The questions of every step."""

REACT = "react"
"""The question of the conditional probe; a number follows it, the index of an own action."""

DRAW = "draw"
"""The literal question once more, to see how often each answer comes; a number follows it."""

WHICH, AHEAD = "which", "ahead"
"""What the partner is: which of several; what it does so many rounds ahead, a number that follows.
"""

ASKED = "asked"
"""The key of what such a question was about among the facts about its answer."""

BELIEF = "belief"
"""The key of what was stated to a subject among the facts about its action, see `subjects.base`."""

LINE = "line"
"""The key, among the facts about an answer, of the line that it follows of what was written."""


class Joint(NamedTuple):
    """One past step: both actions (indices) and both rewards."""

    own: int
    partner: int
    own_reward: float
    partner_reward: float


@dataclass(frozen=True)
class Observation:
    """What the subject knows when asked: the rules and the past, never the partner's table."""

    game: MatrixGame  # payoffs of both sides, title and wording
    labels: Labels  # what the actions are called in this episode
    round: int  # the current step, from 1
    horizon: int | None  # the number of steps of the episode; None: nobody knows it
    past: tuple[Joint, ...]  # the steps played so far, ``round - 1`` of them
    # With what probability the game goes on after every round, where nobody knows how many.
    continuation: float | None = None


class Standing(NamedTuple):
    """Where an episode stands."""

    log: tuple[Event, ...] = ()
    round: int = 1
    ending: str = ""
    points: tuple[float, float] = (0.0, 0.0)


class RoundView(View[Standing]):
    """What both seats know: all moves, as (subject, partner)."""

    round = Public[int]()

    @property
    def last(self) -> tuple[int, int]:
        """The moves of the last round."""
        moves: tuple[int, int] = self._state.log[-1].data
        return moves


class RepeatedGame(ArenaGame[Standing]):
    """A matrix game over T rounds: seat 0 is the subject, seat 1 the partner.

    Literal questions: what the other seat does now, asked before the own decision (without
    `Probe.given`) and after it, of which a seat answers one; for each own action, what the other
    does in the next round; and those of `asides`, by seat.
    """

    name = "matrix"
    seats = 2
    without_chance = True
    views = RoundView
    binding = (PREDICT, REACT)

    def __init__(
        self, matrix: MatrixGame, horizon: int, asides: Sequence[Sequence[str]] = ((), ())
    ) -> None:
        self.matrix, self.usual, self.length, self.asides = matrix, horizon, 2 * horizon, asides

    def deal(self, rng: np.random.Generator) -> Standing:
        """Return the beginning: nothing is dealt."""
        return Standing()

    def due(self, state: Standing) -> tuple[Ask, ...]:
        """Both move, until the horizon."""
        return () if state.ending else (Ask(0, ACT), Ask(1, ACT))

    def then(self, state: Standing, actions: Mapping[int, Action]) -> Standing:
        """Pay the round."""
        moves = actions[0], actions[1]
        own, partner = self.matrix.payoffs[moves].tolist()
        over = state.round == self.usual
        log, points = (*state.log, Event("moves", None, moves)), state.points
        points = points[0] + own, points[1] + partner
        return Standing(log, state.round + (not over), "played" if over else "", points)

    def seat_name(self, seat: int) -> str:
        """Return who sits there."""
        return SEATS[seat]

    def rewards(self, state: Standing) -> tuple[float, ...]:
        """Return the sums of payoffs."""
        return state.points

    def essence(self, state: Standing, seat: int) -> tuple[Standing, float]:
        """Forget the past, which counts only for what partners remember of it."""
        return state._replace(log=(), points=(0.0, 0.0)), state.points[seat]

    def options(self, view: RoundView, what: What) -> Sequence[Action]:
        """Return the indices of the own actions, or of the other seat's."""
        seat = view.seat if isinstance(what, Ask) else 1 - view.seat
        return range(self.matrix.payoffs.shape[seat])

    def probes(self, state: Standing, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Return the literal questions."""
        other = 1 - ask.seat
        if done is None:
            return (Probe(PREDICT, other),)
        own = range(self.matrix.payoffs.shape[ask.seat])
        reactions = (Probe(REACT, other, action) for action in own)
        asides = (Probe(name, other) for name in self.asides[ask.seat])
        return (Probe(PREDICT, other, done), *reactions, *asides)

    def fact(self, view: Any, probe: Probe, stage: Stage[Standing], after: Standing) -> Action:
        """Return the other seat's move, which alone shows in the round."""
        return stage.actions.get(1 - view.seat) if probe.name == PREDICT else None

    def step_reply(self, view: Any, said: Mapping[Probe, Action]) -> None:
        """Return None: measures work replies out for all episodes at once."""


@dataclass(frozen=True)
class TablePolicy(Policy):
    """A partner; remembers its state."""

    about: ClassVar[str] = "a finite-state partner"
    remembers: ClassVar[bool] = True

    partner: Partner

    @cached_property
    def _bounds(self) -> NDArray[np.float64]:
        return self.partner.cumulative()

    def start(self, view: RoundView) -> Memory:
        """Return the first state."""
        return self.partner.start

    def choices(self, view: RoundView, ask: Ask, memory: Memory) -> Choices:
        """Return the emissions of the state."""
        row = self.partner.emissions[memory].tolist()
        return tuple((chance, action) for action, chance in enumerate(row) if chance > 0)

    def act(self, view: RoundView, ask: Ask, memory: Memory, rng: np.random.Generator) -> Action:
        """Draw one number in every round, unless the whole table leaves nothing to chance."""
        if self.partner.is_deterministic:
            return int(self.partner.emissions[memory].argmax())
        return int((rng.random() >= self._bounds[memory]).sum())

    def observe(self, view: RoundView, memory: Memory) -> Memory:
        """Return the next state."""
        return int(self.partner.next_state[(memory, *view.last)])
