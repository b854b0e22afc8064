"""A ladder of recursion: Alice, Bob and Eve who reason about each other to level 0, 1 or 2.

Rational Speech Acts (Frank and Goodman 2012, Goodman and Frank 2016) over a word embedding. Alice
gives her hints one after the other, so her choices are those of an incremental speaker
(Cohn-Gordon, Goodman and Potts 2019): every hint is chosen among all words of a bank, with its
exact normalising constant, and listeners are asked about the digits that have a hint so far.

Notation: after i hints, d is one of the 4, 12 or 24 sequences of i different digits (after three:
the codes); b(h, j) is Bob's score of hint h with digit j, its cosine with the keyword; e(h, j)
Eve's, its cosine with the mean of the digit's past hints, 0 for a digit without. All codes are
equally likely beforehand.

======= ==========================================================================================
player  chooses with probability proportional to
======= ==========================================================================================
Alice 0 exp(alpha * -COST * (1 - b(h, d_i))): what is close to the keyword; she ignores listeners
Alice 1 exp(alpha * (log B(d) - COST * (1 - b(h, d_i)))), B(d) the literal Bob's probability
Alice 2 exp(alpha * (log B(d) + log(1 - E(d)) - COST * (1 - b(h, d_i)))), E the literal Eve's
Bob 0   L(d) ** alpha, where L(d) is proportional to exp(SHARPNESS * sum of b(h_i, d_i))
Bob n   (product over i of A_n(h_i | h_1 .. h_i-1, d)) ** alpha, where A_n is Alice n
Eve n   as Bob n, with her own scores e in place of b, as she does not know the keywords
======= ==========================================================================================

The Alice that listeners think of has the rationality `IMAGINED`. Eve's imagined Alice 2 finds both
listeners equally well informed, as Eve has nothing better than the history: so Eve 2 doubts the
code that the history suggests most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tomeval.domains.decrypto.embedding_players import CODE_DIGITS, Bools, Floats, Ints

LEVELS = (0, 1, 2)
SHARPNESS = 20.0
"""Of literal listeners, in nats per unit of cosine."""

COST = 5.0
"""Of a hint at cosine 0 with its keyword over one at cosine 1, in nats."""

IMAGINED = 4.0
"""Rationality of the Alice that pragmatic listeners think of; `_log_totals` squares twice."""

_LEAST = 2.0**-52  # of 1 - E(d): no hint is impossible because Eve is certain


def _prefixes(length: int) -> Ints:
    return np.unique(CODE_DIGITS[:, :length], axis=0)


PREFIXES: tuple[Ints, ...] = tuple(_prefixes(length) for length in (1, 2, 3))
"""Digits, as positions, of all sequences of one, two and three: (4, 1), (12, 2), (24, 3)."""

PLACES: tuple[Ints, ...] = tuple(
    np.array([next(i for i, p in enumerate(begun) if (p == code[: begun.shape[1]]).all())
              for code in CODE_DIGITS], np.intp)
    for begun in PREFIXES
)  # fmt: skip
"""For one, two and three hints: the place in `PREFIXES` of each code's beginning, shape (24,)."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Cosines of hints with digits, as one seat knows them."""

    bank: Floats  # (4, words): of all words that Alice may choose
    given: Floats  # (4, hints): of the turn's hints so far, at most three


def literal(found: Scores, place: int) -> tuple[Floats, Floats]:
    """Return how a literal listener takes each word of the bank as the next hint.

    `place` is that of the next hint, from 0; ``given`` holds the hints before it, and may hold
    later ones. Returned are `rows`, (4, words), and `before`, (4 | 12 | 24,): the log-probability
    of the sequence d in `PREFIXES`, whose last digit is j, after word h is ``rows[j, h] +
    before[d]``. (All sequences that end in j share what h adds.)

    Examples
    --------
    >>> found = Scores(np.array([[0.05], [0.0], [0.0], [0.0]]), np.empty((4, 0)))
    >>> rows, before = literal(found, 0)
    >>> np.exp(rows[:, 0] + before).round(3).tolist()
    [0.475, 0.175, 0.175, 0.175]
    """
    digits = PREFIXES[place]
    before = np.zeros(len(digits))
    for i in range(place):
        before += SHARPNESS * found.given[digits[:, i], i]
    before -= before.max()
    ends = np.bincount(digits[:, place], np.exp(before), minlength=4)
    heard = SHARPNESS * found.bank
    return heard - _logsumexp(heard + np.log(ends)[:, None]), before


def worths_of(level: int, bob: Scores, eve: Scores | None, place: int, sequences: Ints) -> Floats:
    """Return what each word of the bank is worth to Alice as her next hint, in nats, (n, words).

    `bob` and `eve` are the scores of the listeners that she thinks of; `eve` only matters to level
    2. `sequences`, (n,), are the digits that she may have to give up to this place: places in
    ``PREFIXES[place]``.
    """
    digits = PREFIXES[place][sequences, place]
    worth = COST * (bob.bank[digits] - 1.0)
    if level > 0:
        rows, before = literal(bob, place)
        worth += rows[digits] + before[sequences, None]
    if level > 1:
        assert eve is not None
        rows, before = literal(eve, place)
        fails = np.maximum(-np.expm1(rows[digits] + before[sequences, None]), _LEAST)
        worth += np.log(fails)
    return np.asarray(worth)


def inverted(level: int, bob: Scores, eve: Scores | None, legal: Bools) -> Floats:
    """Return the log-probability of each code, given three hints of an Alice of a level from 1.

    Scores as for `worths_of`, with all three hints given; `legal`, (words,), are those that Alice
    could have chosen. Shape (24,).
    """
    total = np.zeros(len(CODE_DIGITS))
    for place in range(3):
        said = _only(bob, place), None if eve is None else _only(eve, place)
        every = np.arange(len(PREFIXES[place]))
        chosen = worths_of(level, *said, place, every)[:, 0]
        options = _log_totals(level, bob, eve, legal, place)
        total += (IMAGINED * chosen - options)[PLACES[place]]
    return np.asarray(total - _logsumexp(total))


def _log_totals(level: int, bob: Scores, eve: Scores | None, legal: Bools, place: int) -> Floats:
    """Return log(sum over words of exp(IMAGINED * worth)) for every sequence of digits.

    As `worths_of` says it for every sequence, with exponentials of (4, words) only.
    """
    last = PREFIXES[place][:, place]
    rows, before = literal(bob, place)
    worth = IMAGINED * (COST * (bob.bank - 1.0) + rows)[:, legal]  # up to what Eve adds
    most = worth.max(axis=1)
    weight = np.exp(worth - most[:, None])
    if level == 1:
        sums = weight.sum(axis=1)[last]
    else:
        assert eve is not None
        reads, earlier = literal(eve, place)
        fails = 1.0 - np.exp(reads[:, legal])[last] * np.exp(earlier)[:, None]
        np.maximum(fails, _LEAST, out=fails)
        sums = np.einsum("dh,dh->d", weight[last], np.square(np.square(fails)))
    return np.asarray(np.log(sums) + most[last] + IMAGINED * before)


def literal_codes(found: Scores) -> Floats:
    """Return the log-probability of each code for a literal listener who has heard all three."""
    rows, before = literal(_only(found, 2), 2)
    return np.asarray(rows[PREFIXES[2][:, 2], 0] + before)


def guesses(level: int, bob: Scores, eve: Scores | None, legal: Bools) -> Floats:
    """Return the log-probabilities of the codes for a listener of a level, shape (24,).

    `bob` holds the listener's own scores: Eve's, if it is Eve who guesses.
    """
    if level == 0:
        return literal_codes(bob)
    return inverted(level, bob, eve, legal)


def _only(found: Scores, place: int) -> Scores:
    """Return the scores with the hint that was given at a place as the whole bank."""
    return Scores(found.given[:, place : place + 1], found.given)


def _logsumexp(values: Floats) -> Floats:
    """Return log(sum(exp(values))) along the first axis; scipy's checks more and is far slower."""
    most = values.max(axis=0)
    return np.asarray(np.log(np.exp(values - most).sum(axis=0)) + most)


def softmax(values: Floats) -> Floats:
    """Return probabilities in proportion to the exponentials of values, shape (n,)."""
    powers = np.exp(values - values.max())
    return np.asarray(powers / powers.sum())
