"""Machines given by experiments, and the well-known ones.

The named players treat each opponent apart, so their tables are for one opponent (`each`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from tomeval.core.errors import TomevalError
from tomeval.games.ipd3.machine import Automaton


@dataclass(frozen=True, eq=False)
class Machine(Automaton):
    """A table that the experiment gives; see `rows_of`."""

    about: ClassVar[str] = "a finite-state machine given as a table"
    first: str = ""  # the first state
    states: Mapping[str, Any] = field(default_factory=dict)
    each: bool = False  # whether the table is for one opponent

    def __post_init__(self) -> None:
        self.rows  # noqa: B018 (read now, so that a bad table is found now)


@dataclass(frozen=True)
class Named(Automaton):
    """A known machine, which may err."""

    noise: float = 0.0  # the chance, toward each opponent, to do the opposite of what is meant
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

POLICIES: dict[str, type[Automaton]] = {
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
"""All scripted players by name."""
