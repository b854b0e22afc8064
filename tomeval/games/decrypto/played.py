"""The complete games of one pairing, or of several, as measures read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
    random : ndarray, shape (N,)
        What random hints were worth, on average; NaN likewise.
    recorded : dict of str to ndarray of int, shape (N,)
        In replays, the guesses of `LISTENERS` in the record.
    brier : dict of str to ndarray, shape (N,)
        The Brier score of Alice's probabilities by question; NaN without.
    more : mapping of str to callable
        What groups of measures read besides, by name, when it is first called; see
        `tomeval.core.parts.Analysis`.
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
    random: Floats
    recorded: Mapping[str, Ints] = field(default_factory=dict)
    brier: Mapping[str, Floats] = field(default_factory=dict)
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
    def miscommunicated(self) -> Bools:
        """Turns on which Bob guessed wrong."""
        return np.asarray(self.bob != self.code)

    @property
    def intercepted(self) -> Bools:
        """Turns on which Eve guessed right."""
        return np.asarray(self.eve == self.code)
