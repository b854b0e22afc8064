"""What knowing the partner is worth, against every policy that there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support import random_partner

from tomeval.extensions.personas.worth import worth_of_knowing
from tomeval.games.matrix.games import get_game
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet

RPS, IPD, IBS = (get_game(name) for name in ("RPS", "IPD", "IBS"))


def every_value(game, partners, horizon):
    """Return what every policy over what one sees earns against each partner, (policies, K)."""
    seen = [past for t in range(horizon) for past in itertools.product(range(game.m), repeat=t)]

    def worth(policy, partner, state, past):
        if len(past) == horizon:
            return 0.0
        own = policy[past]
        return sum(
            p
            * (
                game.own[own, b]
                + worth(policy, partner, partner.next_state[state, own, b], (*past, b))
            )
            for b, p in enumerate(partner.emissions[state])
            if p
        )

    policies = itertools.product(range(game.n), repeat=len(seen))
    each = (dict(zip(seen, one, strict=True)) for one in policies)
    return np.array(
        [[worth(policy, one, one.start, ()) for one in partners.partners] for policy in each]
    )


@pytest.mark.parametrize("kind", ["deterministic", "stochastic", "mixed"])
@pytest.mark.parametrize(("game", "horizon"), [(RPS, 2), (IPD, 3), (IBS, 3)])
def test_no_policy_that_does_not_know_the_partner_earns_more(game, horizon, kind) -> None:
    rng = np.random.default_rng(7)
    for weights in ((), (0.2, 0.5, 0.3)):
        each = [random_partner(game, rng, size, kind) for size in (1, 2, 3)]
        partners = PartnerSet("drawn", tuple(each), weights)
        values = every_value(game, partners, horizon)
        expected = values @ partners.weights
        known = np.array([best_response(game, one, horizon).value for one in each])
        assert known == pytest.approx(values.max(axis=0))
        gained = np.array(worth_of_knowing(game, partners, horizon))
        assert gained @ partners.weights * horizon == pytest.approx(
            known @ partners.weights - expected.max()
        )
        best = values[expected >= expected.max() - 1e-9]
        if np.ptp(best, axis=0).max() < 1e-9:  # else it depends on which of them one plays
            assert gained * horizon == pytest.approx(known - best[0])
        assert (gained >= 0).all()


def test_hand_values() -> None:
    rps = get_partner_set("single_action", RPS)
    for horizon in (1, 4, 100):
        assert worth_of_knowing(RPS, rps, horizon) == pytest.approx([1 / horizon] * 3)
    # Defecting finds out: cooperation lost once costs 8 - 10, and then the punished step is 0.
    same = get_partner_set("tit_for_tat + grim_trigger", IPD)
    assert worth_of_knowing(IPD, same, 10) == (0, 0)
    # Draws alike but for order: few beliefs, as only how often each action fell matters.
    draws = get_partner_set("mixture(0.3, 0.7) + mixture(0.6, 0.4)", IPD)
    assert worth_of_knowing(IPD, draws, 40) is not None
    assert worth_of_knowing(RPS, rps, 100, most=50) is None
