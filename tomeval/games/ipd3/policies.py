"""The scripted players of this game: known finite-state machines, which run once per opponent.

A machine has one state for each opponent. It says and does what the state tells, and moves to
another state after that opponent's messages and after every round, by what everybody can see. So
its state is never hidden from who knows the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, cast

from tomeval.core.errors import TomevalError
from tomeval.games.game import Ask
from tomeval.games.ipd3.rules import Ipd3
from tomeval.games.ipd3.states import MOVES, OPPONENTS, PAIRS, PLACE, Ipd3View, acts_of, sentence_of
from tomeval.games.solver import Chance, Choices, Policy


class Row(NamedTuple):
    """One state of a machine toward an opponent."""

    plays: str
    says: str = "none"
    # The next state by patterns of three letters, C, D or ?, of which the first that fits counts:
    # the own move toward the opponent, its move back, and its move toward the third player. Without
    # one the state stays.
    moves: Mapping[str, str] = MappingProxyType({})
    promised: str = ""  # the next state after a promise of the opponent; empty: it does not listen


Memory = tuple[str, str]
"""The states toward the first and the second opponent."""


@dataclass(frozen=True)
class Machine(Policy):
    """A known machine, which may err."""

    remembers: ClassVar[bool] = True
    states: ClassVar[Mapping[str, Row]]

    noise: Chance = 0.0  # toward each opponent, to do the opposite of what is meant

    @property
    def without_chance(self) -> bool:
        """Whether it never draws."""
        return self.noise in (0, 1)

    @property
    def talks(self) -> bool:
        """Whether it says anything, or cares for what is said."""
        return any(row.says != "none" or row.promised for row in self.states.values())

    def fits(self, game: Ipd3) -> None:
        """Refuse games without talk if it needs talk."""
        if self.talks and not game.rules.talk:
            raise TomevalError(
                f"ipd3: the policy {type(self).__name__} talks or listens, but the game has "
                "talk = 0; set talk = 1 or choose another policy"
            )

    def start(self, view: Ipd3View) -> Memory:
        """Return the first state toward both."""
        first = next(iter(self.states))
        return first, first

    def choices(self, view: Ipd3View, ask: Ask, memory: Memory) -> Choices:
        """Return a sentence, or moves, of which each is turned round with the chance of noise."""
        first, second = (self.states[name] for name in memory)
        if ask.kind == "talk":
            return ((1.0, sentence_of((first.says, second.says), OPPONENTS[ask.seat])),)
        meant = first.plays, second.plays
        if not self.noise:
            return ((1.0, meant),)
        flips = [(sum(a != b for a, b in zip(meant, did, strict=True)), did) for did in PAIRS]
        chances = [(self.noise**n * (1 - self.noise) ** (2 - n), did) for n, did in flips]
        return tuple((chance, did) for chance, did in chances if chance > 0)

    def observe(self, view: Ipd3View, memory: Memory) -> Memory:
        """Take in the stage that is over."""
        last = view.events[-1]
        if last.kind == "points":
            first, second = OPPONENTS[view.seat]
            moves = view.events[-2].data
            return (
                self._after(memory[0], _letters(moves, view.seat, first)),
                self._after(memory[1], _letters(moves, view.seat, second)),
            )
        if last.kind != "talk" or last.seat == view.seat:
            return memory
        assert last.seat is not None
        acts = acts_of(last.data, OPPONENTS[last.seat])
        if acts[PLACE[last.seat][view.seat]] != "promise":
            return memory
        heard = [*memory]
        place = PLACE[view.seat][last.seat]
        heard[place] = self.states[memory[place]].promised or memory[place]
        return heard[0], heard[1]

    def _after(self, name: str, letters: str) -> str:
        """Return the state after a round."""
        for pattern, after in self.states[name].moves.items():
            if all(x in ("?", y) for x, y in zip(pattern, letters, strict=True)):
                return after
        return name


def _letters(moves: tuple[tuple[str, str] | None, ...], seat: int, other: int) -> str:
    """Return a round as `Row.moves` has it; moves of a seat that is out, and toward it, are C."""
    pairs = (seat, other), (other, seat), (other, 3 - seat - other)
    letters = ""
    for who, whom in pairs:
        own = moves[who]
        defects = own and moves[whom] and own[PLACE[who][whom]] == MOVES[1]
        letters += "D" if defects else "C"
    return letters


def _named(name: str, about: str, **states: Row) -> type[Machine]:
    """Return a machine that begins in the first of its states."""
    members: dict[str, Any] = {"about": about, "__doc__": about, "states": states}
    made = type(name, (Machine,), members | {"__module__": __name__})
    globals()[name] = made  # where other processes look for it
    return cast("type[Machine]", made)


C, D = MOVES

POLICIES: dict[str, type[Machine]] = {
    "always_cooperate": _named("AlwaysCooperate", "always cooperates", C=Row(C)),
    "always_defect": _named("AlwaysDefect", "always defects", D=Row(D)),
    "tit_for_tat": _named(
        "TitForTat",
        "repeats toward each opponent that opponent's last move toward it",
        C=Row(C, moves={"?D?": "D"}),
        D=Row(D, moves={"?C?": "C"}),
    ),
    "grim": _named(
        "Grim",
        "defects for ever on an opponent that once defected on it",
        C=Row(C, moves={"?D?": "D"}),
        D=Row(D),
    ),
    "win_stay_lose_shift": _named(
        "WinStayLoseShift",
        "keeps its move toward an opponent that cooperated, else changes it",
        C=Row(C, moves={"CD?": "D", "DC?": "D"}),
        D=Row(D, moves={"CC?": "C", "DD?": "C"}),
    ),
    "retaliator": _named(
        "Retaliator",
        "defects for a round on an opponent that defected on anybody",
        C=Row(C, moves={"?D?": "D", "??D": "D"}),
        D=Row(D, moves={"?CC": "C"}),
    ),
    "promise_keeper": _named(
        "PromiseKeeper", "promises cooperation to both and keeps its word", C=Row(C, "promise")
    ),
    "promise_breaker": _named(
        "PromiseBreaker", "promises cooperation to both and defects", D=Row(D, "promise")
    ),
    "believer": _named(
        "Believer",
        "cooperates with an opponent that promised it, in this round",
        D=Row(D, promised="C"),
        C=Row(C, moves={"???": "D"}),
    ),
    "once_bitten": _named(
        "OnceBitten",
        "believes an opponent's promises until one is broken",
        D=Row(D, promised="C"),
        C=Row(C, moves={"?D?": "bitten", "???": "D"}),
        bitten=Row(D),
    ),
}
"""All scripted players by name."""
