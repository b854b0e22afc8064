"""The text environment: the play of a run, rewards by enumeration, and texts that are no answer."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import brute_force_values

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.extensions.environments import advantages
from tomeval.games.matrix.optima import known_best_response

T = 6
ALL = dict.fromkeys(("payoff", "regret", "advantage", "literal", "format"), 1.0)


def play(env, seed, replies):
    """Play one episode; return the sum of every reward by name, and that of the mix."""
    env.reset(seed)
    sums, total, replies, done = dict.fromkeys(env.weights, 0.0), 0.0, iter(replies), False
    while not done:
        observation, reward, done, _, info = env.step(next(replies))
        assert done == (observation == "")
        total += reward
        sums = {name: value + info["rewards"][name] for name, value in sums.items()}
    return sums, total


def made_replies(seed, count, labels=("Cooperate", "Defect")):
    """Return replies of which some cannot be read."""
    said = [*(f"Final answer: {label}" for label in labels * 3), "I would rather not."]
    return random.Random(seed).choices(said, k=count)


@pytest.mark.parametrize(
    ("game", "partner"),
    [
        ("IPD", "tit_for_tat"),
        ("IPD", "generous_tit_for_tat"),
        ("chicken", "noisy_tit_for_tat"),
        ("IPD", "single_action"),
    ],
)
def test_the_sums_are_those_of_the_run(tmp_path, game, partner) -> None:
    labels = tomeval.get_game(game).label_set().own
    replies = made_replies(game + partner, 2 * T, labels)
    path = tmp_path / "replies.json"
    path.write_text(json.dumps(replies))
    subject = {"strategy": "QA", "model": f"scripted:{path}", "max_attempts": 1}
    experiment = {
        "games": [game],
        "partners": [partner],
        "subjects": [{"name": "player", **subject}],
        "horizon": T,
        "episodes": 5,
        "seed": 7,
        "on_invalid": "random",
    }
    keys = {"horizon": T, "seed": 7, "model": subject["model"]}  # whose name chance depends on
    env = tomeval.environment(game, partner, reward=ALL, **keys)
    sums = [play(env, episode, replies)[0] for episode in range(5)]
    with tomeval.run(experiment, tmp_path / "run") as run:
        (cell,) = run.cells
        for name, column, factor in [
            ("payoff", "reward_per_step", T),
            ("regret", "delta_functional_per_step", -T),
        ]:
            measured = factor * cell.totals(column).values
            assert np.abs(measured - [one[name] for one in sums]).max() < 1e-9, name
        names = ("episode", "predicted_action", "partner_action")
        steps = list(cell.store.read("steps", names, cell.number))
        hits = [sum(p == b for e, p, b in steps if e == episode) for episode in range(5)]
        assert [one["literal"] for one in sums] == hits
    unread = sum(reply.startswith("I would") for reply in replies)
    assert all(one["format"] == -unread for one in sums)
    if tomeval.get_partner_set(partner, tomeval.get_game(game)).partners[0].is_deterministic:
        for one in sums:  # nothing is left to chance: what was lost is lost
            assert one["advantage"] == pytest.approx(one["regret"], abs=1e-9)


def expected(game, partner, horizon, choose, step=0, state=None):
    """Return the expectations of the payoffs and of the advantages, by enumeration."""
    state = partner.start if state is None else state
    if step == horizon:
        return 0.0, 0.0
    plan = known_best_response(game, partner, horizon)
    own = choose(step, state)
    earned, lost = 0.0, float(advantages(game, partner, plan, step, state)[own])
    for theirs, chance in enumerate(partner.emissions[state]):
        following = int(partner.next_state[state, own, theirs])
        later = expected(game, partner, horizon, choose, step + 1, following)
        earned += chance * (game.own[own, theirs] + later[0])
        lost += chance * later[1]
    return earned, lost


@pytest.mark.parametrize("name", ["generous_tit_for_tat", "noisy_tit_for_tat", "grim_trigger"])
@pytest.mark.parametrize("seed", range(3))
def test_advantages_add_up_to_what_is_earned_less_the_optimum(name, seed) -> None:
    game = tomeval.get_game("chicken")
    partner = tomeval.get_partner(name, game)
    moves = np.random.default_rng(seed).integers(2, size=(5, len(partner.emissions)))
    earned, lost = expected(game, partner, 5, lambda step, state: int(moves[step, state]))
    assert lost == pytest.approx(earned - brute_force_values(game, partner, 5)[1], abs=1e-9)


def test_a_seed_is_an_episode() -> None:
    env = tomeval.environment("RPS", "uniform_random", horizon=4, seed=1)
    said = ["Final answer: Rock"] * 4

    def seen(seed):
        play(env, seed, said[:3] + said)
        return env.info["episode"], [play(env, seed, said)[1] for _ in range(2)]

    assert seen(5) == seen(5)
    assert env.reset()[0] == env.reset(3)[0]
    assert env.info["episode"] == 3
    env.reset()
    assert env.info["episode"] == 4
    other = tomeval.environment("RPS", "uniform_random", horizon=4, seed=2)
    of_seeds = [[play(one, k, said)[1] for k in range(6)] for one in (env, other)]
    assert of_seeds[0] != of_seeds[1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=4, max_size=4), st.sampled_from(["random", "void"]))
def test_any_text_is_an_action(texts, policy) -> None:
    env = tomeval.environment("IPD", "tit_for_tat", horizon=4, on_invalid=policy)
    env.reset(0)
    for text in texts:
        _, reward, done, _, info = env.step(text)
        assert np.isfinite(reward)
        if done:
            break
    assert done
    assert info["status"] == ("complete" if policy == "random" else "void")


def test_the_policy_for_what_cannot_be_read_is_the_games_own() -> None:
    env = tomeval.environment("IPD", "tit_for_tat", horizon=1, max_attempts=2, reward="format")
    with pytest.raises(TomevalError, match="call reset first"):
        env.step("Final answer: Defect")
    env.reset(0)
    assert env.step("no")[1:3] == (-1.0, False)
    assert env.step("Final answer: Defect")[1:3] == (0.0, True)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"game": "IPDD"}, "unknown game 'IPDD' .did you mean 'IPD'"),
        ({"partner": {"kind": "rmax"}}, "has no table, so the optimal reward is unknown"),
        ({"reward": "regrets"}, "unknown reward 'regrets' .did you mean 'regret'"),
        ({"reward": {"regret": float("nan")}}, "must be finite, not nan"),
        ({"horizon": 0}, "horizon: must be from 1"),
        ({"strategy": "LM"}, "scores labels"),
        ({"game": "blotto", "partner": "uniform"}, "unknown game 'blotto'"),
    ],
)
def test_bad_input_is_one_line(keys, said) -> None:
    keys = {"game": "IPD", "partner": "tit_for_tat", **keys}
    with pytest.raises(TomevalError, match=said) as caught:
        tomeval.environment(keys.pop("game"), keys.pop("partner"), **keys)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.0, True, "1"])
def test_bad_seeds_and_actions(seed) -> None:
    env = tomeval.environment("IPD", "tit_for_tat", horizon=1)
    with pytest.raises(TomevalError, match="seed: must be a whole number"):
        env.reset(seed)
    env.reset(0)
    with pytest.raises(TomevalError, match="an action is a text, got int"):
        env.step(1)
