"""Who played recorded matches: posterior weights and carried states, by exact enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from support import random_partner

from tomeval.domains.matrix.attribution import (
    ImpossibleError,
    attribute,
    beginning_in,
    mixture_of,
)
from tomeval.domains.matrix.games import GAMES
from tomeval.domains.matrix.measures import episode_metrics
from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.partner_specs import get_partner, get_partner_set
from tomeval.domains.matrix.played import Played

IPD, RPS = GAMES["IPD"], GAMES["RPS"]


def exact(partners, prior, group) -> list[Fraction]:
    """Return posterior weights in fractions, by multiplying up."""
    found = []
    for partner, weight in zip(partners, prior, strict=True):
        product, state = Fraction(weight), partner.start
        for own, theirs in group:
            for a, b in zip(own, theirs, strict=True):
                product *= Fraction(partner.emissions[state, b])
                state = partner.next_state[state, a, b]
        found.append(product)
    return [product / sum(found) for product in found]


@pytest.mark.parametrize("seed", range(10))
def test_posterior_is_likelihood_times_prior(seed) -> None:
    rng = np.random.default_rng(seed)
    kinds = ("mixed", "deterministic", "mixed", "mixed")
    partners = [random_partner(RPS, rng, 3, kind) for kind in kinds]
    prior = [0.1, 0.2, 0.3, 0.4]
    # the moves of the first partner, so that one fits
    own, theirs, state = rng.integers(3, size=30), np.empty(30, dtype=np.int64), partners[0].start
    for step, a in enumerate(own):
        theirs[step] = rng.choice(3, p=partners[0].emissions[state])
        state = partners[0].next_state[state, a, theirs[step]]
    group = [(own[:12], theirs[:12]), (own[12:], theirs[12:])]
    truth = [float(weight) for weight in exact(partners, prior, group)]
    found = attribute(partners, prior, group)
    assert found.weights.tolist() == pytest.approx(truth, abs=1e-12)


def test_long_matches_do_not_underflow() -> None:
    coin = get_partner_set("0.25*uniform_random + 0.75*always(0)", IPD)
    moves = (np.zeros(5000, dtype=int), np.zeros(5000, dtype=int))
    assert attribute(coin.partners, coin.weights, [moves]).weights.tolist() == [0.0, 1.0]
    moves = (np.zeros(5000, dtype=int), np.arange(5000) % 2)
    assert attribute(coin.partners, coin.weights, [moves]).weights.tolist() == [1.0, 0.0]


def test_what_nobody_can_have_played_says_where() -> None:
    found = get_partner_set("always(0) + tit_for_tat", IPD)
    first = (np.array([0, 0]), np.array([0, 0]))
    second = (np.array([1, 1, 1]), np.array([0, 1, 0]))  # the last one not even tit for tat
    with pytest.raises(ImpossibleError) as caught:
        attribute(found.partners, found.weights, [first, second])
    assert (caught.value.match, caught.value.step) == (1, 2)


@pytest.mark.parametrize("name", ["tit_for_tat", "grim_trigger", "tit_for_two_tats"])
def test_a_partner_that_goes_on_from_a_state(name) -> None:
    """The best reward from a state, against every sequence of moves."""
    partner = get_partner(name, IPD)
    for state in range(len(partner.emissions)):
        best = -np.inf
        for moves in itertools.product(range(2), repeat=4):
            place, total = state, 0.0
            for a in moves:
                b = int(partner.emissions[place].argmax())
                total += IPD.own[a, b]
                place = partner.next_state[place, a, b]
            best = max(best, total)
        assert best_response(IPD, beginning_in(partner, state), 4).value == best


def played_of(matches, partners, prior, groups=None) -> Played:
    own, theirs = (np.concatenate([match[side] for match in matches]) for side in (0, 1))
    return Played(
        IPD,
        partners,
        np.zeros(len(matches), dtype=np.int64),
        np.array([len(match[0]) for match in matches]),
        own,
        theirs,
        None,
        IPD.own[own, theirs],
        mixture=mixture_of(partners, prior, matches, groups),
    )


def regret(played) -> list[float]:
    return episode_metrics(played)["delta_functional_per_step"].tolist()


def test_regret_weighted_by_the_posterior() -> None:
    """Two steps of mutual cooperation: 16.

    They fit always(0), against which 20 could be had, and tit for tat, against which 8 + 10 could.
    """
    both = get_partner_set("0.25*always(0) + 0.75*tit_for_tat", IPD)
    match = (np.array([0, 0]), np.array([0, 0]))
    found = played_of([match], both.partners, both.weights)
    assert regret(found) == pytest.approx([(0.25 * 20 + 0.75 * 18 - 16) / 2])
    # A fair coin plays C, C with probability 1/4; 0.5 x 1/4 : 0.5 x 1 = 0.2 : 0.8. The best reply
    # to the coin expects 7.5 a step.
    coin = get_partner_set("uniform_random + always(0)", IPD)
    found = played_of([match], coin.partners, coin.weights)
    assert regret(found) == pytest.approx([0.2 * 7.5 + 0.8 * 10 - 8])


def test_memory_that_carries_over() -> None:
    """Tit for tat still answers the defection that ended the match before.

    Second match: D against D, then C against D: 5 + 0. From the state "after 1" the best two steps
    are C, D (0 + 10) or D, D (5 + 5): 10. So the regret is 2.5 a step. Beginning anew, tit for tat
    could not have defected first.
    """
    tft = get_partner("tit_for_tat", IPD)
    first = (np.array([0, 1]), np.array([0, 0]))
    second = (np.array([1, 0]), np.array([1, 1]))
    carried = played_of([first, second], [tft], [1.0], [0, 0])
    assert regret(carried) == pytest.approx([0.0, 2.5])
    with pytest.raises(ImpossibleError):
        attribute([tft], [1.0], [second])


def test_nothing_is_mixed_where_one_partner_begins_anew() -> None:
    tft = get_partner("tit_for_tat", IPD)
    match = (np.array([0, 0]), np.array([0, 0]))
    assert mixture_of([tft], [1.0], [match], None) is None
    # carried over, but each match happens to begin in the start state again or is a single one
    assert mixture_of([tft], [1.0], [match], [0]) is None
