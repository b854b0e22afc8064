"""Players of the ladder of recursion in their seats; see `ladder` for what they compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.extensions.levels.ladder import LEVELS, PLACES, Scores, guesses, softmax, worths_of
from tomeval.games.decrypto.embedding_players import (
    Bools,
    Floats,
    bank_vectors,
    forms,
    history_scores,
    history_sums,
    keyword_vector,
)
from tomeval.games.decrypto.game import (
    CODES,
    Hints,
    Keywords,
    Turn,
    View,
    hint_history,
)
from tomeval.games.decrypto.players import DecryptoPlayer, PlayerKind
from tomeval.games.decrypto.seats import ALICE
from tomeval.games.game import Ask, Probe
from tomeval.games.seats import Answer, Chair, Seat
from tomeval.lexicon.embeddings import Embedding
from tomeval.lexicon.words import WordLists, hint_letters

DEFAULTS: dict[str, Any] = {"embedding": "minilm", "level": 1, "alpha": 4.0}
"""The options of a player of kind ``rsa``."""


class RSASpec(NamedTuple):
    """A player of the ladder: the share of turns in which it plays each level, and rationality."""

    embedding: Embedding
    shares: tuple[float, ...]
    alpha: float


class RSASeat(Seat):
    """Alice, Bob or Eve of a level.

    One number for the level and up to three for the choices of every turn are drawn when the game
    begins, so that asked again in a turn it answers the same.
    """

    def __init__(self, spec: RSASpec, lists: WordLists, chair: Chair) -> None:
        self.spec, self.words = spec, lists.hints
        self.bank = bank_vectors(spec.embedding, lists)
        self._draws = chair.rng.random((len(CODES), 4 if chair.seat == ALICE else 2))

    def _turn(self, turns: tuple[Turn, ...]) -> tuple[int, Floats, dict[str, Any]]:
        """Return the turn's level, the numbers of its choices, and details if levels vary."""
        numbers = self._draws[len(turns)]
        level = drawn(np.array(self.spec.shares), numbers[0])
        return level, numbers[1:], {"level": level} if max(self.spec.shares) < 1 else {}

    def _hint_vectors(self, hints: Sequence[str]) -> Floats:
        """Return the vectors of hints, zero for those without one, (hints, d)."""
        known = map(self.spec.embedding.hint_vector, hints)
        rows = [np.zeros(self.bank.shape[1]) if one is None else one for one in known]
        return np.reshape(rows, (len(hints), self.bank.shape[1]))

    def _bob(self, keywords: Keywords, hints: Sequence[str]) -> Scores:
        """Return cosines with the keywords."""
        digits = np.stack([keyword_vector(self.spec.embedding, keyword) for keyword in keywords])
        return Scores(digits @ self.bank.T, digits @ self._hint_vectors(hints).T)

    def _eve(self, turns: tuple[Turn, ...], hints: Sequence[str]) -> Scores:
        """Return cosines with the mean of each digit's past hints; 0 for digits without any."""
        sums = history_sums(self.spec.embedding, turns)[None]
        bank, given = (
            np.ascontiguousarray(history_scores(vectors[None], sums)[0].T)
            for vectors in (self.bank, self._hint_vectors(hints))
        )
        return Scores(bank, given)

    def worths(self, level: int, view: View, given: Sequence[str]) -> Floats:
        """Return what each word of the bank is worth to Alice as her next hint, shape (words,).

        -inf for words against the rules: forms of a keyword and, if hints may not be repeated,
        hints that the digit has had. `given` are the turn's hints so far, fewer than three.
        """
        place = len(given)
        eve = self._eve(view.turns, given) if level > 1 else None
        worth = worths_of(level, self._bob(view.keywords, given), eve, place)
        legal: Bools = np.asarray(~forms(view.keywords, self.words).any(axis=0))
        if view.rules.no_repeat_hints:
            had = {hint_letters(hint) for hint in hint_history(view.turns)[view.code[place] - 1]}
            legal = legal & np.array([hint_letters(word) not in had for word in self.words])
        return np.where(legal, worth[PLACES[place][CODES.index(view.code)]], -np.inf)

    async def answer(self, view: View, ask: Ask) -> Answer:
        """Choose three hints, one after the other; or draw a code by its probability.

        Noted are the turn's level, if levels vary, and a listener's hints without a vector.
        """
        level, numbers, details = self._turn(view.turns)
        if view.code is not None:
            return Answer(self._hints(view, level, numbers), details=details or None)
        # Eve has no better idea of Bob's scores than her own, nor of which words are legal.
        bob = eve = self._eve(view.turns, view.hints)
        legal: Bools = np.ones(len(self.words), bool)
        if view.keywords is not None:
            bob = self._bob(view.keywords, view.hints)
            legal = np.asarray(~forms(view.keywords, self.words).any(axis=0))
        chances = softmax(self.spec.alpha * guesses(level, bob, eve, legal))
        hint_vector = self.spec.embedding.hint_vector
        if unknown := [hint for hint in view.hints if hint_vector(hint) is None]:
            details["unknown_hints"] = unknown
        return Answer(CODES[drawn(chances, numbers[0])], details=details or None)

    def _hints(self, view: View, level: int, numbers: Floats) -> Hints:
        given: list[str] = []
        for number in numbers:
            worth = self.worths(level, view, given)
            legal = np.isfinite(worth)
            if not legal.any():
                keyword = view.keywords[view.code[len(given)] - 1]
                raise TomevalError(f"the hint bank has no hint left for {keyword!r}")
            # -inf stays -inf also if alpha is 0.
            times = np.where(legal, self.spec.alpha * np.where(legal, worth, 0.0), -np.inf)
            given.append(self.words[drawn(softmax(times), number)])
        one, two, three = given
        return one, two, three

    async def probe(self, view: View, ask: Ask, probe: Probe) -> Answer | None:
        """Return what the literal listener that Alice reasons about finds most likely."""
        if view.code is None:
            return None
        of_bob, hints = probe.name == "bob", probe.given
        if self._turn(view.turns)[0] < (1 if of_bob else 2):
            return None
        scores = self._bob(view.keywords, hints) if of_bob else self._eve(view.turns, hints)
        code = guesses(0, scores, None, np.ones(len(self.words), bool)).argmax()
        return Answer(CODES[int(code)])


def spec_of(embedding: Embedding, level: Any = 1, alpha: Any = 4.0) -> RSASpec:
    """Return what a player's options say.

    Raises
    ------
    TomevalError
        Which of them is out of range.
    """
    shares = level if isinstance(level, list | tuple) else [float(n == level) for n in LEVELS]
    numbers = [alpha, *shares]
    if not all(type(one) in (int, float) and 0 <= one < math.inf for one in numbers):
        raise TomevalError(
            f"level and alpha must be numbers of at least 0, are {level!r}, {alpha!r}"
        )
    if len(shares) != len(LEVELS) or not math.isclose(sum(shares), 1.0, abs_tol=1e-9):
        raise TomevalError(
            f"level must be 0, 1 or 2, or the shares of the three, which add up to 1, is {level!r}"
        )
    return RSASpec(embedding, tuple(map(float, shares)), float(alpha))


def _seat(player: DecryptoPlayer, lists: WordLists) -> Callable[[Chair], Seat]:
    spec = spec_of(player.embedding(lists), player.options["level"], player.options["alpha"])
    return lambda chair: RSASeat(spec, lists, chair)


def _short(text: str) -> dict[str, Any]:
    """Return the options of ``rsa:LEVEL`` and ``rsa:LEVEL:EMBEDDING``."""
    level, _, name = text.partition(":")
    if level not in map(str, LEVELS):
        raise TomevalError(f"player 'rsa:{text}': the level is 0, 1 or 2, such as rsa:2")
    return {"level": int(level)} | ({"embedding": name} if name else {})


RSA = PlayerKind(
    "reasons about the other seats to level 0, 1 or 2, over an embedding",
    DEFAULTS,
    _seat,
    _short,
)


def drawn(probabilities: Floats, number: float) -> int:
    """Return the position that a uniform number falls on; never one with probability 0.

    Examples
    --------
    >>> drawn(np.array([0.0, 0.5, 0.5, 0.0]), 0.0), drawn(np.array([0.0, 0.5, 0.5, 0.0]), 0.999)
    (1, 2)
    """
    ends = probabilities.cumsum()
    last = int(np.flatnonzero(probabilities)[-1])  # where rounding would carry beyond the end
    return min(int(np.searchsorted(ends, number * ends[-1], side="right")), last)
