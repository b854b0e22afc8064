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

**Bob with assignment.** For each of Eve's ways:

1. *Witness.* Hints that score strictly highest with their own digit meet all of Bob's conditions
   in any combination. If the least costs among them sum to less than the limit, the answer is 1.
2. *Bounds.* Triples that are worth 1 have a sum of costs below the limit and, if Eve too
   assigns, a sum of b(hi, ci) - b(hi, c'i) of at least n(c'). So for whole numbers p >= 0 and q > 0
   the sum of q cost - p difference, the *price*, is below q limit - p n(c'). If the least prices
   sum to no less, Eve cannot fail in this way; and a hint that cannot come below with the least
   prices of the other two places is left out. So is a hint with which one of Bob's sums is too
   low even with the highest differences at the other places.
3. *Dominance.* At one place, let h' have differences b(h', ci) - b(h', j) at least those of h for
   every digit j, and no higher cost. Replacing h by h' keeps Bob's sums at least as high and Eve's
   at most as high; so if a triple with h is worth 1, so is the one with h'. It is enough to
   search the hints that no other dominates (of equal ones, one).
4. *Pairs.* For two hints at the first two places, what remains to be asked of the third is, for
   each digit j, a least difference r(j), the largest of n(c') minus the first two differences over
   all c' with c'3 = j, and a highest cost. Pairs that no third can complete by the extreme values
   or prices alone are skipped. Thirds are sorted by their difference with c'3: it is at least
   r(c'3), and bounded from above by the least prices, so each pair is tried against the thirds of
   one stretch.

Steps 2 to 4 skip only triples that cannot be worth 1 or that have a substitute; so the search finds
a triple if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tomeval.domains.decrypto.best_turn_search import (
    Way,
    Whole,
    comes_before,
    least_costs,
    search_assigning,
)
from tomeval.domains.decrypto.embedding_players import (
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
)
from tomeval.domains.decrypto.game import CODES, EncoderView, Hints, hint_history
from tomeval.lexicon.embeddings import SCORE_GRID
from tomeval.lexicon.forms import hint_letters
from tomeval.lexicon.words import WordLists

Positions = tuple[int, int, int]


@dataclass(frozen=True)
class BestTurnSearch:
    """Searches turns against two embedding listeners; called with a view, gives the best value.

    Examples
    --------
    >>> from tomeval.lexicon.embeddings import shipped_embedding
    >>> from tomeval.lexicon.words import shipped_lists
    >>> minilm = ListenerSpec(shipped_embedding("minilm"))
    >>> search = BestTurnSearch(shipped_lists(), minilm, minilm)
    >>> words = ("piano", "queen", "bread", "beach")
    >>> search(EncoderView(words, (3, 1, 4))), search(EncoderView(words, (1, 2, 3)))
    (1.0, 0.0)

    The second is 0 because without history this Eve guesses 1-2-3, whatever the hints.
    """

    lists: WordLists
    bob: ListenerSpec
    eve: ListenerSpec

    def __call__(self, view: EncoderView) -> float:
        """Return the best value of the coming turn."""
        return float(self.search(view) is not None)

    def search(self, view: EncoderView) -> Hints | None:
        """Return legal hints that are worth 1, in the code's order; None if there are none."""
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

    def _allowed(self, view: EncoderView, place: int) -> Ints:
        legal = np.asarray(~forms(view.keywords, self.lists.hints).any(axis=0))
        if view.rules.no_repeat_hints:
            had = {hint_letters(hint) for hint in hint_history(view.turns)[view.code[place] - 1]}
            if had:
                legal &= np.array([hint_letters(hint) not in had for hint in self.lists.hints])
        return np.flatnonzero(legal)


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
    if matchings[0] == "greedy":
        places = [at[_takes(whole_bob[at], code, place)] for place, at in enumerate(places)]
    if any(at.size == 0 for at in places):
        return None
    ways = list(_ways(whole_eve, code, matchings[1], places))
    if matchings[0] == "greedy":
        chosen = least_costs(ways)
    else:
        chosen = search_assigning(_differences(whole_bob, code, places), ways, code)
    if chosen is None:
        return None
    one, two, three = (int(at[i]) for at, i in zip(places, chosen, strict=True))
    return one, two, three


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


def _differences(scores: Whole, code: int, places: list[Ints]) -> list[Whole]:
    """Return each hint's score with its place's digit, less that with every digit."""
    digits = CODE_DIGITS[code]
    return [scores[at][:, [digit]] - scores[at] for at, digit in zip(places, digits, strict=True)]


def _ways(eve: Whole, code: int, matching: str, places: list[Ints]) -> Iterator[Way]:
    if matching == "greedy":
        for failing in range(3):
            costs = [np.zeros(at.size, np.int64) for at in places]
            costs[failing] -= ~_takes(eve[places[failing]], code, failing)
            yield Way(costs, 0)
        return
    differences = _differences(eve, code, places)
    for other, digits in enumerate(CODE_DIGITS):
        if other != code:
            costs = [differences[place][:, digit] for place, digit in enumerate(digits)]
            yield Way(costs, comes_before(code, other), other)
