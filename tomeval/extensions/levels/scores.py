"""What each seat knows of words: cosines with keywords and past hints, and their worth."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tomeval.domains.decrypto.embedding_players import (
    Bools,
    Floats,
    forms,
    history_scores,
    history_sums,
    keyword_vector,
)
from tomeval.domains.decrypto.game import (
    CODES,
    DecoderView,
    EncoderView,
    InterceptorView,
    Keywords,
    Turn,
    hint_history,
)
from tomeval.extensions.levels.ladder import PLACES, Scores, worths_of
from tomeval.lexicon.embeddings import Embedding
from tomeval.lexicon.forms import hint_letters

Words = tuple[str, ...]


def worths(
    embedding: Embedding,
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
    worth = worths_of(level, bob, eve, place, sequence)[0]
    legal = legal_words(view.keywords, words)
    if view.rules.no_repeat_hints:
        had = {hint_letters(hint) for hint in hint_history(view.turns)[view.code[place] - 1]}
        legal = legal & np.array([letters not in had for letters in _all_letters(words)])
    return np.where(legal, worth, -np.inf)


def listener_knows(
    embedding: Embedding, view: DecoderView | InterceptorView, words: Words
) -> tuple[Scores, Scores, Bools]:
    """Return a listener's scores, Eve's as it works them out, and which words Alice may choose.

    Eve has no better idea of Bob's scores than her own, nor of the keywords, so any word may be
    chosen.
    """
    eve = eve_scores(embedding, view.turns, view.hints, words)
    if isinstance(view, InterceptorView):
        return eve, eve, np.ones(len(words), bool)
    bob = bob_scores(embedding, view.keywords, view.hints, words)
    return bob, eve, legal_words(view.keywords, words)


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
    vectors = np.zeros((len(hints), embedding.vectors.shape[1]))
    for row, hint in enumerate(hints):
        vector = embedding.hint_vector(hint)
        if vector is not None:
            vectors[row] = vector
    return vectors


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
