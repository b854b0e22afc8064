"""Finite-state machines: the scripted players of this game, and what their tables say.

A machine moves to another state after every message and after every round, by what everybody can
see. So its state is never hidden from who knows the machine.

A table is for one opponent, which it calls ``first`` (the other one is ``second``), and runs once
for each. Acts toward the other two, in this order, are letters: n (none), p (promise), t
(threaten). A round is six letters, C or D: me toward first, me toward second, first toward me,
first toward second, second toward me, second toward first; ? stands for any. Moves of a seat that
is out, and toward it, count as C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.games.game import Ask
from tomeval.games.ipd3.rules import Ipd3
from tomeval.games.ipd3.states import ACTS, MOVES, OPPONENTS, Ipd3View, acts_of, sentence_of
from tomeval.games.solver import Choices, Policy

Names = tuple[str, ...]
"""The states toward both opponents."""


class Row(NamedTuple):
    """One state of a table: its move and its act, and the states that follow.

    Of rows of letters and the next state the first that fits counts; without one the state stays.
    The letters of `hears` follow the speaker.
    """

    move: str
    act: str = "n"
    hears: tuple[tuple[str, str, str], ...] = ()
    moves: tuple[tuple[str, str], ...] = ()


SPEAKERS = ("me", "first", "second")
SWAPPED = {"me": "me", "first": "second", "second": "first"}
_ACT = {act[0]: act for act in ACTS}
_MOVE = {move[0].upper(): move for move in MOVES}


@dataclass(frozen=True)
class Machine(Policy):
    """A policy that follows a table toward each opponent, from its first row on, and may err."""

    remembers: ClassVar[bool] = True
    rows: ClassVar[Mapping[str, Row]]
    noise: float = 0.0  # the chance, toward each opponent, to do the opposite of what is meant

    def __post_init__(self) -> None:
        if not 0 <= self.noise <= 1:
            raise TomevalError(f"noise: {self.noise!r} is not between 0 and 1")

    @property
    def initial(self) -> Names:
        """The first states."""
        return (next(iter(self.rows)),) * 2

    def says(self, state: Names) -> str:
        """Return the letters of its acts."""
        return "".join(self.rows[name].act for name in state)

    def plays(self, state: Names) -> str:
        """Return the letters of its moves, as it means them."""
        return "".join(self.rows[name].move for name in state)

    def heard(self, state: Names, speaker: str, acts: str) -> Names:
        """Return the states after a message of one of `SPEAKERS`.

        To the second copy the second opponent is the first.
        """
        swapped = acts[::-1] if speaker == "me" else acts
        seen = ((speaker, acts), (SWAPPED[speaker], swapped))
        rows = (self.rows[name].hears for name in state)
        return tuple(_next(*at) for at in zip(state, rows, seen, strict=True))

    def after(self, state: Names, moves: str) -> Names:
        """Return the states after a round."""
        rows = (self.rows[name].moves for name in state)
        seen = ((moves,), ("".join(moves[k] for k in (1, 0, 4, 5, 2, 3)),))
        return tuple(_next(*at) for at in zip(state, rows, seen, strict=True))

    @property
    def without_chance(self) -> bool:
        """Whether it never draws."""
        return self.noise in (0, 1)

    @cached_property
    def talks(self) -> bool:
        """Whether it says anything, or cares for what is said."""
        return any(row.act != "n" or row.hears for row in self.rows.values())

    def fits(self, game: Ipd3) -> None:
        """Refuse games without talk if it needs talk."""
        if self.talks and not game.rules.talk:
            raise TomevalError(
                f"ipd3: the policy {type(self).__name__} talks or listens, but the game has "
                "talk = 0; set talk = 1 or choose another policy"
            )

    def start(self, view: Ipd3View) -> Names:
        """Return the first states."""
        return self.initial

    def choices(self, view: Ipd3View, ask: Ask, memory: Names) -> Choices:
        """Return a sentence, or moves of which each may be turned round."""
        if ask.kind == "talk":
            acts = self.says(memory)
            return ((1.0, sentence_of((_ACT[acts[0]], _ACT[acts[1]]), OPPONENTS[ask.seat])),)
        return _decisions(self.plays(memory), self.noise)

    def observe(self, view: Ipd3View, memory: Names) -> Names:
        """Take in the stage that is over."""
        last = view.events[-1]
        if last.kind == "talk":
            return self.heard(memory, *_message(last.seat, last.data, view.seat))
        if last.kind == "points":
            return self.after(memory, _round(view.events[-2].data, view.seat))
        return memory


@lru_cache(maxsize=4096)
def _decisions(meant: str, noise: float) -> Choices:
    """Return moves with their chances, if each is turned round with a probability."""
    chances = {}
    for turned in ("CC", "CD", "DC", "DD") if noise else (meant,):
        flips = sum(a != b for a, b in zip(meant, turned, strict=True))
        chances[turned] = noise**flips * (1 - noise) ** (2 - flips)
    return tuple((p, (_MOVE[x[0]], _MOVE[x[1]])) for x, p in chances.items() if p > 0)


@lru_cache(maxsize=4096)
def _message(speaker: int | None, text: str, seat: int) -> tuple[str, str]:
    """Return a message from a seat's side."""
    assert speaker is not None
    toward = dict(zip(OPPONENTS[speaker], acts_of(text, OPPONENTS[speaker]), strict=True))
    order = (seat, *OPPONENTS[seat])
    return SPEAKERS[order.index(speaker)], "".join(toward[s][0] for s in order if s != speaker)


@lru_cache(maxsize=4096)
def _round(moves: tuple[tuple[str, str] | None, ...], seat: int) -> str:
    """Return a round from a seat's side."""
    order, letters = (seat, *OPPONENTS[seat]), ""
    for i in order:
        for j in (other for other in order if other != i):
            own = moves[i]
            defects = own and moves[j] and own[OPPONENTS[i].index(j)] == MOVES[1]
            letters += "D" if defects else "C"
    return letters


@lru_cache(maxsize=1 << 16)
def _next(name: str, rows: Sequence[tuple[str, ...]], seen: tuple[str, ...]) -> str:
    """Return the state after one, by the first row that fits."""
    for *patterns, after in rows:
        if all(map(_fits, patterns, seen)):
            return after
    return name


def _fits(pattern: str, seen: str) -> bool:
    return pattern == seen or all(x in ("?", y) for x, y in zip(pattern, seen, strict=False))
