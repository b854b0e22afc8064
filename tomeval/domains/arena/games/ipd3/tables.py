"""Tables of machines: as experiments write them, and in numbers.

Everything is told from the machine's side: ``me``, and its opponents ``first`` and ``second`` in
ascending order of seats. A round is six letters, C or D, in the order of `ROUND`: me toward first,
me toward second, first toward me, first toward second, second toward me, second toward first. Moves
of a seat that is out, and toward it, count as C.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.arena.games.ipd3.talk import ACTS, Acts

ROUND = ("me>first", "me>second", "first>me", "first>second", "second>me", "second>first")
"""The moves of a round, as the letters of a pattern name them."""

SPEAKERS = ("me", "first", "second")
ACT_PAIRS: tuple[Acts, ...] = tuple(itertools.product(ACTS, ACTS))
MAX_STATES = 10_000
"""States of a table; more are refused."""

_ACT_LETTERS = {"n": 0, "p": 1, "t": 2}
_STATE_KEYS = ("says", "cooperates", "hears", "moves")

Draws = tuple[tuple[float, int], ...]
"""Places among `ACT_PAIRS` or `PAIRS` with probabilities that sum to 1."""


class Table(NamedTuple):
    """A machine in numbers.

    Attributes
    ----------
    says, plays : tuple of Draws
        By state: acts among `ACT_PAIRS`, moves among `PAIRS`.
    heard : tuple
        ``heard[state][speaker][acts]``: the next state after a message; acts among `ACT_PAIRS`,
        toward the speaker's opponents in the order of `SPEAKERS`.
    after : tuple
        ``after[state][round]``: the next state after a round, as a number from six bits, the first
        of `ROUND` the highest, D as 1.
    start : int
    """

    says: tuple[Draws, ...]
    plays: tuple[Draws, ...]
    heard: tuple[tuple[tuple[int, ...], ...], ...]
    after: tuple[tuple[int, ...], ...]
    start: int


def table_of(first: str, states: Mapping[str, Any], each: bool, where: str) -> Table:
    """Return a table in numbers.

    Parameters
    ----------
    first : str
        The first state.
    states : mapping
        By name: ``says`` (two acts, or tables of acts with probabilities), ``cooperates`` (two
        probabilities), ``hears`` (rows of speaker, two letters n, p, t or ?, next state), ``moves``
        (rows of six letters C, D or ?, next state). Of rows the first that fits counts; without
        one the state stays.
    each : bool
        The table is for one opponent, which it calls ``first`` (the other one is ``second``), with
        one act and one probability; two copies of it run side by side.
    where : str
        Named by messages.

    Raises
    ------
    TomevalError
        A malformed table: unknown states, keys or letters, probabilities that do not sum to 1.
    """
    if not isinstance(states, Mapping) or not states:
        raise TomevalError(f"{where}: states must be a table with at least one state")
    if len(states) > (100 if each else MAX_STATES):
        raise TomevalError(f"{where}: {len(states):,} states are too many")
    names = {name: number for number, name in enumerate(states)}
    if first not in names:
        raise unknown("state", first, names, f"{where}: first")
    size = 1 if each else 2
    says, plays, heard, after = [], [], [], []
    for name, row in states.items():
        here = f"{where}: states.{name}"
        if not isinstance(row, Mapping):
            raise TomevalError(f"{here} must be a table, is {row!r}")
        for key in row:
            if key not in _STATE_KEYS:
                raise unknown("key", key, _STATE_KEYS, here)
        says.append(_says(row.get("says"), size, f"{here}: says"))
        plays.append(_cooperates(row.get("cooperates"), size, f"{here}: cooperates"))
        heard.append(_hears(row.get("hears", []), names, name, f"{here}: hears"))
        after.append(_moves(row.get("moves", []), names, name, f"{here}: moves"))
    if each:
        return _both(says, plays, heard, after, names[first])
    return Table(
        tuple(_joint(row[0], row[1], 3) for row in says),
        tuple(_joint(row[0], row[1], 2) for row in plays),
        tuple(heard),
        tuple(after),
        names[first],
    )


def _both(
    says: list[list[Draws]],
    plays: list[list[Draws]],
    heard: list[tuple[tuple[int, ...], ...]],
    after: list[tuple[int, ...]],
    start: int,
) -> Table:
    """Return two copies of a machine for one opponent, side by side, without unreachable states."""
    swap_round = [_swapped(number) for number in range(64)]
    swap_acts = [ACT_PAIRS.index((b, a)) for a, b in ACT_PAIRS]
    names = {(start, start): 0}
    waiting = [(start, start)]
    heard_pairs, after_pairs = [], []
    for a, b in waiting:  # grows as states are found
        following = [
            # To the second copy, the second opponent is the first one.
            [
                (
                    heard[a][who][acts],
                    heard[b][(0, 2, 1)[who]][swap_acts[acts] if who == 0 else acts],
                )
                for acts in range(9)
            ]
            for who in range(3)
        ]
        rounds = [(after[a][n], after[b][swap_round[n]]) for n in range(64)]
        for pair in itertools.chain(*following, rounds):
            if pair not in names:
                names[pair] = len(names)
                waiting.append(pair)
        heard_pairs.append(following)
        after_pairs.append(rounds)
    return Table(
        tuple(_joint(says[a][0], says[b][0], 3) for a, b in waiting),
        tuple(_joint(plays[a][0], plays[b][0], 2) for a, b in waiting),
        tuple(tuple(tuple(names[p] for p in row) for row in rows) for rows in heard_pairs),
        tuple(tuple(names[p] for p in row) for row in after_pairs),
        0,
    )


def _swapped(number: int) -> int:
    """Return a round with the two opponents exchanged."""
    bits = [number >> (5 - k) & 1 for k in range(6)]
    a, b, c, d, e, f = bits
    return int("".join(map(str, (b, a, e, f, c, d))), 2)


def _joint(first: Draws, second: Draws, base: int) -> Draws:
    """Return independent draws toward two opponents as one."""
    return tuple((p * q, a * base + b) for p, a in first for q, b in second)


def _says(value: Any, size: int, where: str) -> list[Draws]:
    """Read acts: one per opponent, each a name or a table of probabilities."""
    items = ["none"] * size if value is None else [value] if size == 1 else value
    if not isinstance(items, list | tuple) or len(items) != size:
        raise TomevalError(f"{where}: needs {size} acts, one toward each opponent, is {value!r}")
    draws = []
    for item in items:
        table = item if isinstance(item, Mapping) else {item: 1}
        for act in table:
            if act not in ACTS:
                raise unknown("act", act, ACTS, where)
        weights = [probability(p, where) for p in table.values()]
        if abs(sum(weights) - 1) > 1e-9:
            raise TomevalError(f"{where}: probabilities {weights} do not sum to 1")
        draws.append(
            tuple((p, ACTS.index(a)) for a, p in zip(table, weights, strict=True) if p > 0)
        )
    return draws


def _cooperates(value: Any, size: int, where: str) -> list[Draws]:
    """Read probabilities of cooperation, one per opponent."""
    items = [value] if size == 1 else value
    if not isinstance(items, list | tuple) or len(items) != size:
        raise TomevalError(
            f"{where}: needs {'a probability' if size == 1 else 'two probabilities'}, is {value!r}"
        )
    return [cooperating(probability(item, where)) for item in items]


def cooperating(p: float) -> Draws:
    """Return a move toward one opponent: cooperation (0) with a probability, or else defection."""
    return tuple((weight, move) for weight, move in ((p, 0), (1 - p, 1)) if weight > 0)


def probability(value: Any, where: str) -> float:
    """Return a number if it is a probability."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise TomevalError(f"{where}: {value!r} is not a probability between 0 and 1")
    return float(value)


def _hears(
    rows: Any, names: Mapping[str, int], own: str, where: str
) -> tuple[tuple[int, ...], ...]:
    """Read what messages do, for every speaker and pair of acts."""
    heard = [[names[own]] * 9 for _ in SPEAKERS]
    for row in reversed(_rows(rows, 3, where)):
        speaker, letters, state = row
        if speaker not in SPEAKERS:
            raise unknown("speaker", speaker, SPEAKERS, where)
        _check(letters, 2, "npt?", where)
        if state not in names:
            raise unknown("state", state, names, where)
        for number in range(9):
            acts = divmod(number, 3)
            if all(x == "?" or _ACT_LETTERS[x] == a for x, a in zip(letters, acts, strict=True)):
                heard[SPEAKERS.index(speaker)][number] = names[state]
    return tuple(map(tuple, heard))


def _moves(rows: Any, names: Mapping[str, int], own: str, where: str) -> tuple[int, ...]:
    """Read what rounds do, for every one of 64."""
    moves = [names[own]] * 64
    for letters, state in reversed(_rows(rows, 2, where)):
        _check(letters, 6, "CD?", where)
        if state not in names:
            raise unknown("state", state, names, where)
        for number in range(64):
            played = f"{number:06b}".replace("0", "C").replace("1", "D")
            if all(x in ("?", y) for x, y in zip(letters, played, strict=True)):
                moves[number] = names[state]
    return tuple(moves)


def _rows(rows: Any, size: int, where: str) -> list[Any]:
    if not isinstance(rows, list | tuple) or not all(
        isinstance(row, list | tuple) and len(row) == size and all(isinstance(x, str) for x in row)
        for row in rows
    ):
        raise TomevalError(f"{where}: needs rows of {size} texts, is {rows!r}")
    return list(rows)


def _check(letters: str, size: int, known: str, where: str) -> None:
    if len(letters) != size or set(letters) - set(known):
        raise TomevalError(f"{where}: {letters!r} is not {size} letters out of {', '.join(known)}")
