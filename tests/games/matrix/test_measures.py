from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import (
    ALL_GAMES,
    THREE_BY_TWO,
    TWO_BY_THREE,
    episodes_of,
    make_game,
    play_against,
    random_partner,
)

from tomeval.games.matrix.games import GAMES, MatrixGame
from tomeval.games.matrix.measures import METRICS, Played, curves, episode_metrics, step_metrics
from tomeval.games.matrix.partner_specs import get_partner
from tomeval.games.matrix.played import hindsight_regret

RPS, IBS, IPD = GAMES["RPS"], GAMES["IBS"], GAMES["IPD"]
games = st.sampled_from(ALL_GAMES)


def one(played: Played, reference: str = "horizon") -> dict[str, float]:
    return {name: float(v[0]) for name, v in episode_metrics(played, reference).items()}


def random_played(game: MatrixGame, seed: int, episodes: int = 4) -> Played:
    """Several episodes of different length against two random partners, played at random."""
    rng = np.random.default_rng(seed)
    partners = [random_partner(game, rng, 3, kind) for kind in ("deterministic", "mixed")]
    which = rng.integers(0, 2, episodes)
    lengths = rng.integers(1, 9, episodes)
    own, theirs = [], []
    for k, length in zip(which, lengths, strict=True):
        moves = rng.integers(game.n, size=length).tolist()
        own += moves
        theirs += play_against(partners[k], moves, rng)
    predicted = rng.integers(0, game.m, len(own))
    told = {"partners": partners, "which": which, "lengths": lengths}
    return episodes_of(game, own, theirs, predicted, **told)


# --- by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 200])
def test_always_defect_against_tit_for_tat(horizon: int) -> None:
    # At (T, R, P, S) = (5, 3, 1, 0) over N rounds defecting earns 5 + (N - 1) = N + 4; cooperating
    # to the last round but one and then defecting earns 3 (N - 1) + 5 = 3N + 2. The regret is
    # 2 (N - 1), per step 2 (N - 1) / N. With the partner's moves held fixed defecting is always
    # best: stepwise regret 0, so all of it is foresight.
    game = make_game([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    theirs = [0] + [1] * (horizon - 1)
    played = episodes_of(
        game, [1] * horizon, theirs, theirs, partners=[get_partner("tit_for_tat", game)]
    )
    found = one(played)
    assert found["reward_per_step"] == pytest.approx((horizon + 4) / horizon)
    assert found["delta_functional_per_step"] == pytest.approx(2 * (horizon - 1) / horizon)
    assert found["stepwise_regret_per_step"] == 0
    assert found["foresight_gap_per_step"] == pytest.approx(2 * (horizon - 1) / horizon)
    assert found["delta_tom_best_response_per_step"] == 0
    assert found["delta_tom_misprediction_per_step"] == 0
    assert found["tom_percent"] == 100
    assert found["self_consistency_percent"] == 100


def test_ibs_example_by_hand() -> None:
    # Partner always plays Ballet (1); own F B F B, predicted F F B B.
    #   rewards           0 7 0 7        mean 3.5, optimum 7
    #   ToM               0 0 1 1        50 %
    #   ΔToM              7 7 0 0        mean 3.5 by both rules (predicted Fight costs 7)
    #   stepwise regret   7 0 7 0        mean 3.5
    #   consistent        F->F yes, F->B no, B->F no, B->B yes: 50 %
    played = episodes_of(
        IBS, [0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 1, 1], partners=[get_partner("always(1)", IBS)]
    )
    assert one(played) == {
        "tom_percent": 50,
        "delta_functional_per_step": 3.5,
        "delta_tom_best_response_per_step": 3.5,
        "delta_tom_misprediction_per_step": 3.5,
        "stepwise_regret_per_step": 3.5,
        "response_gap_per_step": 0,
        "foresight_gap_per_step": 0,
        "self_consistency_percent": 50,
        "reward_per_step": 3.5,
    }
    by_step = step_metrics(played)
    assert by_step["delta_tom_misprediction_per_step"].tolist() == [7, 7, 0, 0]
    assert by_step["response_gap_per_step"].tolist() == [0, -7, 7, 0]


def test_cooperation_with_tit_for_tat_has_negative_foresight() -> None:
    # Cooperate for ever, T = 4: earns 32 of 34. Each step gives up 2 (10 - 8): stepwise regret 2.
    partner = get_partner("tit_for_tat", IPD)
    played = episodes_of(IPD, [0] * 4, [0] * 4, [0] * 4, partners=[partner])
    found = one(played)
    assert found["delta_functional_per_step"] == pytest.approx(0.5)
    assert found["stepwise_regret_per_step"] == 2
    assert found["foresight_gap_per_step"] == pytest.approx(-1.5)
    assert one(played, "stationary")["delta_functional_per_step"] == pytest.approx(0, abs=1e-9)
    # not acting on a right prediction is the response gap
    assert found["response_gap_per_step"] == 2


def test_misprediction_and_best_response_part_in_ipd() -> None:
    # One wrong prediction against a cooperator costs 2 by the misprediction rule and nothing by the
    # best response; against a defector 5.
    for k, cost in ((0, 2.0), (1, 5.0)):
        played = episodes_of(
            IPD, [1, 1], [k, k], [1 - k, k], partners=[get_partner(f"always({k})", IPD)]
        )
        found = one(played)
        assert found["delta_tom_best_response_per_step"] == 0
        assert found["delta_tom_misprediction_per_step"] == cost / 2
        assert found["delta_functional_per_step"] == 0


def test_clairvoyance_is_foresight_against_a_stochastic_partner() -> None:
    # Matching pennies against a fair coin: optimum 0 per step. Guessing right every time earns 1.
    game = GAMES["matching_pennies"]
    moves = [0, 1, 1, 0]
    played = episodes_of(game, moves, moves, moves, partners=[get_partner("uniform_random", game)])
    found = one(played)
    assert found["delta_functional_per_step"] == -1
    assert found["stepwise_regret_per_step"] == 0
    assert found["foresight_gap_per_step"] == -1


@pytest.mark.parametrize(
    ("partners", "own", "theirs", "which", "lengths", "regret"),
    [
        # Tit for tat, all C: regret 2 for every length, over 1, 2 and 5 steps.
        (["tit_for_tat"], [0] * 8, [0] * 8, (0, 0, 0), (1, 2, 5), [2, 1, 0.4]),
        # Each episode against its own partner.
        (["always(0)", "always(1)"], [0] * 4, [1, 1, 0, 0], (1, 0), (2, 2), [5, 2]),
    ],
)
def test_each_episode_has_its_own_optimum(partners, own, theirs, which, lengths, regret) -> None:
    told = {"partners": [get_partner(name, IPD) for name in partners], "which": which}
    found = episode_metrics(episodes_of(IPD, own, theirs, theirs, lengths=lengths, **told))
    assert found["delta_functional_per_step"].tolist() == pytest.approx(regret)


# --- identities and metamorphic relations ---------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(games, st.integers(0, 10**6), st.sampled_from(["horizon", "stationary"]))
def test_functional_splits_into_belief_response_and_foresight(game, seed, reference) -> None:
    found = episode_metrics(random_played(game, seed), reference)
    total = (
        found["delta_tom_best_response_per_step"]
        + found["response_gap_per_step"]
        + found["foresight_gap_per_step"]
    )
    assert np.allclose(total, found["delta_functional_per_step"], atol=1e-9)
    assert (found["stepwise_regret_per_step"] >= 0).all()
    assert (
        found["delta_tom_best_response_per_step"]
        <= found["delta_tom_misprediction_per_step"] + 1e-12
    ).all()
    for name in ("tom_percent", "self_consistency_percent"):
        assert ((found[name] >= 0) & (found[name] <= 100)).all()


def with_game(played: Played, game: MatrixGame) -> Played:
    return replace(played, game=game, own_reward=game.own[played.own, played.partner])


@settings(max_examples=60, deadline=None)
@given(games, st.integers(0, 10**6), st.sampled_from(["horizon", "stationary"]))
def test_shifted_payoffs_change_rewards_and_nothing_else(game, seed, reference) -> None:
    played = random_played(game, seed)
    base = episode_metrics(played, reference)
    moved = episode_metrics(with_game(played, make_game(game.own + 6.5)), reference)
    for name in METRICS:
        shift = 6.5 if name == "reward_per_step" else 0.0
        assert np.allclose(moved[name], base[name] + shift, atol=1e-8), name


# --- missing input --------------------------------------------------------------------------------


def test_unknown_partner_leaves_all_but_regret_and_foresight() -> None:
    found = one(episodes_of(IPD, [0, 1], [0, 0], [0, 1], which=(-1,)))
    missing = {name for name, value in found.items() if np.isnan(value)}
    assert missing == {"delta_functional_per_step", "foresight_gap_per_step"}
    assert (found["reward_per_step"], found["tom_percent"]) == (9, 50)
    # cooperating once gave up 2; defecting is best against either prediction
    assert (found["stepwise_regret_per_step"], found["response_gap_per_step"]) == (1, 1)
    assert found["delta_tom_best_response_per_step"] == 0
    assert found["delta_tom_misprediction_per_step"] == 1  # 2 of the one wrong prediction
    assert found["self_consistency_percent"] == 50


def test_no_episodes_give_empty_metrics() -> None:
    empty = np.empty(0, np.int64)
    for partners in ([], [get_partner("always(0)", IPD)]):
        played = Played(IPD, partners, empty, empty, empty, empty, empty, np.empty(0))
        found = episode_metrics(played)
        assert set(found) == set(METRICS)
        assert all(len(values) == 0 for values in found.values())


def test_curves_are_the_steps_of_each_episode() -> None:
    partner = get_partner("always(1)", IBS)
    played = episodes_of(IBS, [[0, 1], [1, 1]], [[1, 1]] * 2, [0, 1, 1, 1], partners=[partner] * 2)
    found = curves(played)
    assert found["delta_functional_per_step"].tolist() == [[7, 0], [0, 0]]
    assert found["tom_percent"].tolist() == [[0, 100], [100, 100]]
    uneven = episodes_of(IBS, [0, 1, 1], [1] * 3, [0] * 3, partners=[partner], lengths=(1, 2))
    with pytest.raises(ValueError, match="equal length"):
        curves(uneven)


@pytest.mark.parametrize("game", [GAMES["IPD"], GAMES["IBS"], TWO_BY_THREE, THREE_BY_TWO])
def test_hindsight_against_every_single_action(game) -> None:
    rng = np.random.default_rng(5)
    lengths = [1, 2, 5, 9]
    own = [rng.integers(game.n, size=length) for length in lengths]
    theirs = [rng.integers(game.m, size=length) for length in lengths]
    played = episodes_of(game, np.concatenate(own), np.concatenate(theirs), lengths=lengths)
    for found, mine, others in zip(hindsight_regret(played), own, theirs, strict=True):
        best = max(sum(game.own[a, b] for b in others) for a in range(game.n))
        earned = sum(game.own[a, b] for a, b in zip(mine, others, strict=True))
        assert found == pytest.approx((best - earned) / len(mine), abs=1e-12)
