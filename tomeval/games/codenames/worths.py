"""Cosines of a board with clues, and which clues a greedy operative tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tomeval.games.codenames.board import members
from tomeval.games.codenames.clues import Bank
from tomeval.games.game import Action
from tomeval.lexicon.embedding_files import open_embedding
from tomeval.lexicon.words import WordLists

if TYPE_CHECKING:
    from tomeval.games.codenames.policies import EmbeddingPlayer
    from tomeval.games.codenames.rules import Codenames
    from tomeval.games.codenames.state import State

Floats = NDArray[np.float64]
Words = tuple[str, ...]


class Scores:
    """Cosines of board words with clues, on the grid of `tomeval.lexicon.embeddings`.

    They are exact, so that no result depends on the order of sums.
    """

    def __init__(self, name: str, lists: WordLists, bank: Bank) -> None:
        self._made_of = name, lists, bank
        self.embedding = open_embedding(name, lists)
        self.bank = bank
        self._clues = self.embedding.vectors[self.embedding.rows(bank.clues)]
        self.vectors = lru_cache(maxsize=64)(self._vectors)
        self.legal = lru_cache(maxsize=16)(self._legal)
        self.clue = lru_cache(maxsize=4096)(self._clue)

    def __reduce__(self) -> tuple[type[Scores], tuple[str, WordLists, Bank]]:
        """Pickle without the cache."""
        return Scores, self._made_of

    def _vectors(self, words: Words) -> Floats:
        return np.asarray(self.embedding.vectors[self.embedding.rows(words)])

    def _legal(self, words: Words) -> Floats:
        """Return the cosines of board words with the bank's legal clues, (words, clues)."""
        return np.asarray(self.vectors(words) @ self._clues[self.bank.legal(words)].T)

    def _clue(self, words: Words, clue: str) -> tuple[float, ...] | None:
        """Return the cosines of board words with any clue; None if the embedding lacks it."""
        vector = self.embedding.hint_vector(clue)
        return None if vector is None else tuple((self.vectors(words) @ vector).tolist())


def greedy_clues(
    game: Codenames, mate: EmbeddingPlayer, state: State, seat: int
) -> Sequence[Action]:
    """Return one clue for every set of words that a greedy operative can be led to take.

    Those come first that find most own words, and of these those without a wrong one; of clues with
    equal outcomes the first of the bank. From as many guesses on as words are left, higher numbers
    change nothing: the operative goes on until the game is over or it is wrong.
    """
    words, own = state.board.words, state.board.masks[seat // 2] & state.covered
    legal = game.legal_clues(words)
    covered = np.array(members(state.covered))
    table = game.scores(mate.embedding).legal(words)[covered]
    order = covered[np.argsort(-table, axis=0, kind="stable")]
    length = np.cumprod((own >> order) & 1, axis=0).sum(axis=0)  # own words before another one
    sets = np.cumsum(1 << order, axis=0)
    found: dict[int, Action] = {}
    most = min(game.parameters.number, max(1, own.bit_count() - mate.extra))
    for number in range(1, most + 1):
        guesses = np.minimum(number + mate.extra, np.minimum(length + 1, len(covered)))
        taken = sets[guesses - 1, np.arange(len(legal))]
        masks, columns = np.unique(taken, return_index=True)
        for mask, column in zip(masks.tolist(), columns.tolist(), strict=True):
            found.setdefault(mask, (game.bank.clues[legal[column]], number))
    return [
        found[mask]
        for mask in sorted(found, key=lambda m: (-(m & own).bit_count(), (m & ~own).bit_count()))
    ]
