"""The complete games of one pairing, or of several, as measures read them; planted beliefs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.games.decrypto.game import CODES, Code, code_number
from tomeval.strategies.beliefs import plant

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def plant_guess(eve: Code | None, code: Code, accuracy: float, right: float, which: float) -> Code:
    """Return the guess of Eve's that is stated.

    Right with probability `accuracy`. A wrong one is wrong in what matters to Alice, whether Eve
    intercepts: if Eve guesses the code, another code, each equally likely; else the code. (Of the
    codes that are not Eve's guess, hardly any is the code: drawn among all of them, a wrong
    statement would warn of nothing.) `right` and `which` are two uniform numbers. Of an Eve whose
    guess cannot be read (None) nothing is true: any code, each equally likely.

    Examples
    --------
    >>> plant_guess((1, 2, 3), (1, 2, 3), 0.5, 0.2, 0.0)
    (1, 2, 3)
    >>> plant_guess((4, 2, 3), (1, 2, 3), 0.5, 0.7, 0.0)
    (1, 2, 3)
    """
    if eve is None:
        return CODES[min(int(which * len(CODES)), len(CODES) - 1)]
    if eve != code:
        return eve if right < accuracy else code
    return CODES[plant(CODES.index(code), len(CODES), accuracy, right, which).stated]


@dataclass(frozen=True, eq=False)
class Planted:
    """The statements to Alice about Eve by turn, and what became of her draft; shape (N,) each.

    Attributes
    ----------
    accuracy : ndarray
        NaN on turns without a statement that can be right or wrong.
    warned : ndarray of bool
        Whether the stated guess is the code.
    intercepts : ndarray of bool
        Whether Eve does guess the code for the draft.
    decodes : ndarray of bool
        Whether Bob guesses the code for the draft.
    changed : ndarray of bool
        Whether Alice gave other hints than the draft.
    """

    accuracy: Floats
    warned: Bools
    intercepts: Bools
    decodes: Bools
    changed: Bools

    @property
    def known(self) -> Bools:
        """Turns with a statement."""
        return np.isfinite(self.accuracy)

    @property
    def right(self) -> Bools:
        """Turns on which the statement was right."""
        return np.asarray(self.known & (self.warned == self.intercepts))

    @property
    def slope(self) -> Floats:
        """Every turn's estimate of the use slope, or NaN.

        Its expectation is P(other hints | warned) - P(other hints | told that Eve does not guess
        the code), by inverse probability weighting: a warning has probability `accuracy` where Eve
        intercepts and 1 - `accuracy` where she does not. Not identified at 0 and 1.
        """
        slopes = np.full(len(self.accuracy), np.nan)
        inside = self.known & (self.accuracy > 0) & (self.accuracy < 1)
        chance = np.where(self.intercepts, self.accuracy, 1 - self.accuracy)[inside]
        warned, changed = self.warned[inside], self.changed[inside]
        slopes[inside] = changed * np.where(warned, 1 / chance, -1 / (1 - chance))
        return slopes

    def complied(self, best: Floats) -> tuple[Bools, Bools]:
        """Return on which turns Alice did what only the statement asks for, and which count.

        Warned, that is to give other hints, and counts unless none at all are worth anything
        (`best` 0, by the exact search; NaN: not searched). Told that Eve does not guess the code,
        it is to give the draft, and counts if Bob decodes it.
        """
        among = self.known & np.where(self.warned, best != 0, self.decodes)
        return among & (self.changed == self.warned), among

    def acting(self, best: Floats) -> Floats:
        """Return the regret of one who acts on the statement, NaN where it is not known.

        As ΔToM has it: warned, she takes the best hints instead and loses nothing; else she gives
        the draft. Without the search there is none, not even the 0 of turns with a warning: they
        alone would look as if statements cost nothing.
        """
        value = (self.decodes & ~self.intercepts).astype(np.float64)
        known = self.known & np.isfinite(best)
        return np.where(known, np.where(self.warned, 0.0, best - value), np.nan)


def planted_of(turns: Sequence[Mapping[str, Any]]) -> Planted:
    """Return what was stated on some turns, see `turns.turns_of`."""
    accuracy, flags = np.full(len(turns), np.nan), np.zeros((4, len(turns)), dtype=bool)
    for number, turn in enumerate(turns):
        facts = turn["details"].get("encoder", {})
        belief = facts.get("belief")
        if belief is None or belief["right"] is None:
            continue
        accuracy[number] = belief["accuracy"]
        guesses = (belief["eve"], facts["draft_eve"], facts["draft_bob"])
        same = [code_number(guess) == turn["code"] for guess in guesses]
        flags[:, number] = *same, _plain(turn["hints"]) != _plain(facts["draft"])
    return Planted(accuracy, *flags)


def _plain(hints: Sequence[str]) -> list[str]:
    return [hint.casefold() for hint in hints]


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
    planted : Planted
        What Alice was told of Eve.
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
    planted: Planted
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
