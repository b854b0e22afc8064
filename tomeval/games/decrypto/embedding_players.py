"""Embedding players: scores, matchings, the candidates of the encoder, and their seats.

After the word-embedding baselines of Lupu, Willi and Foerster 2025, arXiv 2506.20664. Scores lie on
a grid, see `lexicon.embeddings`, so that they are equal on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.decrypto.game import (
    CODES,
    Keywords,
    Turn,
    View,
    hint_history,
)
from tomeval.games.game import Ask
from tomeval.games.seats import Answer, Chair, Seat
from tomeval.lexicon.embeddings import Embedding, on_score_grid
from tomeval.lexicon.words import WordLists, hint_letters, traces

MATCHINGS = ("assignment", "greedy")
"""How a listener gives each hint a keyword of its own."""

ENCODER_DRAWS = 3 * len(CODES)
"""Uniform numbers that an encoder takes per game: three per turn, for the most turns of a game."""

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

CODE_DIGITS: Ints = np.array(CODES, np.intp) - 1
"""Digits of every code as positions 0 to 3, shape (24, 3)."""
_CODE_OF = np.full((4, 4, 4), -1, np.intp)
_CODE_OF[tuple(CODE_DIGITS.T)] = np.arange(len(CODES))


@dataclass(frozen=True)
class EmbeddingSpec:
    """An embedding player.

    Attributes
    ----------
    k : int
        Alice's candidates: for each digit the k legal hints nearest (cosine) to the keyword that
        the digit has not had. The reference says the same as a list that grows by one each time the
        digit comes up, from which a digit never gets a hint twice.
    matching : str
        Bob's and Eve's. With ``assignment``, the guess is the code with the highest total score, of
        equals the first in ascending order; with ``greedy``, each hint in order takes the best
        keyword left, of equals the lowest digit.
    """

    embedding: Embedding
    k: int = 16
    matching: str = "assignment"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise TomevalError(f"k must be a positive integer, is {self.k!r}")
        if self.matching not in MATCHINGS:
            raise unknown("matching", self.matching, MATCHINGS)


def match(scores: Floats, matching: str) -> Ints:
    """Return the codes that a listener guesses: positions in `CODES`, shape (games,).

    `scores` are of each hint with each digit, shape (games, 3, 4); for `matching` see
    `EmbeddingSpec`.

    Examples
    --------
    >>> scores = np.array([[[0.9, 0.8, 0, 0], [0.8, 0.1, 0, 0], [0, 0, 0, 0.5]]])
    >>> CODES[match(scores, "greedy")[0]], CODES[match(scores, "assignment")[0]]
    ((1, 2, 4), (2, 1, 4))
    """
    if matching == "assignment":
        one, two, three = CODE_DIGITS.T
        totals = scores[:, 0, one] + scores[:, 1, two] + scores[:, 2, three]
        return np.asarray(totals.argmax(axis=1))
    left = scores.copy()
    games = np.arange(len(scores))
    taken = np.empty((3, len(scores)), np.intp)
    for place in range(3):
        taken[place] = left[:, place].argmax(axis=1)
        left[games, :, taken[place]] = -np.inf
    return np.asarray(_CODE_OF[taken[0], taken[1], taken[2]])


def history_scores(hints: Floats, sums: Floats) -> Floats:
    """Return Eve's scores: the cosine of each hint with the mean of each digit's past hints.

    Parameters
    ----------
    hints : ndarray, shape (games, 3, d)
        Unit vectors of the new hints.
    sums : ndarray, shape (games, 4, d)
        Sum of the unit vectors of each digit's past hints; zero for a digit without any.

    Returns
    -------
    ndarray, shape (games, 3, 4)
        On the score grid; 0 for a digit without history.
    """
    length = np.sqrt((sums * sums).sum(axis=-1))[:, None, :]
    products = hints @ sums.transpose(0, 2, 1)
    cosines = np.divide(products, length, out=np.zeros_like(products), where=length > 0)
    return on_score_grid(cosines)


@lru_cache(maxsize=16)
def bank_vectors(embedding: Embedding, lists: WordLists) -> Floats:
    """Return the vectors of all hints of the bank, shape (hints, d); every word must have one."""
    embedding.rows(lists.keywords)
    return np.asarray(embedding.vectors[embedding.rows(lists.hints)])


def forms(keywords: Sequence[str], hints: tuple[str, ...]) -> Bools:
    """Return whether each hint is a form of each keyword by `hint_fault`, shape (4, hints).

    Examples
    --------
    >>> forms(("run", "cat"), ("runner", "cats", "catkin")).tolist()
    [[True, False, False], [False, True, False]]
    """
    places = _hints_by_stem(hints)
    is_form = np.zeros((len(keywords), len(hints)), bool)
    for row, keyword in enumerate(keywords):
        for stem in traces(keyword):
            is_form[row, places.get(stem, [])] = True
    return is_form


@lru_cache(maxsize=16)
def _hints_by_stem(hints: tuple[str, ...]) -> dict[str, list[int]]:
    by_stem: dict[str, list[int]] = {}
    for index, hint in enumerate(hints):
        for stem in traces(hint):
            by_stem.setdefault(stem, []).append(index)
    return by_stem


class EmbeddingEncoder(Seat):
    """Alice: draws a hint from those nearest to the keyword; see `EmbeddingSpec`."""

    def __init__(self, chair: Chair, spec: EmbeddingSpec, lists: WordLists) -> None:
        self.spec, self.lists = spec, lists
        self._draws = chair.rng.random(ENCODER_DRAWS)

    async def answer(self, view: View, ask: Ask) -> Answer:
        """Draw a hint for each digit of the code; asked again in a turn, draw the same."""
        return Answer(tuple(self._hint(view, place) for place in range(3)))

    def _hint(self, view: View, place: int) -> str:
        digit = view.code[place] - 1
        history = hint_history(view.turns)[digit]
        ranked = _ranked(self.spec.embedding, self.lists, view.keywords)[digit]
        near = (self.lists.hints[hint] for hint in ranked[: self.spec.k + len(history)].tolist())
        had = {hint_letters(hint) for hint in history}
        candidates: list[str] = [hint for hint in near if hint_letters(hint) not in had]
        if not candidates:
            raise TomevalError(f"the hint bank has no hint left for {view.keywords[digit]!r}")
        draw = self._draws[3 * len(view.turns) + place]
        return candidates[int(draw * len(candidates))]


@lru_cache(maxsize=64)
def _ranked(embedding: Embedding, lists: WordLists, keywords: Keywords) -> list[Ints]:
    """Return each keyword's legal hints, nearest first; of equals, as listed."""
    legal = np.asarray(~forms(keywords, lists.hints).any(axis=0))
    return [row[legal[row]] for row in (_by_nearness(embedding, lists, one) for one in keywords)]


@lru_cache(maxsize=1024)
def _by_nearness(embedding: Embedding, lists: WordLists, keyword: str) -> Ints:
    """Return the bank by its scores with a keyword."""
    # Of one vector, BLAS would wake its threads, which takes longer than the sum.
    vector = keyword_vector(embedding, keyword)
    scores = np.einsum("hd,d->h", bank_vectors(embedding, lists), vector)
    return np.argsort(-scores, kind="stable")


class EmbeddingListener(Seat):
    """Bob matches hints with keywords, Eve with each digit's past hints; see `EmbeddingSpec`.

    A hint without a vector scores 0 and is named in the details.
    """

    def __init__(self, spec: EmbeddingSpec) -> None:
        self.spec = spec

    async def answer(self, view: View, ask: Ask) -> Answer:
        """Match the hints."""
        embedding = self.spec.embedding
        known = [embedding.hint_vector(hint) for hint in view.hints]
        nothing = np.zeros(embedding.vectors.shape[1])
        vectors = np.stack([nothing if vector is None else vector for vector in known])
        if view.keywords is not None:
            keywords = [keyword_vector(embedding, keyword) for keyword in view.keywords]
            scores = (vectors @ np.stack(keywords).T)[None]
        else:
            scores = history_scores(vectors[None], history_sums(embedding, view.turns)[None])
        unknown = [hint for hint, vector in zip(view.hints, known, strict=True) if vector is None]
        details = {"unknown_hints": unknown} if unknown else None
        return Answer(CODES[int(match(scores, self.spec.matching)[0])], details=details)


def history_sums(embedding: Embedding, turns: tuple[Turn, ...]) -> Floats:
    """Return the sum of the vectors of each digit's past hints, shape (4, d).

    A hint without a vector adds nothing.
    """
    sums = np.zeros((4, embedding.vectors.shape[1]))
    for digit, hints in enumerate(hint_history(turns)):
        for hint in hints:
            vector = embedding.hint_vector(hint)
            if vector is not None:
                sums[digit] += vector
    return sums


def keyword_vector(embedding: Embedding, keyword: str) -> Floats:
    """Return a keyword's vector, found as for hints; without one, a `TomevalError` names it."""
    vector = embedding.hint_vector(keyword)
    if vector is None:
        embedding.rows([keyword])  # raises, with a near match
        raise AssertionError(keyword)
    return vector
