"""The complete games of one pairing, or of several, as measures read them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.games.decrypto.planting import Planted

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Texts = NDArray[np.str_]

NONE = 0
"""Stands for no prediction in arrays of codes."""

LISTENERS = ("bob", "eve")
"""Those who guess codes."""


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
    believed : dict of str to ndarray of str, shape (N,)
        Eve's answers by question, as `comparable` texts; empty if invalid or not asked.
    keywords : ndarray of str, shape (N,)
        The true ones of each turn's game, as such a text.
    best : ndarray, shape (N,)
        Best attainable value of each turn; NaN if it was not searched for.
    recorded : dict of str to ndarray of int, shape (N,)
        In replays, the guesses of `LISTENERS` in the record.
    planted : Planted
        What Alice was told of Eve.
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
    believed: Mapping[str, Texts]
    keywords: Texts
    best: Floats
    planted: Planted
    recorded: Mapping[str, Ints] = field(default_factory=dict)
    more: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.outcomes)

    @property
    def replayed(self) -> bool:
        """Whether the past of every turn is a record's; games then have no length of their own."""
        return bool(self.recorded)

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
    apart = [replace(part, game=part.game + games[i], more={}) for i, part in enumerate(parts)]
    joined: Played = _joined(apart)
    return joined


def _joined(values: list[Any]) -> Any:
    """Join arrays and lists, and those inside of dicts and dataclasses."""
    first = values[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(values)
    if isinstance(first, dict):
        keys = [key for key in first if all(key in value for value in values)]
        return {key: _joined([value[key] for value in values]) for key in keys}
    if isinstance(first, list):
        return list(itertools.chain(*values))
    return type(first)(**_joined([vars(value) for value in values]))
