"""Players of the ladder of recursion in their seats; see `rsa` for what they compute."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Said
from tomeval.domains.decrypto.embedding_players import Bools, Floats, forms, history_scores
from tomeval.domains.decrypto.embedding_seats import history_sums, keyword_vector
from tomeval.domains.decrypto.game import (
    CODES,
    Code,
    DecoderView,
    EncoderView,
    Hints,
    InterceptorView,
    Keywords,
    Turn,
    hint_history,
)
from tomeval.domains.decrypto.players import DecryptoPlayer, PlayerKind
from tomeval.domains.decrypto.seats import Chair, Decoder, Encoder, Interceptor, SeatPlayer
from tomeval.extensions.levels.ladder import (
    LEVELS,
    PLACES,
    Ladder,
    Scores,
    check_number,
    guesses,
    literal_codes,
    softmax,
    worths_of,
)
from tomeval.lexicon.embeddings import Embedding
from tomeval.lexicon.forms import hint_letters
from tomeval.lexicon.words import WordLists
from tomeval.runs.file_schema import of_default

Words = tuple[str, ...]

DEFAULTS: dict[str, Any] = {
    "embedding": "minilm",
    "level": 1,
    "alpha": 4.0,
    "beta": Ladder.beta,
    "sharpness": Ladder.sharpness,
    "cost": Ladder.cost,
}
"""The options of a player of kind ``rsa``."""

MEANINGS = {
    "level": "0, 1 or 2, or the shares of turns in which it plays each of them, such as "
    "[0.5, 0, 0.5].",
    "alpha": "Rationality: how strongly the better choice is preferred; 0 is at random.",
    "beta": "How much Eve's failure counts for Alice of level 2 against Bob's success.",
    "sharpness": "Of literal listeners, in nats per unit of cosine.",
    "cost": "Of a hint at cosine 0 with its keyword over one at cosine 1, in nats.",
}
"""What its options mean, for the schema of experiments."""


@dataclass(frozen=True)
class RSASpec:
    """A player of the ladder.

    Attributes
    ----------
    level : int or sequence of three float
        0, 1 or 2; or the shares of turns in which it plays each level, drawn anew in every turn.
    alpha : float
        Rationality of its own choices.
    """

    embedding: Embedding
    level: Any = 1
    alpha: float = 4.0
    ladder: Ladder = field(default_factory=Ladder)

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha)
        _ = self.shares

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of turns in which it plays each level."""
        if isinstance(self.level, int) and not isinstance(self.level, bool):
            if self.level in LEVELS:
                return tuple(float(level == self.level) for level in LEVELS)
        elif isinstance(self.level, list | tuple) and len(self.level) == len(LEVELS):
            for share in self.level:
                check_number("level: a share", share)
            if math.isclose(sum(self.level), 1.0, abs_tol=1e-9):
                return tuple(float(share) for share in self.level)
        raise TomevalError(
            f"level must be 0, 1 or 2, or the shares of the three, which add up to 1, is "
            f"{self.level!r}"
        )


class _Reasoner(SeatPlayer):
    """Draws one number for its level and a few for its choices in every turn of a game.

    All are drawn when the game begins, so that asked again in a turn it answers the same.
    """

    draws = 2

    def __init__(self, chair: Chair, spec: RSASpec, lists: WordLists) -> None:
        super().__init__(chair)
        self.spec, self.words = spec, lists.hints
        self._draws = chair.rng.random((len(CODES), self.draws))

    def turn(self, turns: tuple[Turn, ...]) -> tuple[int, Floats, dict[str, Any] | None]:
        """Return the turn's level, the numbers of its choices, and details if levels vary."""
        numbers = self._draws[len(turns)]
        level = drawn(np.array(self.spec.shares), numbers[0])
        return level, numbers[1:], {"level": level} if max(self.spec.shares) < 1 else None


class RSAEncoder(_Reasoner, Encoder):
    """Alice of a level."""

    draws = 4

    async def encode(self, view: EncoderView) -> Said[Hints]:
        """Choose three hints, one after the other."""
        level, numbers, details = self.turn(view.turns)
        spec, given = self.spec, list[str]()
        for place in range(3):
            worth = worths(spec.embedding, spec.ladder, level, view, tuple(given), self.words)
            if not np.isfinite(worth).any():
                keyword = view.keywords[view.code[place] - 1]
                raise TomevalError(f"the hint bank has no hint left for {keyword!r}")
            given.append(self.words[drawn(softmax(_times(spec.alpha, worth)), numbers[place])])
        one, two, three = given
        return Said((one, two, three), details=details)

    async def predict(self, view: EncoderView, hints: Hints, question: str) -> Said[Code] | None:
        """Say what the literal listener that this level reasons about finds most likely."""
        spec = self.spec
        level, _, _ = self.turn(view.turns)
        if level < (1 if question == "bob" else 2):
            return None
        if question == "bob":
            found = bob_scores(spec.embedding, view.keywords, hints, self.words)
        else:
            found = eve_scores(spec.embedding, view.turns, hints, self.words)
        return Said(CODES[int(literal_codes(found, spec.ladder.sharpness).argmax())])


class _Listener(_Reasoner):
    def guess(
        self, level: int, number: float, bob: Scores, eve: Scores, legal: Bools
    ) -> Said[Code]:
        found = guesses(self.spec.ladder, level, bob, eve, legal)
        return Said(CODES[drawn(softmax(self.spec.alpha * found), number)])

    def said(self, answer: Said[Code], hints: Hints, details: dict[str, Any] | None) -> Said[Code]:
        """Return an answer with what there is to note: the turn's level, hints without a vector."""
        found = dict(details or {})
        unknown = [hint for hint in hints if self.spec.embedding.hint_vector(hint) is None]
        if unknown:
            found["unknown_hints"] = unknown
        return Said(answer.value, details=found or None)


class RSADecoder(_Listener, Decoder):
    """Bob of a level."""

    async def decode(self, view: DecoderView) -> Said[Code]:
        """Draw a code by its probability."""
        level, (number,), details = self.turn(view.turns)
        bob, eve, legal = decoder_knows(self.spec.embedding, view, self.words)
        return self.said(self.guess(level, number, bob, eve, legal), view.hints, details)


class RSAInterceptor(_Listener, Interceptor):
    """Eve of a level."""

    async def intercept(self, view: InterceptorView) -> Said[Code]:
        """Draw a code by its probability."""
        level, (number,), details = self.turn(view.turns)
        bob, eve, legal = interceptor_knows(self.spec.embedding, view, self.words)
        return self.said(self.guess(level, number, bob, eve, legal), view.hints, details)


def _spec(player: DecryptoPlayer, lists: WordLists) -> RSASpec:
    options = {key: value for key, value in player.options.items() if key != "embedding"}
    level, alpha = options.pop("level"), options.pop("alpha")
    return RSASpec(player.embedding(lists), level, alpha, Ladder(**options))


def _short(text: str) -> dict[str, Any]:
    """Return the options of ``rsa:LEVEL`` and ``rsa:LEVEL:EMBEDDING``."""
    level, _, name = text.partition(":")
    if level not in map(str, LEVELS):
        raise TomevalError(f"player 'rsa:{text}': the level is 0, 1 or 2, such as rsa:2")
    return {"level": int(level)} | ({"embedding": name} if name else {})


RSA = PlayerKind(
    "reasons about the other seats to level 0, 1 or 2, over an embedding",
    DEFAULTS,
    {
        option: of_default(None if option == "level" else default, MEANINGS.get(option, ""))
        for option, default in DEFAULTS.items()
    },
    _spec,
    {"encoder": RSAEncoder, "decoder": RSADecoder, "interceptor": RSAInterceptor},
    _short,
)


def worths(
    embedding: Embedding,
    ladder: Ladder,
    level: int,
    view: EncoderView,
    given: tuple[str, ...],
    words: Words,
) -> Floats:
    """Return what each word is worth to Alice as her next hint, shape (words,).

    -inf for words against the rules: forms of a keyword and, if hints may not be repeated, hints
    that the digit has had. `given` are the turn's hints so far, fewer than three.
    """
    place = len(given)
    bob = bob_scores(embedding, view.keywords, given, words)
    eve = eve_scores(embedding, view.turns, given, words) if level > 1 else None
    sequence = PLACES[place][[CODES.index(view.code)]]
    worth = worths_of(ladder, level, bob, eve, place, sequence)[0]
    legal = legal_words(view.keywords, words)
    if view.rules.no_repeat_hints:
        had = {hint_letters(hint) for hint in hint_history(view.turns)[view.code[place] - 1]}
        legal = legal & np.array([letters not in had for letters in _all_letters(words)])
    return np.where(legal, worth, -np.inf)


def decoder_knows(
    embedding: Embedding, view: DecoderView, words: Words
) -> tuple[Scores, Scores, Bools]:
    """Return Bob's scores, Eve's as he works them out, and which words Alice may choose."""
    return (
        bob_scores(embedding, view.keywords, view.hints, words),
        eve_scores(embedding, view.turns, view.hints, words),
        legal_words(view.keywords, words),
    )


def interceptor_knows(
    embedding: Embedding, view: InterceptorView, words: Words
) -> tuple[Scores, Scores, Bools]:
    """Return Eve's scores in both parts, as she has no better idea of Bob's, and all words."""
    own = eve_scores(embedding, view.turns, view.hints, words)
    return own, own, np.ones(len(words), bool)


def bob_scores(
    embedding: Embedding, keywords: Keywords, hints: tuple[str, ...], words: Words
) -> Scores:
    """Return cosines with the keywords; 0 for hints without a vector."""
    digits = _keyword_vectors(embedding, keywords)
    given = digits @ hint_vectors(embedding, hints).T
    return Scores(_bank_scores(embedding, keywords, words), given)


def eve_scores(
    embedding: Embedding, turns: tuple[Turn, ...], hints: tuple[str, ...], words: Words
) -> Scores:
    """Return cosines with the mean of each digit's past hints; 0 for digits without any."""
    sums, bank = _history(embedding, turns, words)
    return Scores(bank, history_scores(hint_vectors(embedding, hints)[None], sums)[0].T)


def hint_vectors(embedding: Embedding, hints: tuple[str, ...]) -> Floats:
    """Return the vectors of hints, zero for those that the embedding does not know, (hints, d)."""
    found = np.zeros((len(hints), embedding.vectors.shape[1]))
    for row, hint in enumerate(hints):
        vector = embedding.hint_vector(hint)
        if vector is not None:
            found[row] = vector
    return found


@lru_cache(maxsize=64)
def legal_words(keywords: Keywords, words: Words) -> Bools:
    """Return which words are no form of a keyword, shape (words,)."""
    return np.asarray(~forms(keywords, words).any(axis=0))


@lru_cache(maxsize=64)
def _keyword_vectors(embedding: Embedding, keywords: Keywords) -> Floats:
    return np.stack([keyword_vector(embedding, keyword) for keyword in keywords])


@lru_cache(maxsize=64)
def _bank_scores(embedding: Embedding, keywords: Keywords, words: Words) -> Floats:
    return np.asarray(_keyword_vectors(embedding, keywords) @ _bank(embedding, words).T)


@lru_cache(maxsize=8)
def _history(embedding: Embedding, turns: tuple[Turn, ...], words: Words) -> tuple[Floats, Floats]:
    """Return the sums of the digits' past hints, (1, 4, d), and all words' scores, (4, words)."""
    sums = history_sums(embedding, turns)[None]
    return sums, np.ascontiguousarray(history_scores(_bank(embedding, words)[None], sums)[0].T)


@lru_cache(maxsize=8)
def _bank(embedding: Embedding, words: Words) -> Floats:
    return np.asarray(embedding.vectors[embedding.rows(words)])


@lru_cache(maxsize=8)
def _all_letters(words: Words) -> tuple[tuple[str, ...], ...]:
    return tuple(hint_letters(word) for word in words)


def _times(alpha: float, worth: Floats) -> Floats:
    """Return alpha times worths, of which -inf stays -inf also if alpha is 0."""
    return np.where(np.isfinite(worth), alpha * np.where(np.isfinite(worth), worth, 0.0), -np.inf)


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
