"""The complete games of one pairing, or of several, as measures read them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.decrypto.planting import Planted

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = tuple[str, ...]

NONE = 0
"""Stands for no prediction in arrays of codes."""

LISTENERS = ("bob", "eve")
"""Those who guess codes."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Eve's answers of one turn: prompts A, B and C; None if invalid or not asked.

    `b` and `c` were given without her answer to A in view, the other two with it.
    """

    a: Words | None
    b: Words | None = None
    c: Words | None = None
    b_in_view: Words | None = None
    c_in_view: Words | None = None


@dataclass(frozen=True, eq=False)
class Played:
    """Complete games of one pairing, or of several that are taken together.

    Attributes
    ----------
    outcomes : list of str or None, length G
        How each game ended; None, undecided, if it was broken off before either limit, or the
        record that it replays was.
    clusters : ndarray, shape (G,)
        The sampling unit: games with equal labels belong together (they share keywords and codes).
    game : ndarray of int, shape (N,)
        Which game each turn belongs to, from 0; N is the number of turns.
    turn : ndarray of int, shape (N,)
        Turn numbers, from 1.
    code, bob, eve : ndarray of int, shape (N,)
        Three digits each, such as 241.
    own : ndarray of bool, shape (N,)
        Whether the hints are Alice's own: valid, and heard (in replays they may not be).
    guessed : dict of str to ndarray of bool, shape (N,)
        For `LISTENERS`: whether the guess is their own, not drawn for an invalid one.
    predicted : dict of str to ndarray of int, shape (N,)
        Alice's predictions by question; `NONE` if invalid or not asked.
    beliefs : dict of int to Beliefs
        By position of the turns on which Eve was asked.
    keywords : list of tuple of str, length G
    best : ndarray, shape (N,)
        Best attainable value of each turn; NaN if it was not searched for.
    recorded : dict of str to ndarray of int, shape (N,)
        In replays, the guesses of `LISTENERS` in the record.
    planted : Planted or None
        What Alice was told of Eve; None without beliefs.
    replayed : bool
        Whether the past of every turn is a record's; games then have no length of their own.
    more : mapping of str to callable
        What groups of measures read besides, by name, when it is first called; see
        `tomeval.runs.outside.Group`.
    """

    outcomes: list[str | None]
    clusters: NDArray[Any]
    game: Ints
    turn: Ints
    code: Ints
    bob: Ints
    eve: Ints
    own: Bools
    guessed: Mapping[str, Bools]
    predicted: Mapping[str, Ints]
    beliefs: Mapping[int, Beliefs] = field(default_factory=dict)
    keywords: list[Words] = field(default_factory=list)
    best: Floats = field(default_factory=lambda: np.empty(0))
    recorded: Mapping[str, Ints] = field(default_factory=dict)
    replayed: bool = False
    planted: Planted | None = None
    more: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.outcomes)

    @property
    def by_turn(self) -> NDArray[Any]:
        """The cluster of each turn, shape (N,)."""
        return self.clusters[self.game]

    @property
    def miscommunicated(self) -> Bools:
        """Turns on which Bob guessed wrong."""
        return np.asarray(self.bob != self.code)

    @property
    def intercepted(self) -> Bools:
        """Turns on which Eve guessed right."""
        return np.asarray(self.eve == self.code)


def pool(parts: list[Played]) -> Played:
    """Take several pairings together; games with equal clusters stay in one."""
    if len(parts) == 1:
        return parts[0]
    games = np.cumsum([0, *(part.games for part in parts)])
    turns = np.cumsum([0, *(len(part.turn) for part in parts)])

    def joined(values: list[Any]) -> Any:
        if isinstance(values[0], np.ndarray):
            return np.concatenate(values)
        if isinstance(values[0], dict):
            keys = [key for key in values[0] if all(key in value for value in values)]
            return {key: joined([value[key] for value in values]) for key in keys}
        return list(itertools.chain(*values))

    names: tuple[str, ...] = (
        "outcomes",
        "clusters",
        "turn",
        "code",
        "bob",
        "eve",
        "own",
        "guessed",
        "predicted",
    )
    names += ("keywords", "best", "recorded")
    planted = [part.planted for part in parts]
    if any(planted):
        planted = [part.planted or Planted.nothing(len(part.turn)) for part in parts]
    return Played(
        **{name: joined([getattr(part, name) for part in parts]) for name in names},
        game=np.concatenate([part.game + games[i] for i, part in enumerate(parts)]),
        beliefs={
            turn + int(turns[i]): said
            for i, part in enumerate(parts)
            for turn, said in part.beliefs.items()
        },
        replayed=any(part.replayed for part in parts),
        planted=Planted(**joined([vars(one) for one in planted])) if any(planted) else None,
    )
