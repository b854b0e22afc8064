"""Words of Codenames: legal clues by our rule or TextArena 0.7.4's, cosines, and hits of probes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.games.codenames.state import CodenamesView, State
from tomeval.games.game import Broken, Probe, Stage
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


def probe_fault(view: CodenamesView, probe: Probe, words: Words) -> Broken | None:
    """Return how the words of an answer cannot be true; None if they can."""
    covered = view.covered
    for word in words:
        if word not in covered:
            return Broken("target", f"{word[:60]!r} is not a covered board word")
    if len(set(words)) < len(words):
        return Broken("rule", "a word is named twice")
    if probe.name == "assassin" and len(words) != 1:
        return Broken("format", "exactly one word is needed")
    if probe.name == "takes" and len(words) > probe.given[1] + 1:
        return Broken("rule", f"at most {probe.given[1] + 1} words can be taken")
    return None


def meant_words(mate: int, trail: Sequence[Stage[State]]) -> Words | None:
    """Return the words that the last clue of a spymaster named; None if it named none."""
    clue = next(stage.actions[mate] for stage in reversed(trail) if mate in stage.actions)
    return tuple(clue[2:]) if clue and len(clue) > 2 else None


def taken_words(mate: int, trail: Sequence[Stage[State]], end: State) -> Words | None:
    """Return the words that an operative uncovers first in what follows; the last may be wrong.

    None if the game ends before the first guess, or by a broken rule.
    """
    words: list[str] = []
    for stage in trail:
        if stage.actions.get(mate) is None:  # a pass, or the other team's turn
            return tuple(words)
        words.append(stage.actions[mate])
    return None if end.ending == "forfeit" or not trail else tuple(words)


def common_start(said: Words, truth: Words) -> float:
    """Return the length of the common start of two sequences over that of the longer one.

    Two empty sequences agree.

    Examples
    --------
    >>> common_start(("a", "b", "c"), ("a", "b")), common_start(("b", "a"), ("a", "b"))
    (0.6666666666666666, 0.0)
    """
    length = max(len(said), len(truth))
    same = 0
    while same < min(len(said), len(truth)) and said[same] == truth[same]:
        same += 1
    return same / length if length else 1.0


def overlap(said: Words, truth: Words) -> float:
    """Return how many words two sets share, over the size of the larger one.

    Two empty sets agree.

    Examples
    --------
    >>> overlap(("a", "b", "c"), ("b", "a")), overlap((), ())
    (0.6666666666666666, 1.0)
    """
    length = max(len(said), len(truth))
    return len(set(said) & set(truth)) / length if length else 1.0


def best_set(chances: Mapping[Words, float]) -> tuple[Words, float]:
    """Return the set that scores most by `overlap` in expectation, and its score.

    For each size every word adds to the score by itself, so the best set of a size is that of the
    words that add most.

    Examples
    --------
    >>> best_set({("a", "b"): 0.6, ("a",): 0.4})
    (('a', 'b'), 0.8)
    """
    best: tuple[Words, float] = ((), chances.get((), 0.0))
    for size in range(1, max(map(len, chances)) + 1):
        shares: dict[str, float] = {}
        for words, chance in chances.items():
            for word in words:
                shares[word] = shares.get(word, 0.0) + chance / max(size, len(words))
        words = tuple(sorted(shares, key=lambda word: -shares[word])[:size])
        score = sum(shares[word] for word in words)
        if score > best[1] + 1e-12:
            best = (words, score)
    return best
