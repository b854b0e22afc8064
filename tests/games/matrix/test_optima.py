from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from support import (
    ALL_GAMES,
    FOUR,
    THREE_BY_TWO,
    TWO_BY_THREE,
    brute_force_values,
    make_game,
    random_partner,
    single_action,
)

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.bounds import bounds
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.optima import (
    best_response,
    dynamics,
    possible_sums,
    reference_rewards,
    relevance,
    worst_response,
)
from tomeval.games.matrix.partner_specs import get_partner, get_partner_set
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.responses import stationary_reward

IPD, IBS, RPS = GAMES["IPD"], GAMES["IBS"], GAMES["RPS"]
ODD = (TWO_BY_THREE, THREE_BY_TWO, FOUR)
kinds = st.sampled_from(["deterministic", "stochastic", "mixed"])
games = st.sampled_from(ALL_GAMES)


def stationary(game, partner) -> float:
    return stationary_reward(*dynamics(game, partner), partner.start)


# --- first oracle: enumeration ------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(games, st.integers(0, 10**6), st.integers(1, 5), kinds, st.integers(1, 4))
def test_random_partners_against_all_histories(game, seed, size, kind, horizon) -> None:
    horizon = min(horizon, 3) if game.n * game.m > 9 else horizon
    partner = random_partner(game, np.random.default_rng(seed), size, kind)
    worst, best = brute_force_values(game, partner, horizon)
    assert best_response(game, partner, horizon).value == pytest.approx(best, abs=1e-9)
    assert worst_response(game, partner, horizon).value == pytest.approx(worst, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(games, st.integers(0, 10**6), st.integers(1, 5), kinds, st.integers(1, 12))
def test_a_plan_earns_what_it_says(game, seed, size, kind, horizon) -> None:
    partner = random_partner(game, np.random.default_rng(seed), size, kind)
    for plan in (best_response(game, partner, horizon), worst_response(game, partner, horizon)):
        # follow the policy by hand, carrying the distribution over states
        state = {partner.start: 1.0}
        for t in range(horizon):
            after: dict[int, float] = {}
            reward = 0.0
            for s, p in state.items():
                a = int(plan.policy[t, s])
                assert plan.optimal[t, s, a]
                for b in range(game.m):
                    mass = p * partner.emissions[s, b]
                    reward += mass * game.own[a, b]
                    k = int(partner.next_state[s, a, b])
                    after[k] = after.get(k, 0.0) + mass
            assert plan.rewards[t] == pytest.approx(reward, abs=1e-9)
            state = after
        assert plan.rewards.sum() == pytest.approx(plan.value, abs=1e-9)


def test_possible_sums_over_all_luck() -> None:
    # Uniform random in matching pennies: any sequence of wins and losses can happen.
    pennies = GAMES["matching_pennies"]
    assert possible_sums(pennies, get_partner("uniform_random", pennies), 5) == (-5, 5)
    for spec in ("tit_for_tat", "grim_trigger", "alternator"):
        partner = get_partner(spec, IPD)
        low, high = possible_sums(IPD, partner, 9)
        assert high == pytest.approx(best_response(IPD, partner, 9).value)
        assert low == pytest.approx(worst_response(IPD, partner, 9).value)


# --- second oracle: linear programming, and the limit of long horizons --------------------------


def lp_gain(game, partner) -> float:
    """Return the best mean reward per step by the multichain average-reward linear program.

    Minimise sum_s alpha_s g_s subject to g_s >= sum_j p(j|s,a) g_j and
    g_s + h_s >= r(s,a) + sum_j p(j|s,a) h_j for all s, a (Puterman 1994, section 9.3), alpha > 0.
    """
    size = len(partner.emissions)
    rows, right = [], []
    for s in range(size):
        for a in range(game.n):
            chance = np.zeros(size)
            reward = 0.0
            for b in range(game.m):
                chance[partner.next_state[s, a, b]] += partner.emissions[s, b]
                reward += partner.emissions[s, b] * game.own[a, b]
            unit = np.eye(size)[s]
            rows.append(np.concatenate([chance - unit, np.zeros(size)]))
            right.append(0.0)
            rows.append(np.concatenate([-unit, chance - unit]))
            right.append(-reward)
    cost = np.concatenate([np.ones(size), np.zeros(size)])
    found = linprog(cost, np.array(rows), right, bounds=(None, None), method="highs")
    assert found.status == 0
    return float(found.x[partner.start])


@settings(max_examples=80, deadline=None)
@given(games, st.integers(0, 10**6), st.integers(1, 7), kinds)
def test_stationary_reward_of_random_partners_by_linear_programming(game, seed, size, kind):
    partner = random_partner(game, np.random.default_rng(seed), size, kind)
    assert stationary(game, partner) == pytest.approx(lp_gain(game, partner), abs=1e-7)


# --- known values --------------------------------------------------------------------------------


def test_ipd_tit_for_tat() -> None:
    partner = get_partner("tit_for_tat", IPD)
    best = best_response(IPD, partner, 100)
    # 99 x 8 for cooperation, then 10 for a defection that nobody can answer
    assert best.value == 802.0
    assert best.rewards.tolist() == [8.0] * 99 + [10.0]
    # Worst: every defection that is met by C gives 10 and makes the next move D. Defecting and
    # cooperating in turn earns 50 x (10 + 0); so does defecting to the end, 10 + 98 x 5, and a last
    # cooperation for 0. The reference's 3.02 is (802 - 500) / 100.
    assert worst_response(IPD, partner, 100).value == 500.0
    row = bounds(IPD, get_partner_set("tit_for_tat", IPD))[0]
    assert row["regret_max"] == pytest.approx(3.02)
    assert row["regret_min"] == 0.0
    assert row["stationary"] == pytest.approx(8.0)
    shifted = bounds(IPD, get_partner_set("tit_for_tat", IPD), reference="stationary")[0]
    assert shifted["regret_min"] == pytest.approx(8 - 8.02)
    assert shifted["regret_max"] == pytest.approx(8 - 5.0)


def test_ibs_and_rps_tit_for_tat() -> None:
    assert best_response(IBS, get_partner("tit_for_tat", IBS), 100).value == 1000.0
    # Against "best response to my last action" one always knows the next move: 1 per step.
    assert best_response(RPS, get_partner("tit_for_tat", RPS), 100).value == 100.0
    assert worst_response(RPS, get_partner("tit_for_tat", RPS), 100).value == -100.0


def test_switcher_earns_both_sides() -> None:
    # IPD, C for 50 steps then D for 50: defect all along, 50 x 10 + 50 x 5. In the long run only
    # the second action counts.
    partner = get_partner("switcher", IPD)
    plan = best_response(IPD, partner, 100)
    assert plan.value == 750.0
    assert plan.rewards.tolist() == [10.0] * 50 + [5.0] * 50
    assert stationary(IPD, partner) == pytest.approx(5.0)
    early = get_partner("switcher(0, 1, 2)", IPD)
    assert best_response(IPD, early, 3).rewards.tolist() == [10.0, 5.0, 5.0]


def test_periodic_partners_have_a_mean() -> None:
    # IBS: the alternator plays Fight, Ballet: 10 and 7 in turn.
    assert stationary(IBS, get_partner("alternator", IBS)) == pytest.approx(8.5)
    assert stationary(RPS, get_partner("cycler", RPS)) == pytest.approx(1.0)
    # A cycle that the subject must steer: period 2, worth (0 + 10) / 2 against (3 + 3) / 2.
    game = make_game([[0, 3], [10, 3]])
    partner = Partner("flip", [[1, 0], [1, 0]], [[[1, 1], [0, 0]], [[1, 1], [0, 0]]], 0)
    assert stationary(game, partner) == pytest.approx(10.0)


def test_multichain_choice_of_a_trap() -> None:
    # From the start one action leads for ever to state 1 (partner plays 0), the other to state 2
    # (plays 1). Entering 1 costs a point now and pays 4 a step, entering 2 pays 1 a step.
    game = make_game([[4, 0], [5, 1]])
    partner = Partner(
        "fork",
        [[0, 1], [1, 0], [0, 1]],
        [[[1, 1], [2, 2]], [[1, 1], [1, 1]], [[2, 2], [2, 2]]],
    )
    assert stationary(game, partner) == pytest.approx(5.0)
    assert best_response(game, partner, 10).value == pytest.approx(0 + 9 * 5)
    assert best_response(game, partner, 1).value == pytest.approx(1.0)


def test_generous_tit_for_tat_by_hand() -> None:
    # p = 0.3: defecting for ever meets C with 0.3: 0.3 x 10 + 0.7 x 5 = 6.5 < 8.
    partner = get_partner("generous_tit_for_tat(0.3)", IPD)
    assert stationary(IPD, partner) == pytest.approx(8.0)
    # At p = 0.7 defecting is worth 0.7 x 10 + 0.3 x 5 = 8.5.
    assert stationary(IPD, get_partner("generous_tit_for_tat(0.7)", IPD)) == pytest.approx(8.5)


def test_relevance_by_enumeration() -> None:
    # Always(0) or tit for tat in IPD, T = 3. Believing always(0), one defects: against tit for tat
    # 10 + 5 + 5 = 20 where 8 + 8 + 10 = 26 was possible. Believing tit for tat, one plays C, C, D
    # against always(0): 26 of 30. Each pair has probability 1/4: (6 + 4) / 4 / 3.
    pair = get_partner_set("always(0) + tit_for_tat", IPD)
    assert relevance(IPD, pair, 3) == pytest.approx((6 + 4) / 4 / 3)


def test_reference_rewards() -> None:
    partner = get_partner("tit_for_tat", IPD)
    assert reference_rewards(IPD, partner, 3, "horizon").tolist() == [8, 8, 10]
    assert reference_rewards(IPD, partner, 3, "stationary").tolist() == pytest.approx([8, 8, 8])
    with pytest.raises(TomevalError, match="did you mean 'horizon'"):
        reference_rewards(IPD, partner, 3, "horizn")


# --- metamorphic ---------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    games,
    st.integers(0, 10**6),
    kinds,
    st.sampled_from([-7.5, 3.0, 1000.0]),
    st.sampled_from([1e-12, 1e-3, 0.5, 3.0, 1e9]),
)
def test_shift_and_scale(game, seed, kind, shift, scale) -> None:
    partner = random_partner(game, np.random.default_rng(seed), 4, kind)
    horizon = 7
    base = best_response(game, partner, horizon)
    moved = best_response(make_game(game.own + shift), partner, horizon)
    assert moved.value == pytest.approx(base.value + shift * horizon, abs=1e-8)
    assert moved.rewards.sum() == pytest.approx(moved.value, abs=1e-8)
    scaled_game = make_game(game.own * scale)
    scaled = best_response(scaled_game, partner, horizon)
    assert scaled.value / scale == pytest.approx(base.value, abs=1e-8)
    assert scaled.rewards.sum() / scale == pytest.approx(base.value, abs=1e-8)
    assert stationary(scaled_game, partner) / scale == pytest.approx(
        stationary(game, partner), abs=1e-8
    )


# --- bounds and errors ---------------------------------------------------------------------------


def test_bounds_of_single_action() -> None:
    rows = bounds(IPD, single_action(IPD))
    assert [(r["best"], r["worst"]) for r in rows] == [(10.0, 8.0), (5.0, 0.0)]
    assert [r["weight"] for r in rows] == [0.5, 0.5]


@pytest.mark.parametrize("horizon", [0, -1, 2.5, True, "3"])
def test_bad_horizons(horizon) -> None:
    partner = get_partner("tit_for_tat", IPD)
    with pytest.raises(TomevalError, match="horizon must be a whole number of at least 1"):
        best_response(IPD, partner, horizon)


def test_a_partner_for_another_size_is_refused() -> None:
    with pytest.raises(TomevalError, match="3 x 3 actions, game IPD has 2 x 2"):
        best_response(IPD, get_partner("tit_for_tat", RPS), 5)


def test_many_states_are_planned_without_a_dense_table() -> None:
    # 20,000 states: a dense transition table would take 6.4 GB.
    partner = get_partner("switcher(0, 1, 20000)", IPD)
    assert best_response(IPD, partner, 30).value == 300.0
    with pytest.raises(TomevalError, match="has 20000 states"):
        stationary(IPD, partner)
