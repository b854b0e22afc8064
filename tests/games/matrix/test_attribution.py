"""Who played recorded matches: posterior weights, by exact enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support import episodes_of, play_against, random_partner

from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.measures import episode_metrics
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.played import (
    ImpossibleError,
    attribute,
    mixture_of,
)

IPD, RPS = GAMES["IPD"], GAMES["RPS"]


def exact(partners, prior, match) -> list[Fraction]:
    """Return posterior weights in fractions, by multiplying up."""
    found = []
    for partner, weight in zip(partners, prior, strict=True):
        product, state = Fraction(weight), partner.start
        for a, b in zip(*match, strict=True):
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
    own = rng.integers(3, size=30)
    theirs = np.array(play_against(partners[0], own, rng))
    truth = [float(weight) for weight in exact(partners, prior, (own, theirs))]
    found = attribute(partners, prior, (own, theirs))
    assert found.weights.tolist() == pytest.approx(truth, abs=1e-12)


def test_long_matches_do_not_underflow() -> None:
    coin = get_partner_set("0.25*uniform_random + 0.75*always(0)", IPD)
    moves = (np.zeros(5000, dtype=int), np.zeros(5000, dtype=int))
    assert attribute(coin.partners, coin.weights, moves).weights.tolist() == [0.0, 1.0]
    moves = (np.zeros(5000, dtype=int), np.arange(5000) % 2)
    assert attribute(coin.partners, coin.weights, moves).weights.tolist() == [1.0, 0.0]


def test_what_nobody_can_have_played_says_where() -> None:
    found = get_partner_set("always(0) + tit_for_tat", IPD)
    match = (np.array([1, 1, 1]), np.array([0, 1, 0]))  # the last one not even tit for tat
    with pytest.raises(ImpossibleError) as caught:
        attribute(found.partners, found.weights, match)
    assert caught.value.step == 2


def posterior(match, both):
    """Return one match whose partner is known up to probabilities."""
    mixture = mixture_of(both.partners, both.weights, [match])
    return episodes_of(IPD, *match, partners=both.partners, mixture=mixture)


def regret(played) -> list[float]:
    return episode_metrics(played)["delta_functional_per_step"].tolist()


def test_regret_weighted_by_the_posterior() -> None:
    """Two steps of mutual cooperation: 16.

    They fit always(0), against which 20 could be had, and tit for tat, against which 8 + 10 could.
    """
    both = get_partner_set("0.25*always(0) + 0.75*tit_for_tat", IPD)
    match = (np.array([0, 0]), np.array([0, 0]))
    found = posterior(match, both)
    assert regret(found) == pytest.approx([(0.25 * 20 + 0.75 * 18 - 16) / 2])
    # A fair coin plays C, C with probability 1/4; 0.5 x 1/4 : 0.5 x 1 = 0.2 : 0.8. The best reply
    # to the coin expects 7.5 a step.
    coin = get_partner_set("uniform_random + always(0)", IPD)
    found = posterior(match, coin)
    assert regret(found) == pytest.approx([0.2 * 7.5 + 0.8 * 10 - 8])
