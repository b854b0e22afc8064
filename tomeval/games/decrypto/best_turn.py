"""The best value that Alice can reach in a turn against embedding listeners, searched exactly.

A turn is worth 1 if Bob guesses the code and Eve does not, else 0. Embedding listeners are fixed
functions of the hints, so the best value is 1 if any three legal hints are worth 1. A bank of
5,000 hints has 10**11 triples; the search looks at few of them and misses none.

**What the listeners ask of hints.** Let c be the code, c' any other one, and b(h, j) and e(h, j)
Bob's and Eve's scores of hint h with digit j. All are whole numbers here (multiples of 2**-40), so
what follows holds exactly, ties included.

- *Greedy.* Hints h1, h2, h3 give c if and only if each hi has its highest score, among the digits
  left, with ci. That is a condition on each place alone: hi lies in a set Si (Ti for Eve).
- *Assignment.* The guess is c if and only if no c' has a higher total, or an equal one and comes
  before c: for every c', the sum over places of b(hi, ci) - b(hi, c'i) is at least n(c'), which is
  1 where c' comes before c and 0 elsewhere.

**Eve must fail**, in one of several ways, each a sum over places that must stay under a limit:
for assignment, a way per c': the sum of e(hi, ci) - e(hi, c'i) is below n(c'); for greedy, a way
per place: minus one where hi is outside Ti, below 0. Call a place's term its *cost*.

**Bob greedy.** His conditions are on each place alone, so for each of Eve's ways the least sum is
the sum of the least costs within S1, S2 and S3. The answer is 1 if and only if one is below its
limit.

**Bob with assignment.** Hints that score strictly highest with their own digit meet all of his
conditions in any combination. If the least costs among them sum to less than a limit, the answer is
1; with the shipped words only a turn that no hints can win comes further. Else, for each of Eve's
ways:

1. *Bounds.* Triples that are worth 1 have a sum of costs below the limit and, if Eve too assigns, a
   sum of b(hi, ci) - b(hi, c'i) of at least n(c'), so that the difference of the two sums is below
   the limit less n(c'). A hint that cannot come below with the least terms of the other two places
   is left out.
2. *Dominance.* At one place, let h' have differences b(h', ci) - b(h', j) at least those of h for
   every digit j, and no higher cost. Replacing h by h' keeps Bob's sums at least as high and Eve's
   at most as high; so if a triple with h is worth 1, so is the one with h'. It is enough to
   search the hints that no other dominates (of equal ones, one).
3. *Triples.* All that are left are tried: for two hints, what remains to be asked of the third is a
   highest cost and, for each digit j, a least difference, the largest of n(c') minus the first two
   differences over all c' with c'3 = j.

Steps 1 and 2 skip only triples that cannot be worth 1 or that have a substitute; so the search
finds a triple if there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tomeval.games.decrypto.embedding_players import (
    CODE_DIGITS,
    Bools,
    Floats,
    Ints,
    ListenerSpec,
    bank_vectors,
    forms,
    history_scores,
    history_sums,
    keyword_vector,
    match,
)
from tomeval.games.decrypto.game import CODES, Hints, View, hint_history
from tomeval.games.decrypto.stages import random_hints
from tomeval.games.game import Action, Ask, Probe
from tomeval.games.solver import Bound, Follower, Solver, Values, Weighed
from tomeval.lexicon.embeddings import SCORE_GRID
from tomeval.lexicon.words import WordLists, hint_letters

RANDOM = 20
"""Random hints that the best ones are weighed against."""

Positions = tuple[int, int, int]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class BestTurnSearch(Solver):
    """Searches turns against two embedding listeners; called with a view, gives the best value.

    As a solver it looks as far as the coming turn, and knows nothing of single actions.

    Examples
    --------
    >>> from tomeval.lexicon.embeddings import shipped_embedding
    >>> from tomeval.lexicon.words import shipped_lists
    >>> minilm = ListenerSpec(shipped_embedding("minilm"))
    >>> search = BestTurnSearch(shipped_lists(), minilm, minilm)
    >>> words = ("piano", "queen", "bread", "beach")
    >>> search(View(words, (3, 1, 4))), search(View(words, (1, 2, 3)))
    (1.0, 0.0)

    The second is 0 because without history this Eve guesses 1-2-3, whatever the hints.
    """

    lists: WordLists
    bob: ListenerSpec
    eve: ListenerSpec

    def __call__(self, view: View) -> float:
        """Return the best value of the coming turn."""
        return float(self.search(view) is not None)

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
            (self.bob.matching, self.eve.matching),
            [self._allowed(view, place) for place in range(3)],
        )
        if positions is None:
            return None
        one, two, three = (self.lists.hints[position] for position in positions)
        return one, two, three

    def random_value(self, view: View, rng: np.random.Generator) -> float:
        """Return how often `RANDOM` random hints are worth 1."""
        drawn = [random_hints(view, self.lists.hints, rng) for _ in range(RANDOM)]

        def vectors(spec: ListenerSpec) -> Floats:
            rows = spec.embedding.rows([hint for hints in drawn for hint in hints])
            return np.asarray(spec.embedding.vectors[rows]).reshape(RANDOM, 3, -1)

        keywords = [keyword_vector(self.bob.embedding, keyword) for keyword in view.keywords]
        sums = history_sums(self.eve.embedding, view.turns)
        bob = match(vectors(self.bob) @ np.stack(keywords).T, self.bob.matching)
        eve = match(history_scores(vectors(self.eve), sums[None]), self.eve.matching)
        code = CODES.index(view.code)
        return float(((bob == code) & (eve != code)).mean())

    def _allowed(self, view: View, place: int) -> Ints:
        legal = np.asarray(~forms(view.keywords, self.lists.hints).any(axis=0))
        if view.rules.no_repeat_hints:
            had = {hint_letters(hint) for hint in hint_history(view.turns)[view.code[place] - 1]}
            if had:
                legal &= np.array([hint_letters(hint) not in had for hint in self.lists.hints])
        return np.flatnonzero(legal)


class _Follower(Follower):
    def __init__(self, search: BestTurnSearch) -> None:
        self.search = search

    def values(self, view: View, ask: Ask) -> Values:
        return _TurnValues(self.search, view)


class _TurnValues(Values):
    best = Bound(0.0, 1.0)

    def __init__(self, search: BestTurnSearch, view: View) -> None:
        self.search, self.view, found = search, view, search(view)
        self.best = Bound(found, found)

    def weighed(
        self, action: Action, rng: np.random.Generator, said: Mapping[Probe, Action] | None = None
    ) -> Weighed:
        """Return the best value, beside the mean of random hints."""
        random = self.search.random_value(self.view, rng)
        return Weighed(self.best.low, math.nan, random)

    def of(self, action: Action) -> Bound:
        return Bound(0.0, 1.0)


def best_hints(
    bob: Floats,
    eve: Floats,
    code: int,
    matchings: tuple[str, str],
    allowed: Sequence[Ints] | None = None,
) -> Positions | None:
    """Return three hints from which Bob guesses the code and Eve does not, or None.

    Parameters
    ----------
    bob, eve : ndarray, shape (hints, 4)
        Each listener's scores of the bank with the digits, multiples of 2**-40.
    code : int
        Position in `CODES`.
    matchings : (str, str)
        Bob's and Eve's, see `MATCHINGS`.
    allowed : sequence of 3 arrays of int, optional
        Which hints each place may take. Default: all.

    Raises
    ------
    ValueError
        Scores that are not multiples of 2**-40, whose ties would not be exact.
    """
    allowed = [np.arange(len(bob))] * 3 if allowed is None else list(allowed)
    places = [np.asarray(place, np.intp) for place in allowed]
    whole_bob, whole_eve = _whole(bob), _whole(eve)
    differences = _differences(whole_bob, code)
    ways = list(_ways(whole_eve, code, matchings[1]))
    if matchings[0] == "greedy":
        takes = [_takes(whole_bob, code, place) for place in range(3)]
    else:
        others = [np.delete(rows, CODE_DIGITS[code][i], 1) for i, rows in enumerate(differences)]
        takes = [np.asarray((rows > 0).all(axis=1)) for rows in others]
    sure = [at[taken[at]] for at, taken in zip(places, takes, strict=True)]
    for way in ways:
        if (chosen := way.cheapest(sure)) is not None:
            return chosen
    if matchings[0] == "greedy":
        return None
    tried = (_search(differences, way, places, code) for way in ways)
    return next((chosen for chosen in tried if chosen is not None), None)


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


def _differences(scores: Whole, code: int) -> list[Whole]:
    """Return, for each place, every hint's score with its digit, less that with every digit."""
    return [scores[:, [digit]] - scores for digit in CODE_DIGITS[code]]


@dataclass(frozen=True)
class _Way:
    """One way for Eve to fail: the sum of a cost per place is below the limit.

    `costs` are of the whole bank; `other` is the code that she must prefer, None for a greedy Eve.
    """

    costs: list[Whole]
    limit: int
    other: int | None = None

    def cheapest(self, among: Sequence[Ints]) -> Positions | None:
        """Return each place's hint of least cost among some, if Eve fails with these."""
        if any(at.size == 0 for at in among):
            return None
        one, two, three = (
            int(at[cost[at].argmin()]) for at, cost in zip(among, self.costs, strict=True)
        )
        total = self.costs[0][one] + self.costs[1][two] + self.costs[2][three]
        return (one, two, three) if total < self.limit else None


def _ways(eve: Whole, code: int, matching: str) -> Iterator[_Way]:
    if matching == "greedy":
        for failing in range(3):
            costs = [np.zeros(len(eve), np.int64) for _ in range(3)]
            costs[failing] -= ~_takes(eve, code, failing)
            yield _Way(costs, 0)
        return
    differences = _differences(eve, code)
    for other, digits in enumerate(CODE_DIGITS):
        if other != code:
            costs = [rows[:, digit] for rows, digit in zip(differences, digits, strict=True)]
            yield _Way(costs, _before(code, other), other)


def _before(code: int, other: int) -> int:
    """Return n(c'): 1 if the other code wins a tie, else 0."""
    return int(other < code)


def _search(differences: list[Whole], way: _Way, places: list[Ints], code: int) -> Positions | None:
    """Search one way with an assigning Bob: bounds, dominance, triples."""
    terms, limits = [way.costs], [way.limit]
    if way.other is not None:
        digits = zip(way.costs, differences, CODE_DIGITS[way.other], strict=True)
        terms.append([cost - rows[:, digit] for cost, rows, digit in digits])
        limits.append(way.limit - _before(code, way.other))
    for term, limit in zip(terms, limits, strict=True):
        if any(at.size == 0 for at in places):
            return None
        own = [values[at] for values, at in zip(term, places, strict=True)]
        spare = limit - sum(int(values.min()) for values in own)
        places = [at[v - v.min() < spare] for at, v in zip(places, own, strict=True)]
    left = [
        at[undominated(np.column_stack([rows[at], -cost[at]]))]
        for at, rows, cost in zip(places, differences, way.costs, strict=True)
    ]
    second, third = (rows[at] for rows, at in zip(differences[1:], left[1:], strict=True))
    costs = [cost[at] for cost, at in zip(way.costs, left, strict=True)]
    for one, cost in zip(left[0], costs[0], strict=True):
        asked = np.full((len(second), 4), np.iinfo(np.int64).min)
        for other, (i, j, k) in enumerate(CODE_DIGITS):
            if other != code:
                least = _before(code, other) - differences[0][one, i] - second[:, j]
                np.maximum(asked[:, k], least, out=asked[:, k])
        allowed = way.limit - cost - costs[1]
        some = (asked <= third.max(axis=0)).all(axis=1) & (costs[2].min() < allowed)
        fits = costs[2] < allowed[some, None]
        for digit in range(4):
            fits &= third[:, digit] >= asked[some][:, [digit]]
        if fits.any():
            two, three = np.argwhere(fits)[0]
            return int(one), int(left[1][some][two]), int(left[2][three])
    return None


def undominated(good: Whole) -> Ints:
    """Return the rows that no other is at least as high as in every column; of equal ones, one."""
    left = np.lexsort(good.T[::-1])[::-1]  # whoever dominates another comes before it
    kept = []
    while left.size:
        kept.append(left[0])
        left = left[~(good[left] <= good[left[0]]).all(axis=1)]
    return np.array(kept, np.intp)
