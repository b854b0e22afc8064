"""Machines given by experiments, and the well-known ones.

Most named players treat each opponent apart, so their tables are for one opponent (`each`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from tomeval.domains.arena.games.ipd3.machine import Automaton, TableMachine
from tomeval.domains.arena.games.ipd3.tables import Draws, Table, probability, table_of


@dataclass(frozen=True, eq=False)
class Machine(TableMachine):
    """A table that the experiment gives; see `machine.table_of`.

    Attributes
    ----------
    first : str
        The first state.
    states : dict
    each : bool
        Whether the table is for one opponent.
    """

    about: ClassVar[str] = "a finite-state machine given as a table"
    first: str = ""
    states: Mapping[str, Any] = field(default_factory=dict)
    each: bool = False

    def __post_init__(self) -> None:
        self.table  # noqa: B018 (read now, so that a bad table is found now)

    @cached_property
    def table(self) -> Table:
        """The table in numbers."""
        return table_of(self.first, self.states, self.each, "machine")


@dataclass(frozen=True)
class _Named(TableMachine):
    """A known machine, which may err.

    Attributes
    ----------
    noise : float
        The chance, toward each opponent, to do the opposite of what is meant.
    """

    noise: float = 0.0
    first: ClassVar[str] = "C"
    states_of: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        probability(self.noise, "noise")
        self.table  # noqa: B018

    @cached_property
    def table(self) -> Table:
        """The table in numbers, with the noise."""
        table = table_of(self.first, self.states_of, True, type(self).__name__)
        return table._replace(plays=tuple(noisy(draws, self.noise) for draws in table.plays))


def noisy(draws: Draws, noise: float) -> Draws:
    """Return moves of which each toward one opponent is turned round with a probability."""
    chances = [0.0] * 4
    for p, moves in draws:
        for turned in range(4):
            flips = (moves ^ turned).bit_count()
            chances[turned] += p * noise**flips * (1 - noise) ** (2 - flips)
    return tuple((p, moves) for moves, p in enumerate(chances) if p > 0)


class AlwaysCooperate(_Named):
    """Cooperates with both."""

    about = "always cooperates"
    states_of: ClassVar = {"C": {"cooperates": 1}}


class AlwaysDefect(_Named):
    """Defects on both."""

    about = "always defects"
    first = "D"
    states_of: ClassVar = {"D": {"cooperates": 0}}


class TitForTat(_Named):
    """Does to each what that one did to it."""

    about = "repeats toward each opponent that opponent's last move toward it"
    states_of: ClassVar = {
        "C": {"cooperates": 1, "moves": [["??D???", "D"]]},
        "D": {"cooperates": 0, "moves": [["??C???", "C"]]},
    }


class Grim(_Named):
    """Defects for ever on who once defected on it."""

    about = "defects for ever on an opponent that once defected on it"
    states_of: ClassVar = {
        "C": {"cooperates": 1, "moves": [["??D???", "D"]]},
        "D": {"cooperates": 0},
    }


class WinStayLoseShift(_Named):
    """Repeats toward each what paid R or T, and changes what paid S or P."""

    about = "keeps its move toward an opponent that cooperated, else changes it"
    states_of: ClassVar = {
        "C": {"cooperates": 1, "moves": [["C?D???", "D"], ["D?C???", "D"]]},
        "D": {"cooperates": 0, "moves": [["C?C???", "C"], ["D?D???", "C"]]},
    }


class Retaliator(_Named):
    """Defects, for a round, on whoever defected on anybody."""

    about = "defects for a round on an opponent that defected on anybody"
    states_of: ClassVar = {
        "C": {"cooperates": 1, "moves": [["??D???", "D"], ["???D??", "D"]]},
        "D": {"cooperates": 0, "moves": [["??CC??", "C"]]},
    }


class PromiseKeeper(_Named):
    """Promises to cooperate, and does."""

    about = "promises cooperation to both and keeps its word"
    states_of: ClassVar = {"C": {"says": "promise", "cooperates": 1}}


class PromiseBreaker(_Named):
    """Promises to cooperate, and defects."""

    about = "promises cooperation to both and defects"
    first = "D"
    states_of: ClassVar = {"D": {"says": "promise", "cooperates": 0}}


class Believer(_Named):
    """Cooperates with whoever promised it cooperation in the round, and defects on others."""

    about = "cooperates with an opponent that promised it, in this round"
    first = "D"
    states_of: ClassVar = {
        "D": {"cooperates": 0, "hears": [["first", "p?", "C"]]},
        "C": {"cooperates": 1, "moves": [["??????", "D"]]},
    }


class OnceBitten(_Named):
    """A believer that never again believes who broke a promise to it."""

    about = "believes an opponent's promises until one is broken"
    first = "D"
    states_of: ClassVar = {
        "D": {"cooperates": 0, "hears": [["first", "p?", "C"]]},
        "C": {"cooperates": 1, "moves": [["??D???", "bitten"], ["??????", "D"]]},
        "bitten": {"cooperates": 0},
    }


@dataclass(frozen=True)
class Coin(TableMachine):
    """Cooperates with each by chance.

    Attributes
    ----------
    p : float
        The probability.
    """

    about: ClassVar[str] = "cooperates with each opponent with probability p"
    p: float = 0.5

    def __post_init__(self) -> None:
        self.table  # noqa: B018

    @cached_property
    def table(self) -> Table:
        """The table in numbers."""
        return table_of("always", {"always": {"cooperates": self.p}}, True, "coin")


NAMED: dict[str, type[Automaton]] = {
    "machine": Machine,
    "always_cooperate": AlwaysCooperate,
    "always_defect": AlwaysDefect,
    "tit_for_tat": TitForTat,
    "grim": Grim,
    "win_stay_lose_shift": WinStayLoseShift,
    "retaliator": Retaliator,
    "coin": Coin,
    "promise_keeper": PromiseKeeper,
    "promise_breaker": PromiseBreaker,
    "believer": Believer,
    "once_bitten": OnceBitten,
}
"""Machines by name."""
