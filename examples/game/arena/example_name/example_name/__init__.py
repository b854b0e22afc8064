"""A generalised beauty contest: nearest to a part of the mean takes the round.

After Nagel (1995), "Unraveling in guessing games: an experimental study".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tomeval.core.errors import TomevalError
from tomeval.core.parts import register
from tomeval.games.arena.named_games import Kind
from tomeval.games.enumeration import enumeration
from tomeval.games.game import (
    Action,
    ArenaGame,
    Ask,
    Event,
    Probe,
    Public,
    Said,
    View,
    What,
)
from tomeval.games.solver import Choices, Memory, Policy


class Rules(BaseModel):
    """What an experiment can set in ``[games.NAME]``; `factor` is the part of the mean."""

    model_config = ConfigDict(extra="forbid")

    players: int = Field(3, ge=2, le=8)
    most: int = Field(100, ge=1, le=1000)
    factor: float = Field(2 / 3, gt=0)
    rounds: int = Field(3, ge=1, le=50)


class State(NamedTuple):
    """Where a game stands; the four fields after `log` are those that the defaults know."""

    log: tuple[Event, ...] = ()
    round: int = 1
    ending: str = ""
    lost: tuple[int, ...] = ()
    mean: Fraction | None = None  # of the last round
    points: tuple[float, ...] = ()


class ContestView(View[State]):
    """What a seat knows; `game`, `seat` and `events` are there already."""

    game: ExampleName
    round = Public[int]()
    mean = Public[Fraction | None]()
    points = Public[tuple[float, ...]]()


class ExampleName(ArenaGame[State]):
    """The rules; what is not said here follows from `options` and the class attributes."""

    name = "example_name"
    without_chance = True
    views = ContestView
    templates = Path(__file__).parent / "prompts"
    lines = {"numbers": "The numbers: {what}"}
    endings = {"played": "all rounds were played", "forfeit": "a player broke the rules"}

    def __init__(self, rules: Rules) -> None:
        self.rules, self.seats, self.usual = rules, rules.players, rules.rounds
        self.length = rules.players * rules.rounds
        self.factor = Fraction(rules.factor).limit_denominator(1000)

    def deal(self, rng: np.random.Generator) -> State:
        """Return the start: nothing is drawn."""
        return State(points=(0.0,) * self.seats)

    def due(self, state: State) -> tuple[Ask, ...]:
        """Return all seats, until the last round is over."""
        return () if state.ending else tuple(Ask(seat, "number") for seat in range(self.seats))

    def then(self, state: State, actions: Mapping[int, Action]) -> State:
        """Return the state after a round."""
        numbers = tuple(actions[seat] for seat in range(self.seats))
        last = state.round == self.rules.rounds
        return state._replace(
            log=(*state.log, Event("numbers", None, numbers)),
            round=state.round + (not last),
            ending="played" if last else "",
            mean=Fraction(sum(numbers), self.seats),
            points=tuple(map(sum, zip(state.points, self.shares(numbers), strict=True))),
        )

    def shares(self, numbers: Sequence[int]) -> tuple[float, ...]:
        """Return each seat's share of a round, which the nearest divide among them."""
        part, whole = self.factor.as_integer_ratio()
        target = part * sum(numbers)  # times `whole` and the seats, so that ties are exact
        off = [abs(number * whole * self.seats - target) for number in numbers]
        return tuple((o == min(off)) / off.count(min(off)) for o in off)

    def rewards(self, state: State) -> tuple[float, ...]:
        """Return the rounds that each seat took; -1 to who broke the rules."""
        return tuple(-1.0 if s in state.lost else p for s, p in enumerate(state.points))

    def payoff(self, state: State, seat: int, actions: Mapping[int, Action]) -> float:
        """Return what a round adds to the reward, from which one-step payoffs follow."""
        return self.shares([actions[s] for s in range(self.seats)])[seat]

    def essence(self, state: State, seat: int) -> tuple[State, float]:
        """Return the round and the last mean, all of the past that matters, and the points."""
        return state._replace(log=(), points=(0.0,) * self.seats), state.points[seat]

    def options(self, view: ContestView, what: What) -> Sequence[Action]:
        """Return all numbers: how answers are asked for, read and judged follows from them."""
        return range(self.rules.most + 1)

    def probes(self, state: State, ask: Ask, done: Action, said: Said) -> tuple[Probe, ...]:
        """Ask for the number of every other seat; the truth is by default what it does."""
        others = (seat for seat in range(self.seats) if seat != ask.seat)
        return tuple(Probe("number", seat) for seat in others) if done is None else ()


@dataclass(frozen=True)
class Level(Policy):
    """Reasons `k` steps from the last mean, at first from the middle; `noise`: off by one."""

    about = "k steps of reasoning from the last mean, at first from the middle"

    k: int = 1
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.k < 0 or not 0 <= self.noise <= 1:
            raise TomevalError("level: k must be 0 or more, and noise from 0 to 1")

    @property
    def without_chance(self) -> bool:
        """Whether it never errs."""
        return not self.noise

    def choices(self, view: ContestView, ask: Ask, memory: Memory) -> Choices:
        """Return its number, and those beside it."""
        most = view.game.rules.most
        mean = Fraction(most, 2) if view.mean is None else view.mean
        number = min(round(mean * view.game.factor**self.k), most)
        beside = [n for n in (number - 1, number + 1) if 0 <= n <= most] if self.noise else []
        return ((1 - self.noise, number), *((self.noise / len(beside), n) for n in beside))


KIND = Kind(
    name="example_name",
    title="a generalised beauty contest",
    rules=Rules,
    make=ExampleName,
    policies={"level": Level},
    solver=enumeration,
)

register("games", "example_name", KIND)
