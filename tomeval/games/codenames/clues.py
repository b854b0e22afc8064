"""Which clues are legal beside a board, by our rule or TextArena 0.7.4's; and cosines of clues."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.lexicon.embeddings import open_embedding
from tomeval.lexicon.words import WordLists, fold, is_word, shipped_vocabulary, stems, traces

Floats = NDArray[np.float64]
Words = tuple[str, ...]

OWN, TEXTARENA = "own", "textarena-0.7.4"
RULES = (OWN, TEXTARENA)

_PART = 3
"""Letters of the shortest part of a compound."""
_TEXTARENA_WORD = re.compile(r"\w+")


@cache
def _known() -> frozenset[str]:
    """Return the words that parts of compounds are looked up in."""
    return frozenset(fold(word) for word in shipped_vocabulary())


@lru_cache(maxsize=65536)
def parts(word: str) -> frozenset[str]:
    """Return the two words that a compound is written from, with what they are forms of.

    A compound splits into two words of three letters or more that the shipped vocabulary has.

    Examples
    --------
    >>> sorted(parts("horseback")), parts("sword"), "box" in parts("mailboxes")
    (['back', 'horse'], frozenset(), True)
    """
    shown: set[str] = set()
    for whole in traces(word):
        for cut in range(_PART, len(whole) - _PART + 1):
            first, second = whole[:cut], whole[cut:]
            if first in _known() and second in _known():
                shown |= stems(first) | stems(second)
    return frozenset(shown)


def conflict(clue: str, word: str, rules: str = OWN) -> bool:
    """Return whether a clue gives a board word away by its letters.

    Our rule: it is the word or a form of it (`tomeval.lexicon.words.is_form`), or one of the two is
    a part of the other, a compound. TextArena's: one contains the other, letter by letter and case
    by case.

    Examples
    --------
    >>> conflict("horses", "horseback"), conflict("or", "sword"), conflict("Sea", "sea")
    (True, False, True)
    >>> conflict("or", "sword", TEXTARENA), conflict("Sea", "sea", TEXTARENA)
    (True, False)
    """
    if rules == TEXTARENA:
        return clue in word or word in clue
    ours, theirs = traces(clue), traces(word)
    if not (ours.isdisjoint(theirs) and theirs.isdisjoint(parts(clue))):
        return True
    return not ours.isdisjoint(parts(word))


def clue_fault(clue: str, words: Iterable[str], rules: str = OWN) -> tuple[str, str] | None:
    """Return the type of error and a sentence if a clue may not be given beside a board.

    Examples
    --------
    >>> clue_fault("deep sea", ["oak"])[0], clue_fault("oaks", ["oak"]), clue_fault("sea", ["oak"])
    ('format', ('rule', "the clue 'oaks' gives away the board word 'oak'"), None)
    """
    fits = _TEXTARENA_WORD.fullmatch(clue) is not None if rules == TEXTARENA else is_word(clue)
    if not fits:
        return "format", f"the clue {clue[:60]!r} is not one word"
    for word in words:
        if conflict(clue, word, rules):
            return "rule", f"the clue {clue!r} gives away the board word {word!r}"
    return None


class Bank:
    """The clues that scripted players choose from, and which of them are legal beside a board."""

    def __init__(self, clues: Sequence[str], rules: str) -> None:
        self.clues, self.rules = tuple(clues), rules
        self._unfit = [i for i, clue in enumerate(clues) if clue_fault(clue, (), rules)]
        self.legal = lru_cache(maxsize=256)(self._legal)
        self._giving = lru_cache(maxsize=65536)(self._find_giving)

    def __reduce__(self) -> tuple[type[Bank], tuple[tuple[str, ...], str]]:
        """Pickle without the cache."""
        return Bank, (self.clues, self.rules)

    def _legal(self, words: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the places of the clues that are legal beside these words, in their order."""
        kept = np.ones(len(self.clues), bool)
        kept[[*self._unfit, *itertools.chain(*map(self._giving, words))]] = False
        return np.flatnonzero(kept)

    def _find_giving(self, word: str) -> list[int]:
        """Return the places of the clues that give a board word away."""
        return [i for i, clue in enumerate(self.clues) if conflict(clue, word, self.rules)]


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
