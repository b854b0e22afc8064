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

from tomeval.games.decrypto.embedding_players import CODE_DIGITS, Bools, Floats, Ints

LEVELS = (0, 1, 2)
SHARPNESS = 20.0
"""Of literal listeners, in nats per unit of cosine."""

COST = 5.0
"""Of a hint at cosine 0 with its keyword over one at cosine 1, in nats."""

IMAGINED = 4.0
"""Rationality of the Alice that pragmatic listeners think of."""

_LEAST = 2.0**-52  # of 1 - E(d): no hint is impossible because Eve is certain


PREFIXES: tuple[Ints, ...] = tuple(np.unique(CODE_DIGITS[:, :n], axis=0) for n in (1, 2, 3))
"""Digits, as positions, of all sequences of one, two and three: (4, 1), (12, 2), (24, 3)."""

PLACES: tuple[Ints, ...] = tuple(
    (CODE_DIGITS[:, None, :n] == begun).all(axis=2).argmax(axis=1)
    for n, begun in enumerate(PREFIXES, 1)
)
"""For one, two and three hints: the place in `PREFIXES` of each code's beginning, shape (24,)."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Cosines of hints with digits, as one seat knows them."""

    bank: Floats  # (4, words): of all words that Alice may choose
    given: Floats  # (4, hints): of the turn's hints so far, at most three


def literal(scores: Scores, place: int) -> Floats:
    """Return the log-probability of each sequence of digits for a literal listener.

    `place` is that of the next hint, from 0: ``given`` holds the hints before it, and may hold
    later ones. Shape (4 | 12 | 24, words), for each word of the bank as the next hint.

    Examples
    --------
    >>> scores = Scores(np.array([[0.05], [0.0], [0.0], [0.0]]), np.empty((4, 0)))
    >>> np.exp(literal(scores, 0)[:, 0]).round(3).tolist()
    [0.475, 0.175, 0.175, 0.175]
    """
    digits = PREFIXES[place]
    heard = SHARPNESS * scores.bank[digits[:, place]]
    for i in range(place):
        heard += SHARPNESS * scores.given[digits[:, i], i][:, None]
    return heard - _logsumexp(heard)


def worths_of(level: int, bob: Scores, eve: Scores | None, place: int) -> Floats:
    """Return what each word of the bank is worth to Alice as her next hint, in nats.

    `bob` and `eve` are the scores of the listeners that she thinks of; `eve` only matters to level
    2. Shape (4 | 12 | 24, words): for every sequence of digits that she may have to give up to
    this place, as in ``PREFIXES[place]``.
    """
    worth = COST * (bob.bank[PREFIXES[place][:, place]] - 1.0)
    if level > 0:
        worth += literal(bob, place)
    if level > 1:
        assert eve is not None
        worth += np.log(np.maximum(-np.expm1(literal(eve, place)), _LEAST))
    return worth


def guesses(level: int, bob: Scores, eve: Scores | None, legal: Bools) -> Floats:
    """Return the log-probability of each code for a listener who has heard all hints, shape (24,).

    `bob` holds the listener's own scores: Eve's, if it is Eve who guesses. `legal`, (words,), are
    the words that Alice could have chosen.
    """
    if level == 0:
        return np.asarray(literal(_only(bob, 2), 2)[:, 0])
    total = np.zeros(len(CODE_DIGITS))
    for place in range(3):
        said = _only(bob, place), None if eve is None else _only(eve, place)
        chosen = IMAGINED * worths_of(level, *said, place)[:, 0]
        options = IMAGINED * worths_of(level, bob, eve, place)[:, legal]
        total += (chosen - _logsumexp(options.T))[PLACES[place]]
    return np.asarray(total - _logsumexp(total))


def _only(scores: Scores, place: int) -> Scores:
    """Return the scores with the hint that was given at a place as the whole bank."""
    return Scores(scores.given[:, place : place + 1], scores.given)


def _logsumexp(values: Floats) -> Floats:
    """Return log(sum(exp(values))) along the first axis; scipy's checks more and is far slower."""
    most = values.max(axis=0)
    return np.asarray(np.log(np.exp(values - most).sum(axis=0)) + most)


def softmax(values: Floats) -> Floats:
    """Return probabilities in proportion to the exponentials of values, shape (n,)."""
    powers = np.exp(values - values.max())
    return np.asarray(powers / powers.sum())
