"""A player whose kind is hidden: one of several machines, drawn before the game."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.arena.players import made_policy
from tomeval.games.ipd3.machine import Automaton
from tomeval.games.ipd3.named import NAMED
from tomeval.games.ipd3.tables import Draws
from tomeval.runs.experiment import located

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
