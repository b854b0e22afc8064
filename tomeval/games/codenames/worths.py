"""Cosines of a board with clues, and what clues are worth; see `policies.EmbeddingPlayer`.

Of a bank's thousands of clues only those are weighed exactly that can be best by rounded cosines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tomeval.games.codenames.board import members
from tomeval.games.game import Action

if TYPE_CHECKING:
    from tomeval.games.codenames.policies import EmbeddingPlayer
from functools import lru_cache

from tomeval.games.codenames.clues import Bank
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


ROUGH_TO = 1.9
"""Below this caution and gain together leave rough worths within the range of their type."""
ROUGH_ERROR = 4
"""Units that two rough worths may be wrong by together: two cosines and two options each."""
FEW = 64
"""So many clues are looked at one by one at most."""


def best_clue(
    policy: EmbeddingPlayer,
    scores: Scores,
    words: Words,
    clues: Sequence[str],
    mine: Sequence[int],
    others: int,
    assassin: int,
    most: int,
) -> Action:
    """Return the first clue and number that are worth most, with the words meant; see `worth`."""
    best, highest = ("", list(mine)), -math.inf
    for clue in clues:
        cosines = scores.clue(words, clue)
        assert cosines is not None
        near = sorted(mine, key=cosines.__getitem__, reverse=True)
        bad = max([cosines[place] for place in members(others & ~assassin)], default=-1.0)
        bad = max([bad, *[cosines[place] + policy.caution for place in members(assassin)]])
        for number, place in enumerate(near[:most], 1):
            value = cosines[place] - bad + policy.risk * number
            if value > highest:
                best, highest = (clue, near[:number]), value
    clue, meant = best
    return clue, len(meant), *(words[place] for place in sorted(meant))


def rough_worth(
    policy: EmbeddingPlayer,
    rows: Sequence[Rough],
    mine: Sequence[int],
    others: int,
    assassin: int,
    most: int,
) -> Rough:
    """Return what every clue of the bank is worth for the best number, in units of `ROUGH`."""
    gains = (round(policy.risk * n * ROUGH) for n in range(1, most + 1))
    near = _sorted_rows([rows[place] for place in mine])
    best = reduce(np.maximum, (row + gain for row, gain in zip(near, gains, strict=False)))
    bad = [rows[place] for place in members(others & ~assassin)]
    bad = bad or [np.full_like(best, -ROUGH)]
    bad += [rows[place] + round(policy.caution * ROUGH) for place in members(assassin)]
    return best - reduce(np.maximum, bad)


def worth(
    policy: EmbeddingPlayer,
    table: NDArray[np.float64],
    mine: list[int],
    others: int,
    assassin: int,
    most: int,
) -> NDArray[np.float64]:
    """Return what every clue is worth for 1, 2, ... words, shape (numbers, clues)."""
    near = np.array(_sorted_rows(list(table[mine])))[:most]
    rest = list(members(others & ~assassin))
    bad = np.full(table.shape[1], -1.0)
    if rest:
        bad = table[rest].max(axis=0)
    for place in members(assassin):
        bad = np.maximum(bad, table[place] + policy.caution)
    return np.asarray(near - bad + policy.risk * np.arange(1, len(near) + 1)[:, None])


def _sorted_rows(rows: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Sort every column, highest first: few rows, so that whole rows are compared."""
    for upper, lower in _comparisons(len(rows)):
        high, low = rows[upper], rows[lower]
        rows[upper], rows[lower] = np.maximum(high, low), np.minimum(high, low)
    return rows


@cache
def _comparisons(count: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of places whose comparison, one after the other, sorts (Batcher's merges).

    Examples
    --------
    >>> _comparisons(3)
    ((0, 1), (0, 2), (1, 2))
    """
    pairs, block = [], 1
    while block < count:
        step = block
        while step:
            for first in range(step % block, count - step, 2 * step):
                for low in range(first, min(first + step, count - step)):
                    if low // (2 * block) == (low + step) // (2 * block):
                        pairs.append((low, low + step))
            step //= 2
        block *= 2
    return tuple(pairs)
