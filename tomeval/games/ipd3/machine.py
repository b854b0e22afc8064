"""Finite-state machines: the scripted players of this game, and how their tables are written.

A machine has one state. It talks and decides by chance given the state, each opponent apart, and it
moves to another state after every message and after every round, by what everybody can see. So its
state is never hidden from who knows the machine.

Tables tell everything from the machine's side: ``me``, and its opponents ``first`` and ``second``
in ascending order of seats. Acts toward the other two, in this order, are letters: n (none),
p (promise), t (threaten). A round is six letters, C or D: me toward first, me toward second, first
toward me, first toward second, second toward me, second toward first. Moves of a seat that is out,
and toward it, count as C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.game import Ask
from tomeval.games.ipd3.rules import Ipd3
from tomeval.games.ipd3.states import ACTS, MOVES, OPPONENTS, Ipd3View, acts_of, sentence_of
from tomeval.games.solver import Choices, Policy
from tomeval.runs.experiment import read_table

Draws = tuple[tuple[float, str], ...]
"""Letters toward the first and the second opponent, with probabilities that sum to 1."""


class Row(NamedTuple):
    """One state of a table."""

    says: tuple[Draws, ...]  # toward each opponent apart: letters of acts and of moves
    plays: tuple[Draws, ...]
    # Rows of letters and the next state, of which the first that fits counts; without one the state
    # stays. The letters of `hears` follow the speaker.
    hears: tuple[tuple[str, str, str], ...]
    moves: tuple[tuple[str, str], ...]


def _sure(act: Any) -> Any:
    return {act: 1.0} if isinstance(act, str) else act


def _sums(chances: dict[str, float]) -> dict[str, float]:
    if abs(sum(chances.values()) - 1) > 1e-9:
        raise ValueError(f"probabilities {list(chances.values())} do not sum to 1")
    return chances


Probability = Annotated[float, Field(ge=0, le=1, strict=True)]
Act = Literal["none", "promise", "threaten"]
Says = Annotated[dict[Act, Probability], BeforeValidator(_sure), AfterValidator(_sums)]
Acts = Annotated[str, Field(pattern="^[npt?]{2}$")]
Moves = Annotated[str, Field(pattern="^[CD?]{6}$")]


class _State(BaseModel):
    model_config = ConfigDict(extra="forbid")

    hears: list[tuple[Literal["me", "first", "second"], Acts, str]] = []
    moves: list[tuple[Moves, str]] = []


class _ForBoth(_State):
    says: tuple[Says, Says] = ({"none": 1.0}, {"none": 1.0})
    cooperates: tuple[Probability, Probability]


class _ForEach(_State):
    says: Says = {"none": 1.0}
    cooperates: Probability


def rows_of(first: str, states: Mapping[str, Any], each: bool) -> dict[str, Row]:
    """Return a table by name of state.

    Parameters
    ----------
    first : str
        The first state.
    states : mapping
        By name: ``says`` (two acts, or tables of acts with probabilities), ``cooperates`` (two
        probabilities), ``hears`` (rows of speaker, two letters n, p, t or ?, next state), ``moves``
        (rows of six letters C, D or ?, next state).
    each : bool
        The table is for one opponent, with one act and one probability; see `TableMachine`.

    Raises
    ------
    TomevalError
        A malformed table: unknown states, keys or letters, probabilities that do not sum to 1.
    """
    if not isinstance(states, Mapping) or not states:
        raise TomevalError("states must be a table with at least one state")
    if first not in states:
        raise unknown("state", first, states, "first")
    rows = {}
    for name, given in states.items():
        here = f"states.{name}"
        if not isinstance(given, Mapping):
            raise TomevalError(f"{here} must be a table, is {given!r}")
        state: Any = read_table(_ForEach if each else _ForBoth, given, here)
        for *_, after in (*state.hears, *state.moves):
            if after not in states:
                raise unknown("state", after, states, here)
        says, plays = ([state.says], [state.cooperates]) if each else (state.says, state.cooperates)
        rows[name] = Row(
            tuple(_draws({act[0]: p for act, p in one.items()}) for one in says),
            tuple(_draws({"C": p, "D": 1 - p}) for p in plays),
            tuple(state.hears),
            tuple(state.moves),
        )
    return rows


def _draws(chances: Mapping[str, float]) -> Draws:
    return tuple((p, letter) for letter, p in chances.items() if p > 0)


SPEAKERS = ("me", "first", "second")
SWAPPED = {"me": "me", "first": "second", "second": "first"}
_ACT = {act[0]: act for act in ACTS}
_MOVE = {move[0].upper(): move for move in MOVES}


class Automaton(Policy):
    """A policy whose state follows from messages and moves, by a table.

    A state is the name of a row. A table for `each` opponent, which it calls ``first`` (the other
    one is ``second``), runs twice side by side: a state is then two names.
    """

    remembers: ClassVar[bool] = True
    first: str
    states: Mapping[str, Any]
    each: bool
    noise: float = 0.0

    @cached_property
    def rows(self) -> Mapping[str, Row]:
        """The table."""
        return rows_of(self.first, self.states, self.each)

    @property
    def initial(self) -> Any:
        """The first state."""
        return (self.first,) * (1 + self.each)

    def says(self, state: Any) -> Draws:
        """Return what it announces."""
        return _joint(*(one for name in state for one in self.rows[name].says))

    def plays(self, state: Any) -> Draws:
        """Return its moves, of which each is turned round with the probability of `noise`."""
        return _noisy(_joint(*(one for name in state for one in self.rows[name].plays)), self.noise)

    def heard(self, state: Any, speaker: str, acts: str) -> Any:
        """Return the state after a message of one of `SPEAKERS`.

        To the second copy the second opponent is the first.
        """
        swapped = acts[::-1] if speaker == "me" else acts
        seen = ((speaker, acts), (SWAPPED[speaker], swapped))
        rows = (self.rows[name].hears for name in state)
        return tuple(_next(*at) for at in zip(state, rows, seen, strict=False))

    def after(self, state: Any, moves: str) -> Any:
        """Return the state after a round."""
        rows = (self.rows[name].moves for name in state)
        seen = ((moves,), ("".join(moves[k] for k in (1, 0, 4, 5, 2, 3)),))
        return tuple(_next(*at) for at in zip(state, rows, seen, strict=False))

    @cached_property
    def without_chance(self) -> bool:
        """Whether it never draws."""
        rows = self.rows.values()
        return self.noise in (0, 1) and all(len(d) == 1 for r in rows for d in (*r.says, *r.plays))

    @cached_property
    def talks(self) -> bool:
        """Whether it says anything, or cares for what is said."""
        return any(
            any(act != "n" for draws in row.says for _, act in draws)
            or any(after != name for *_, after in row.hears)
            for name, row in self.rows.items()
        )

    def fits(self, game: Ipd3) -> None:
        """Refuse games without talk if it needs talk."""
        if self.talks and not game.rules.talk:
            raise TomevalError(
                f"ipd3: the policy {type(self).__name__} talks or listens, but the game has "
                "talk = 0; set talk = 1 or choose another policy"
            )

    def start(self, view: Ipd3View) -> Any:
        """Return the first state."""
        return self.initial

    def choices(self, view: Ipd3View, ask: Ask, memory: Any) -> Choices:
        """Return sentences, or moves."""
        if ask.kind == "talk":
            return _sentences(self.says(memory), OPPONENTS[ask.seat])
        return _decisions(self.plays(memory))

    def observe(self, view: Ipd3View, memory: Any) -> Any:
        """Take in the stage that is over."""
        last = view.events[-1]
        if last.kind == "talk":
            return self.heard(memory, *_message(last.seat, last.data, view.seat))
        if last.kind == "points":
            return self.after(memory, _round(view.events[-2].data, view.seat))
        return memory


@lru_cache(maxsize=4096)
def _sentences(draws: Draws, opponents: tuple[int, int]) -> Choices:
    return tuple((p, sentence_of((_ACT[x[0]], _ACT[x[1]]), opponents)) for p, x in draws)


@lru_cache(maxsize=4096)
def _decisions(draws: Draws) -> Choices:
    return tuple((p, (_MOVE[x[0]], _MOVE[x[1]])) for p, x in draws)


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


@lru_cache(maxsize=4096)
def _joint(first: Draws, second: Draws) -> Draws:
    """Return independent draws toward two opponents as one."""
    return tuple((p * q, a + b) for p, a in first for q, b in second)


@lru_cache(maxsize=4096)
def _noisy(draws: Draws, noise: float) -> Draws:
    """Return moves of which each is turned round with a probability."""
    if not noise:
        return draws
    chances = dict.fromkeys(("CC", "CD", "DC", "DD"), 0.0)
    for p, moves in draws:
        for turned in chances:
            flips = sum(a != b for a, b in zip(moves, turned, strict=True))
            chances[turned] += p * noise**flips * (1 - noise) ** (2 - flips)
    return tuple((p, moves) for moves, p in chances.items() if p > 0)
