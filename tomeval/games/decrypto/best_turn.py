"""The best value that Alice can reach in a turn against embedding listeners, searched exactly.

A turn is worth 1 if Bob guesses the code and Eve does not, else 0. Embedding listeners are fixed
functions of the hints, so the best value is 1 if any three legal hints are worth 1. A bank of
5,000 hints has 10**11 triples; with a greedy Bob each place can be looked at by itself.

**What the listeners ask of hints.** Let c be the code and c' any other one. All scores are whole
numbers here (multiples of 2**-40), so what follows holds exactly, ties included.

- *Greedy.* Hints h1, h2, h3 give c if and only if each hi has its highest score, among the digits
  left, with ci. That is a condition on each place alone: hi lies in a set Si for Bob, Ti for Eve.
- *Assignment.* Let e(h, j) be Eve's score of hint h with digit j. She guesses c if and only if no
  c' has a higher total, or an equal one and comes before c: for every c', the sum over places of
  e(hi, ci) - e(hi, c'i) is at least n(c'), which is 1 where c' comes before c and 0 elsewhere.

**Eve must fail**, in one of several ways, each a sum over places that must stay under a limit:
for assignment, a way per c': the sum of e(hi, ci) - e(hi, c'i) is below n(c'); for greedy, a way
per place: minus one where hi is outside Ti, below 0. Call a place's term its *cost*.

For each of Eve's ways the least sum is the sum of the least costs within S1, S2 and S3. The answer
is 1 if and only if one is below its limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tomeval.games.decrypto.embedding_players import (
    CODE_DIGITS,
    Bools,
    EmbeddingSpec,
    Floats,
    Ints,
    bank_vectors,
    forms,
    history_scores,
    history_sums,
    keyword_vector,
    match,
)
from tomeval.games.decrypto.game import CODES, Hints, View
from tomeval.games.decrypto.stages import random_hints
from tomeval.games.game import Action, Ask, Probe
from tomeval.games.solver import Follower, Solver, Values, Weighed
from tomeval.lexicon.embeddings import SCORE_GRID
from tomeval.lexicon.words import WordLists

RANDOM = 20
"""Random hints that the best ones are weighed against."""

Positions = tuple[int, int, int]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class BestTurnSearch(Solver):
    """Searches turns against embedding listeners for hints that are worth 1.

    Bob is greedy. As a solver it looks as far as the coming turn, and weighs no single action.

    Examples
    --------
    >>> from tomeval.lexicon.embeddings import shipped_embedding
    >>> from tomeval.lexicon.words import shipped_lists
    >>> minilm = EmbeddingSpec(shipped_embedding("minilm"))
    >>> greedy = EmbeddingSpec(minilm.embedding, matching="greedy")
    >>> search = BestTurnSearch(shipped_lists(), greedy, minilm)
    >>> words = ("piano", "queen", "bread", "beach")
    >>> [search.search(View(words, code)) is not None for code in ((3, 1, 4), (1, 2, 3))]
    [True, False]

    The second is none because without history this Eve guesses 1-2-3, whatever the hints.
    """

    lists: WordLists
    bob: EmbeddingSpec
    eve: EmbeddingSpec

    def follow(self, view: View) -> Follower:
        """Return a follower of a new game, which searches every turn anew."""
        return _Follower(self)

    def search(self, view: View) -> Hints | None:
        """Return legal hints that are worth 1, in the code's order, or None."""
        bob_hints = bank_vectors(self.bob.embedding, self.lists)
        eve_hints = bank_vectors(self.eve.embedding, self.lists)
        keywords = [keyword_vector(self.bob.embedding, keyword) for keyword in view.keywords]
        sums = history_sums(self.eve.embedding, view.turns)
        positions = best_hints(
            bob_hints @ np.stack(keywords).T,
            history_scores(eve_hints[None], sums[None])[0],
            CODES.index(view.code),
            self.eve.matching,
            np.flatnonzero(~forms(view.keywords, self.lists.hints).any(axis=0)),
        )
        if positions is None:
            return None
        one, two, three = (self.lists.hints[position] for position in positions)
        return one, two, three

    def random_value(self, view: View, rng: np.random.Generator) -> float:
        """Return how often `RANDOM` random hints are worth 1."""
        drawn = [random_hints(view, self.lists.hints, rng) for _ in range(RANDOM)]

        def vectors(spec: EmbeddingSpec) -> Floats:
            rows = spec.embedding.rows([hint for hints in drawn for hint in hints])
            return np.asarray(spec.embedding.vectors[rows]).reshape(RANDOM, 3, -1)

        keywords = [keyword_vector(self.bob.embedding, keyword) for keyword in view.keywords]
        sums = history_sums(self.eve.embedding, view.turns)
        bob = match(vectors(self.bob) @ np.stack(keywords).T, self.bob.matching)
        eve = match(history_scores(vectors(self.eve), sums[None]), self.eve.matching)
        code = CODES.index(view.code)
        return float(((bob == code) & (eve != code)).mean())


class _Follower(Follower):
    def __init__(self, search: BestTurnSearch) -> None:
        self.search = search

    def values(self, view: View, ask: Ask) -> Values:
        return _TurnValues(self.search, view)


class _TurnValues(Values):
    def __init__(self, search: BestTurnSearch, view: View) -> None:
        self.search, self.view, self._best = search, view, float(search.search(view) is not None)

    @property
    def best(self) -> float:
        return self._best

    def weighed(
        self, action: Action, rng: np.random.Generator, said: Mapping[Probe, Action] | None = None
    ) -> Weighed:
        """Return the best value, beside the mean of random hints."""
        return Weighed(self.best, math.nan, self.search.random_value(self.view, rng))

    def of(self, action: Action) -> None:
        return None


def best_hints(
    bob: Floats, eve: Floats, code: int, matching: str, allowed: Ints | None = None
) -> Positions | None:
    """Return three hints from which a greedy Bob guesses the code and Eve does not, or None.

    Parameters
    ----------
    bob, eve : ndarray, shape (hints, 4)
        Each listener's scores of the bank with the digits, multiples of 2**-40.
    code : int
        Position in `CODES`.
    matching : str
        Eve's, see `MATCHINGS`.
    allowed : ndarray of int, optional
        Which hints may be given. Default: all.

    Raises
    ------
    ValueError
        Scores that are not multiples of 2**-40, whose ties would not be exact.
    """
    legal, whole = np.arange(len(bob)) if allowed is None else allowed, _whole(bob)
    among = [legal[_takes(whole, code, place)[legal]] for place in range(3)]
    if not all(at.size for at in among):
        return None
    for costs, limit in _ways(_whole(eve), code, matching):
        one, two, three = (
            int(at[cost[at].argmin()]) for at, cost in zip(among, costs, strict=True)
        )
        if costs[0][one] + costs[1][two] + costs[2][three] < limit:
            return one, two, three
    return None


def _whole(scores: Floats) -> Whole:
    whole = np.rint(scores * SCORE_GRID)
    if not np.array_equal(whole / SCORE_GRID, scores):
        raise ValueError("scores are not multiples of 2**-40; see lexicon.embeddings.on_score_grid")
    return np.asarray(whole.astype(np.int64))


def _takes(scores: Whole, code: int, place: int) -> Bools:
    """Return whether a greedy listener, right so far, gives each hint the place's digit."""
    digits = CODE_DIGITS[code]
    left = scores.copy()
    left[:, digits[:place]] = np.iinfo(np.int64).min
    return np.asarray(left.argmax(axis=1) == digits[place])


def _ways(eve: Whole, code: int, matching: str) -> Iterator[tuple[list[Whole], int]]:
    """Yield the ways for Eve to fail: costs of the whole bank by place, and their limit."""
    if matching == "greedy":
        for failing in range(3):
            costs = [np.zeros(len(eve), np.int64) for _ in range(3)]
            costs[failing] -= ~_takes(eve, code, failing)
            yield costs, 0
        return
    for other, digits in enumerate(CODE_DIGITS):
        if other != code:
            pairs = zip(CODE_DIGITS[code], digits, strict=True)
            yield [eve[:, own] - eve[:, wrong] for own, wrong in pairs], int(other < code)
