"""What all payoffs share, and how long an episode is, must not decide which action is better."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import ALL_GAMES, episodes_of, make_game, random_partner, setup_of

from tomeval.games.matrix.batch import simulate
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.optima import best_response, dynamics, reference_rewards, worst_response
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.planned import planned_regret
from tomeval.games.matrix.responses import stationary_reward

LONG = 10_000
# Nearly the same payoffs, a million above 0: the second action is better by 1 against everything.
CLOSE = make_game([[1_000_000, 1_000_000], [1_000_001, 1_000_001]])
shifts = st.sampled_from([-1e9, 1e3, 1e6, 1e9])
games = st.sampled_from([game for game in ALL_GAMES if (game.own == np.round(game.own)).all()])
kinds = st.sampled_from(["deterministic", "stochastic", "mixed"])


def shifted(game, shift: float):
    return make_game(game.own + shift, game.partner, game.name)


def regret_of(kind: str, game, partner, horizon: int) -> float:
    """Return a subject's ΔFunctional/T over one episode."""
    steps = subject_steps(kind, game, partner, horizon)
    earned = game.own[steps.column("own_action"), steps.column("partner_action")]
    rewards = reference_rewards(game, partner, horizon, "horizon")
    return float((rewards - earned).mean())


def subject_steps(kind: str, game, partner, horizon: int):
    partners = PartnerSet("one", (partner,))
    [steps] = simulate(setup_of(kind, {}, game, partners, horizon, 1), 0, 1)
    return steps


@pytest.mark.parametrize("spec", ["always(0)", "tit_for_tat", "uniform_random", "switcher"])
def test_a_small_difference_counts_in_every_step_of_a_long_episode(spec) -> None:
    partner = get_partner(spec, CLOSE)
    plan = best_response(CLOSE, partner, LONG)
    assert (plan.policy == 1).all()
    assert (plan.optimal == [False, True]).all()
    assert plan.rewards.tolist() == pytest.approx([1_000_001.0] * LONG, abs=1e-6)
    assert (worst_response(CLOSE, partner, LONG).policy == 0).all()
    assert regret_of("best_response", CLOSE, partner, LONG) == pytest.approx(0, abs=1e-6)
    rewards, transitions = dynamics(CLOSE, partner)
    assert stationary_reward(rewards, transitions, partner.start) == pytest.approx(1_000_001)


@settings(max_examples=3, deadline=None)
@example(GAMES["RPS"], 189, "stochastic", 1e9)
@given(games, st.integers(0, 10**6), kinds, shifts)
def test_a_shift_leaves_every_plan_of_a_long_episode(game, seed, kind, shift) -> None:
    partner = random_partner(game, np.random.default_rng(seed), 3, kind)
    moved = shifted(game, shift)
    for solve in (best_response, worst_response):
        base, after = solve(game, partner, LONG), solve(moved, partner, LONG)
        assert (after.rewards - shift - base.rewards).sum() / LONG == pytest.approx(0, abs=1e-5)
        # what a state is worth beyond another, to the digits that payoffs of this size have
        difference = np.abs(after.relative - base.relative).max()
        assert difference <= 1e-6 * max(1.0, float(np.abs(base.relative).max()))
    if kind == "deterministic":  # whole numbers: nothing is rounded, ties included
        assert (after.optimal == base.optimal).all()
        assert (after.policy == base.policy).all()
    assert stationary_reward(*dynamics(moved, partner), partner.start) - shift == pytest.approx(
        stationary_reward(*dynamics(game, partner), partner.start), abs=1e-5
    )


def test_ties_of_rounded_sums_are_ties() -> None:
    # Against a third of each, every action of rock-paper-scissors is worth 0: so at every step, and
    # also where the payoffs have no exact binary form.
    rps = GAMES["RPS"]
    for game in (rps, make_game(rps.own * 0.1), make_game(rps.own * 0.1 + 0.7)):
        partner = get_partner("uniform_random", game)
        assert best_response(game, partner, LONG).optimal.all()
    # 0.1 + 0.2 and 0.3 are not the same float, and meant to be the same payoff.
    game = make_game([[0.1 + 0.2, 0], [0.3, 0]])
    assert best_response(game, get_partner("always(0)", game), 10).optimal.all()


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e9])
def test_a_planner_that_trusts_wrong_reactions_loses_as_much_after_a_shift(shift) -> None:
    # Tit for tat in the prisoner's dilemma, believed to cooperate always: see docs/measures.md.
    game = shifted(GAMES["IPD"], shift)
    partner = get_partner("tit_for_tat", game)
    horizon = 2_000
    moves = np.zeros(horizon, dtype=int)
    reactions = np.zeros((horizon, 2), dtype=int)
    played = episodes_of(game, moves, moves, moves, partners=[partner], reactions=reactions)
    # It defects: 10 and then 5 a step, where 8 and at last 10 can be had.
    lost = planned_regret(played) * horizon
    assert lost == pytest.approx(3 * (horizon - 1), abs=1e-6)
