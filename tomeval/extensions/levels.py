"""A ladder of recursion: Alice, Bob and Eve who reason about each other to level 0, 1 or 2.

Rational Speech Acts (Frank and Goodman 2012, Goodman and Frank 2016) over a word embedding. Alice
gives her hints one after the other, so her choices are those of an incremental speaker
(Cohn-Gordon, Goodman and Potts 2019): every hint is chosen among all words of a bank, with its
exact normalising constant, and listeners are asked about the digits that have a hint so far.

Notation: after i hints, d is one of the 4, 12 or 24 sequences of i different digits (after three:
the codes); b(h, j) is Bob's score of hint h with digit j, its cosine with the keyword; e(h, j)
Eve's, its cosine with the mean of the digit's past hints, 0 for a digit without. All codes are
equally likely beforehand.

======= ==========================================================================================
player  chooses with probability proportional to
======= ==========================================================================================
Alice 0 exp(alpha * -COST * (1 - b(h, d_i))): what is close to the keyword; she ignores listeners
Alice 1 exp(alpha * (log B(d) - COST * (1 - b(h, d_i)))), B(d) the literal Bob's probability
Alice 2 exp(alpha * (log B(d) + log(1 - E(d)) - COST * (1 - b(h, d_i)))), E the literal Eve's
Bob 0   L(d) ** alpha, where L(d) is proportional to exp(SHARPNESS * sum of b(h_i, d_i))
Bob n   (product over i of A_n(h_i | h_1 .. h_i-1, d)) ** alpha, where A_n is Alice n
Eve n   as Bob n, with her own scores e in place of b, as she does not know the keywords
======= ==========================================================================================

The Alice that listeners think of has the rationality `IMAGINED`. Eve's imagined Alice 2 finds both
listeners equally well informed, as Eve has nothing better than the history: so Eve 2 doubts the
code that the history suggests most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from tomeval.core.errors import TomevalError
from tomeval.games.decrypto.embedding_players import (
    CODE_DIGITS,
    Bools,
    Floats,
    Ints,
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
)
from tomeval.games.decrypto.players import DecryptoPlayer, PlayerKind
from tomeval.games.decrypto.seats import ALICE
from tomeval.games.game import Ask, Probe
from tomeval.games.seats import Answer, Chair, Seat
from tomeval.lexicon.embeddings import Embedding
from tomeval.lexicon.words import WordLists

LEVELS = (0, 1, 2)
SHARPNESS = 20.0
"""Of literal listeners, in nats per unit of cosine."""

COST = 5.0
"""Of a hint at cosine 0 with its keyword over one at cosine 1, in nats."""

IMAGINED = 4.0
"""Rationality of the Alice that pragmatic listeners think of."""

_LEAST = 2.0**-52  # of 1 - E(d): no hint is impossible because Eve is certain


PREFIXES: tuple[Ints, ...] = tuple(np.unique(CODE_DIGITS[:, :n], axis=0) for n in (1, 2, 3))
"""Digits, as positions, of all sequences of one, two and three: (4, 1), (12, 2), (24, 3)."""

PLACES: tuple[Ints, ...] = tuple(
    (CODE_DIGITS[:, None, :n] == begun).all(axis=2).argmax(axis=1)
    for n, begun in enumerate(PREFIXES, 1)
)
"""For one, two and three hints: the place in `PREFIXES` of each code's beginning, shape (24,)."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Cosines of hints with digits, as one seat knows them."""

    bank: Floats  # (4, words): of all words that Alice may choose
    given: Floats  # (4, hints): of the turn's hints so far, at most three


def literal(scores: Scores, place: int) -> Floats:
    """Return the log-probability of each sequence of digits for a literal listener.

    `place` is that of the next hint, from 0: ``given`` holds the hints before it, and may hold
    later ones. Shape (4 | 12 | 24, words), for each word of the bank as the next hint.

    Examples
    --------
    >>> scores = Scores(np.array([[0.05], [0.0], [0.0], [0.0]]), np.empty((4, 0)))
    >>> np.exp(literal(scores, 0)[:, 0]).round(3).tolist()
    [0.475, 0.175, 0.175, 0.175]
    """
    digits = PREFIXES[place]
    heard = SHARPNESS * scores.bank[digits[:, place]]
    for i in range(place):
        heard += SHARPNESS * scores.given[digits[:, i], i][:, None]
    return heard - _logsumexp(heard)


def worths_of(level: int, bob: Scores, eve: Scores | None, place: int) -> Floats:
    """Return what each word of the bank is worth to Alice as her next hint, in nats.

    `bob` and `eve` are the scores of the listeners that she thinks of; `eve` only matters to level
    2. Shape (4 | 12 | 24, words): for every sequence of digits that she may have to give up to
    this place, as in ``PREFIXES[place]``.
    """
    worth = COST * (bob.bank[PREFIXES[place][:, place]] - 1.0)
    if level > 0:
        worth += literal(bob, place)
    if level > 1:
        assert eve is not None
        worth += np.log(np.maximum(-np.expm1(literal(eve, place)), _LEAST))
    return worth


def guesses(level: int, bob: Scores, eve: Scores | None, legal: Bools) -> Floats:
    """Return the log-probability of each code for a listener who has heard all hints, shape (24,).

    `bob` holds the listener's own scores: Eve's, if it is Eve who guesses. `legal`, (words,), are
    the words that Alice could have chosen.
    """
    if level == 0:
        return np.asarray(literal(_only(bob, 2), 2)[:, 0])
    total = np.zeros(len(CODE_DIGITS))
    for place in range(3):
        said = _only(bob, place), None if eve is None else _only(eve, place)
        chosen = IMAGINED * worths_of(level, *said, place)[:, 0]
        options = IMAGINED * worths_of(level, bob, eve, place)[:, legal]
        total += (chosen - _logsumexp(options.T))[PLACES[place]]
    return np.asarray(total - _logsumexp(total))


def _only(scores: Scores, place: int) -> Scores:
    """Return the scores with the hint that was given at a place as the whole bank."""
    return Scores(scores.given[:, place : place + 1], scores.given)


def _logsumexp(values: Floats) -> Floats:
    """Return log(sum(exp(values))) along the first axis; scipy's checks more and is far slower."""
    most = values.max(axis=0)
    return np.asarray(np.log(np.exp(values - most).sum(axis=0)) + most)


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

        -inf for words against the rules: forms of a keyword. `given` are the turn's hints so far,
        fewer than three.
        """
        place = len(given)
        eve = self._eve(view.turns, given) if level > 1 else None
        worth = worths_of(level, self._bob(view.keywords, given), eve, place)
        legal: Bools = np.asarray(~forms(view.keywords, self.words).any(axis=0))
        return np.where(legal, worth[PLACES[place][CODES.index(view.code)]], -np.inf)

    async def answer(self, view: View, ask: Ask) -> Answer:
        """Choose three hints, one after the other; or draw a code by its probability."""
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
    """Return what a player's options say; a `TomevalError` if one is out of range."""
    shares = level if isinstance(level, list | tuple) else [float(n == level) for n in LEVELS]
    known = all(type(one) in (int, float) and 0 <= one < math.inf for one in (alpha, *shares))
    if not known or len(shares) != len(LEVELS) or not math.isclose(sum(shares), 1.0, abs_tol=1e-9):
        raise TomevalError(
            "level must be 0, 1 or 2, or the shares of the three, which add up to 1, and alpha at "
            f"least 0; they are {level!r} and {alpha!r}"
        )
    return RSASpec(embedding, tuple(map(float, shares)), float(alpha))


def _seat(player: DecryptoPlayer, lists: WordLists, chair: Chair) -> Seat:
    spec = spec_of(player.embedding(lists), player.options["level"], player.options["alpha"])
    return RSASeat(spec, lists, chair)


RSA = PlayerKind(
    "reasons about the other seats to level 0, 1 or 2, over an embedding",
    {"embedding": "minilm", "level": 1, "alpha": 4.0},
    _seat,
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
