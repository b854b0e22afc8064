"""The complete games of one pairing, or of several, as measures read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.decrypto.planting import Planted
from tomeval.domains.decrypto.seats import ENCODER_QUESTIONS

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = tuple[str, ...]

NONE = 0
"""Stands for 'no code' in arrays of codes."""

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
        Three digits each, such as 241; `NONE` for a recorded guess that is no code.
    own : ndarray of bool, shape (N,)
        Whether the hints are Alice's own: valid, and heard (in replays they may not be).
    guessed : dict of str to ndarray of bool, shape (N,)
        For `LISTENERS`: whether the guess is a code, and their own, not drawn for an invalid one.
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

    def joined(name: str, key: str | None = None) -> NDArray[Any]:
        found = (getattr(part, name) for part in parts)
        return np.concatenate([value if key is None else value[key] for value in found])

    return Played(
        outcomes=[outcome for part in parts for outcome in part.outcomes],
        clusters=joined("clusters"),
        game=np.concatenate([part.game + games[i] for i, part in enumerate(parts)]),
        turn=joined("turn"),
        code=joined("code"),
        bob=joined("bob"),
        eve=joined("eve"),
        own=joined("own"),
        guessed={key: joined("guessed", key) for key in LISTENERS},
        predicted={key: joined("predicted", key) for key in ENCODER_QUESTIONS},
        beliefs={
            place + int(turns[i]): said
            for i, part in enumerate(parts)
            for place, said in part.beliefs.items()
        },
        keywords=[words for part in parts for words in part.keywords],
        best=joined("best"),
        recorded={
            key: joined("recorded", key)
            for key in LISTENERS
            if all(part.recorded for part in parts)
        },
        replayed=any(part.replayed for part in parts),
        planted=_joined([(part.planted, len(part.turn)) for part in parts]),
    )


def _joined(parts: list[tuple[Planted | None, int]]) -> Planted | None:
    """Join what was told in several pairings; `parts` come with their numbers of turns."""
    if all(part is None for part, _ in parts):
        return None
    nothing = [np.full(count, np.nan) for _, count in parts]

    def column(name: str) -> NDArray[Any]:
        return np.concatenate(
            [
                np.zeros(count, dtype=bool) if part is None else getattr(part, name)
                for part, count in parts
            ]
        )

    accuracy = [
        nothing[place] if part is None else part.accuracy for place, (part, _) in enumerate(parts)
    ]
    names = ("warned", "intercepts", "decodes", "changed")
    return Planted(np.concatenate(accuracy), *(column(name) for name in names))
