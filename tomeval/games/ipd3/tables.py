"""Tables of machines, as experiments write them.

Everything is told from the machine's side: ``me``, and its opponents ``first`` and ``second`` in
ascending order of seats. Acts toward the other two, in this order, are letters: n (none),
p (promise), t (threaten). A round is six letters, C or D: me toward first, me toward second, first
toward me, first toward second, second toward me, second toward first. Moves of a seat that is out,
and toward it, count as C.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tomeval.core.errors import TomevalError, unknown
from tomeval.runs.experiment import read_table

Draws = tuple[tuple[float, str], ...]
"""Letters toward the first and the second opponent, with probabilities that sum to 1."""


class Row(NamedTuple):
    """One state of a table.

    Attributes
    ----------
    says, plays : tuple of Draws
        Toward each opponent apart: letters of acts and of moves.
    hears, moves : tuple
        Rows of letters and the next state, of which the first that fits counts; without one the
        state stays. The letters of `hears` follow the speaker.
    """

    says: tuple[Draws, ...]
    plays: tuple[Draws, ...]
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
