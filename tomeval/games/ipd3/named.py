"""Machines given by experiments, the well-known ones, and one of several that is drawn.

The named players treat each opponent apart, so their tables are for one opponent (`each`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.arena.players import made_policy
from tomeval.games.ipd3.machine import Automaton, Draws
from tomeval.runs.experiment import located


@dataclass(frozen=True, eq=False)
class Machine(Automaton):
    """A table that the experiment gives; see `rows_of`.

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
        self.rows  # noqa: B018 (read now, so that a bad table is found now)


@dataclass(frozen=True)
class Coin(Automaton):
    """Cooperates with each by chance.

    Attributes
    ----------
    p : float
        The probability.
    """

    about: ClassVar[str] = "cooperates with each opponent with probability p"
    first = "always"
    each = True
    p: float = 0.5

    def __post_init__(self) -> None:
        self.rows  # noqa: B018

    @property
    def states(self) -> Mapping[str, Any]:  # type: ignore[override]
        """One state."""
        return {"always": {"cooperates": self.p}}


@dataclass(frozen=True)
class Named(Automaton):
    """A known machine, which may err.

    Attributes
    ----------
    noise : float
        The chance, toward each opponent, to do the opposite of what is meant.
    """

    noise: float = 0.0
    each = True

    def __post_init__(self) -> None:
        if not 0 <= self.noise <= 1:
            raise TomevalError(f"noise: {self.noise!r} is not between 0 and 1")


def _named(name: str, about: str, **states: Mapping[str, Any]) -> type[Automaton]:
    """Return a known machine that begins in the first of its states."""
    members = {"about": about, "__doc__": about, "first": next(iter(states)), "states": states}
    made = type(name, (Named,), members | {"__module__": __name__})
    globals()[name] = made  # where other processes look for it
    return cast("type[Automaton]", made)


NICE, NASTY = {"cooperates": 1}, {"cooperates": 0}

NAMED: dict[str, type[Automaton]] = {
    "machine": Machine,
    "always_cooperate": _named("AlwaysCooperate", "always cooperates", C=NICE),
    "always_defect": _named("AlwaysDefect", "always defects", D=NASTY),
    "tit_for_tat": _named(
        "TitForTat",
        "repeats toward each opponent that opponent's last move toward it",
        C={**NICE, "moves": [["??D???", "D"]]},
        D={**NASTY, "moves": [["??C???", "C"]]},
    ),
    "grim": _named(
        "Grim",
        "defects for ever on an opponent that once defected on it",
        C={**NICE, "moves": [["??D???", "D"]]},
        D=NASTY,
    ),
    "win_stay_lose_shift": _named(
        "WinStayLoseShift",
        "keeps its move toward an opponent that cooperated, else changes it",
        C={**NICE, "moves": [["C?D???", "D"], ["D?C???", "D"]]},
        D={**NASTY, "moves": [["C?C???", "C"], ["D?D???", "C"]]},
    ),
    "retaliator": _named(
        "Retaliator",
        "defects for a round on an opponent that defected on anybody",
        C={**NICE, "moves": [["??D???", "D"], ["???D??", "D"]]},
        D={**NASTY, "moves": [["??CC??", "C"]]},
    ),
    "coin": Coin,
    "promise_keeper": _named(
        "PromiseKeeper",
        "promises cooperation to both and keeps its word",
        C={**NICE, "says": "promise"},
    ),
    "promise_breaker": _named(
        "PromiseBreaker",
        "promises cooperation to both and defects",
        D={**NASTY, "says": "promise"},
    ),
    "believer": _named(
        "Believer",
        "cooperates with an opponent that promised it, in this round",
        D={**NASTY, "hears": [["first", "p?", "C"]]},
        C={**NICE, "moves": [["??????", "D"]]},
    ),
    "once_bitten": _named(
        "OnceBitten",
        "believes an opponent's promises until one is broken",
        D={**NASTY, "hears": [["first", "p?", "C"]]},
        C={**NICE, "moves": [["??D???", "bitten"], ["??????", "D"]]},
        bitten=NASTY,
    ),
}
"""Machines by name."""

_Belief = tuple[tuple[float, ...], tuple[Any, ...]]
"""Probabilities of players, and their states."""


@dataclass(frozen=True, eq=False)
class Drawn(Automaton):
    """One of several players, drawn before the game and hidden from all.

    Its state is what an observer can know: the probability of each player, and each one's state.
    Every act is drawn given what it did so far, which is in distribution the same as to draw the
    player first. An act that none of them would have done leaves the probabilities as they are.

    Attributes
    ----------
    players : tuple of dict
        For each its ``kind`` and options.
    weights : tuple of float
        Probabilities; empty: all alike.
    """

    about: ClassVar[str] = "one of several players, drawn before the game and hidden"
    players: tuple[Mapping[str, Any], ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self.initial  # noqa: B018 (read now, so that bad options are found now)

    @cached_property
    def machines(self) -> tuple[Automaton, ...]:
        """The players."""
        if not isinstance(self.players, tuple) or not self.players:
            raise TomevalError("players must be a list of at least one table")
        return tuple(_player(table, f"players[{i}]") for i, table in enumerate(self.players))

    @cached_property
    def initial(self) -> _Belief:
        """The weights, and the first states."""
        count = len(self.machines)
        weights = self.weights or (1 / count,) * count
        numbers = isinstance(weights, tuple) and all(type(w) in (int, float) for w in weights)
        if not numbers or len(weights) != count or min(weights) < 0 or abs(sum(weights) - 1) > 1e-9:
            raise TomevalError(f"weights {weights!r} must be {count} probabilities, summing to 1")
        return tuple(weights), tuple(machine.initial for machine in self.machines)

    def says(self, state: _Belief) -> Draws:
        """Return what the players announce, by their probabilities."""
        return _mixed(state[0], [m.says(z) for m, z in self._with(state)])

    def plays(self, state: _Belief) -> Draws:
        """Return the players' moves, by their probabilities."""
        return _mixed(state[0], [m.plays(z) for m, z in self._with(state)])

    def heard(self, state: _Belief, speaker: str, acts: str) -> _Belief:
        """Return the state after a message; an own one tells of who speaks."""
        weights = state[0]
        if speaker == "me":
            weights = _learnt(weights, [m.says(z) for m, z in self._with(state)], acts)
        return weights, tuple(m.heard(z, speaker, acts) for m, z in self._with(state))

    def after(self, state: _Belief, moves: str) -> _Belief:
        """Return the state after a round, of which the first two letters are its own moves."""
        weights = _learnt(state[0], [m.plays(z) for m, z in self._with(state)], moves[:2])
        return weights, tuple(m.after(z, moves) for m, z in self._with(state))

    @property
    def talks(self) -> bool:
        """Whether one of the players says anything, or cares for what is said."""
        return any(machine.talks for machine in self.machines)

    @property
    def without_chance(self) -> bool:
        """Whether there is one player, which never draws."""
        return len(self.machines) == 1 and self.machines[0].without_chance

    def _with(self, state: _Belief) -> Iterable[tuple[Automaton, Any]]:
        return zip(self.machines, state[1], strict=True)


def _mixed(weights: tuple[float, ...], draws: Sequence[Draws]) -> Draws:
    chances: dict[str, float] = {}
    for weight, own in zip(weights, draws, strict=True):
        for p, what in own:
            if weight * p > 0:
                chances[what] = chances.get(what, 0.0) + weight * p
    return tuple((p, what) for what, p in sorted(chances.items()))


def _learnt(weights: tuple[float, ...], draws: Sequence[Draws], done: str) -> tuple[float, ...]:
    """Return the probabilities after an act, rounded so that equal beliefs are equal."""
    likely = [
        weight * sum(p for p, what in own if what == done)
        for weight, own in zip(weights, draws, strict=True)
    ]
    total = sum(likely)
    return tuple(round(w / total, 12) for w in likely) if total > 0 else weights


def _player(table: Any, where: str) -> Automaton:
    """Return one of the players of a `Drawn`."""
    if not isinstance(table, Mapping):
        raise TomevalError(f"{where} must be a table, is {table!r}")
    options = dict(table)
    kind = options.pop("kind", None)
    if kind not in NAMED:
        raise unknown("player", kind, NAMED, f"{where}.kind")
    with located(where):
        return cast("Automaton", made_policy(NAMED[kind], kind, options))


POLICIES: dict[str, type[Automaton]] = {**NAMED, "drawn": Drawn}
"""All scripted players by name."""
