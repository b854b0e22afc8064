"""What players with an embedding compute of a board; kept while games are played on it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.arena.games.codenames.clues import Bank
from tomeval.lexicon.embedding_files import open_embedding
from tomeval.lexicon.words import WordLists

Floats = NDArray[np.float64]
Rough = NDArray[np.int16]
Words = tuple[str, ...]

ROUGH = 2**13
"""Rough cosines are counted in units of one over this."""
_KEPT = 2**25
"""The most bytes of rough cosines that are kept."""


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
        self._rows: dict[str, Rough] = {}
        self.rough = lru_cache(maxsize=16)(self._rough)
        self.legal = lru_cache(maxsize=16)(self._legal)
        self.clue = lru_cache(maxsize=4096)(self._clue)

    def __reduce__(self) -> tuple[type[Scores], tuple[str, WordLists, Bank]]:
        """Pickle without the cache."""
        return Scores, self._made_of

    def _vectors(self, words: Words) -> Floats:
        return np.asarray(self.embedding.vectors[self.embedding.rows(words)])

    def _legal(self, words: Words) -> Floats:
        """Return the cosines of board words with the bank's legal clues, (words, clues)."""
        return self.cosines(words, self.bank.legal(words))

    def cosines(self, words: Words, clues: NDArray[np.intp]) -> Floats:
        """Return the cosines of board words with clues of the bank, (words, clues)."""
        return np.asarray(self.vectors(words) @ self._clues[clues].T)

    def _rough(self, words: Words) -> tuple[Rough, ...]:
        """Return the cosines of board words with all clues of the bank in units, rounded down.

        They are kept word by word, since boards share words.
        """
        rows = self._rows
        new = tuple(word for word in words if word not in rows)
        if 2 * len(self._clues) * (len(rows) + len(new)) > _KEPT:
            self._rows = rows = {}
            new = words
        if new:
            units = np.floor(self._vectors(new) @ self._clues.T * ROUGH).astype(np.int16)
            rows.update(zip(new, units, strict=True))
        return tuple(rows[word] for word in words)

    def _clue(self, words: Words, clue: str) -> tuple[float, ...] | None:
        """Return the cosines of board words with any clue; None if the embedding lacks it."""
        vector = self.embedding.hint_vector(clue)
        return None if vector is None else tuple((self.vectors(words) @ vector).tolist())
