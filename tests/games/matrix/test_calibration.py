from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import (
    ALL_GAMES,
    FOUR,
    THREE_BY_TWO,
    TWO_BY_THREE,
    episodes_of,
    random_partner,
    setup_of,
)

from tomeval.games.matrix.batch import simulate
from tomeval.games.matrix.games import GAMES
from tomeval.games.matrix.measures import METRICS, episode_metrics
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.subjects.simulated import expected
from tomeval.statistics.estimates import estimate

RPS, IBS, IPD = GAMES["RPS"], GAMES["IBS"], GAMES["IPD"]


def enumerated(game, partners, p, q, horizon, reference) -> dict[str, float]:
    """Return expected metrics by walking every possible episode, step by step, with its chance.

    Knows the subject only by its words: predicts right with probability p, else a uniformly wrong
    action; best-responds to the prediction with probability q (ties alike), else uniform.
    """
    total = dict.fromkeys(METRICS, 0.0)
    for which, (partner, weight) in enumerate(
        zip(partners.partners, partners.weights, strict=True)
    ):
        episodes = [(weight, partner.start, ())]
        for _ in range(horizon):
            after = []
            for chance, state, steps in episodes:
                for b, c, a in itertools.product(range(game.m), range(game.m), range(game.n)):
                    best = game.own[:, c] == game.own[:, c].max()
                    said = p if c == b else (1 - p) / (game.m - 1)
                    acted = q * best[a] / best.sum() + (1 - q) / game.n
                    mass = chance * partner.emissions[state, b] * said * acted
                    if mass > 0:
                        following = int(partner.next_state[state, a, b])
                        after.append((mass, following, (*steps, (a, b, c))))
            episodes = after
        own, theirs, predicted = (
            np.array([step[i] for _, _, steps in episodes for step in steps]) for i in range(3)
        )
        told = {"which": np.full(len(episodes), which), "lengths": np.full(len(episodes), horizon)}
        played = episodes_of(game, own, theirs, predicted, partners=partners.partners, **told)
        found = episode_metrics(played, reference)
        chances = np.array([chance for chance, _, _ in episodes])
        assert chances.sum() == pytest.approx(weight)
        for name in METRICS:
            total[name] += float(chances @ found[name])
    return total


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([RPS, IBS, IPD, GAMES["chicken"], TWO_BY_THREE, THREE_BY_TWO]),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.35, 1.0]),
    st.sampled_from([0.0, 0.6, 1.0]),
    st.sampled_from(["horizon", "stationary"]),
)
def test_closed_form_is_the_sum_over_all_episodes(game, seed, p, q, reference) -> None:
    rng = np.random.default_rng(seed)
    tables = tuple(random_partner(game, rng, 3, kind) for kind in ("deterministic", "mixed"))
    partners = PartnerSet("made", tables, (0.3, 0.7))
    horizon = 2 if game.n * game.m > 4 else 3
    truth = expected(game, partners, p=p, q=q, horizon=horizon, reference=reference)
    walked = enumerated(game, partners, p, q, horizon, reference)
    assert set(truth) == set(METRICS)
    for name in METRICS:
        assert truth[name] == pytest.approx(walked[name], abs=1e-9), name


def measured(game, partners, p, q, horizon, first, count, seed=5):
    """Return the metrics of simulated episodes, shape (count, metrics), and their partners."""
    setup = setup_of("simulated", {"p": p, "q": q}, game, partners, horizon, seed)
    records = simulate(setup, first, count)
    moves = (
        np.array([record.column(name) for record in records])
        for name in ("own_action", "partner_action", "predicted_action")
    )
    which = np.array([record.own["partner"] for record in records])
    told = {"partners": partners.partners, "which": which}
    found = episode_metrics(episodes_of(game, *moves, **told))
    return np.stack([found[name] for name in METRICS], axis=1), which


CELLS = [
    (RPS, "single_action"),
    (RPS, "tit_for_tat"),
    (IBS, "single_action"),
    (IPD, "tit_for_tat"),
    (IPD, "noisy_tit_for_tat(0.2)"),
    (IPD, "{ partners = ['grim_trigger', 'uniform_random'], weights = [0.3, 0.7] }"),
    (TWO_BY_THREE, "single_action"),
    (THREE_BY_TWO, "best_responder"),
    (FOUR, "win_stay_lose_shift + cycler"),
]


@pytest.mark.parametrize(("game", "spec"), CELLS, ids=lambda x: getattr(x, "name", x))
def test_closed_form_is_the_mean_of_many_simulated_episodes(game, spec) -> None:
    partners = get_partner_set(spec, game)
    values, _ = measured(game, partners, 0.8, 0.6, 30, 0, 3_000)
    truth = expected(game, partners, p=0.8, q=0.6, horizon=30)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    for j, name in enumerate(METRICS):
        # five standard errors: about one false alarm in 20,000 runs of all cells and metrics
        assert abs(values[:, j].mean() - truth[name]) <= 5 * error[j] + 1e-9, name


def test_known_values() -> None:
    # RPS, right with p: ΔToM = (1 - p) x mean of 1 and 2; random play costs 1 per step.
    truth = expected(RPS, get_partner_set("single_action", RPS), p=0.9, q=0)
    assert truth["tom_percent"] == pytest.approx(90)
    assert truth["delta_tom_misprediction_per_step"] == pytest.approx(0.15)
    assert truth["delta_functional_per_step"] == pytest.approx(1.0)
    # rational and right: nothing is lost against partners that do not react
    for game in ALL_GAMES:
        truth = expected(game, get_partner_set("single_action", game), p=1, q=1)
        assert truth["delta_functional_per_step"] == pytest.approx(0, abs=1e-9)
        assert truth["self_consistency_percent"] == pytest.approx(100)
    # IPD, tit for tat, p = q = 1: always defects, 505 of 802
    truth = expected(IPD, get_partner_set("tit_for_tat", IPD), p=1, q=1)
    assert truth["delta_functional_per_step"] == pytest.approx(2.97)
    assert truth["foresight_gap_per_step"] == pytest.approx(2.97)


@pytest.mark.slow
@pytest.mark.parametrize(("game", "spec"), CELLS, ids=lambda x: getattr(x, "name", x))
@pytest.mark.parametrize(("p", "q"), [(0.7, 0.5), (0.9, 0.9)])
def test_intervals_cover_the_truth_at_the_nominal_rate(game, spec, p, q) -> None:
    # 2,000 repetitions of a run of 100 episodes of T = 100, each its own stretch of the streams.
    # The standard error of a share of 95 % over 2,000 is 0.5 %: 93 to 97 % is four of them.
    repetitions, episodes, horizon = 2_000, 100, 100
    partners = get_partner_set(spec, game)
    truth = expected(game, partners, p=p, q=q, horizon=horizon)
    hits = np.zeros(len(METRICS))
    per_batch = 50
    for first in range(0, repetitions, per_batch):
        values, _ = measured(
            game, partners, p, q, horizon, first * episodes, per_batch * episodes, seed=11
        )
        for sample in values.reshape(per_batch, episodes, -1):
            found = estimate(sample)
            target = np.array([truth[name] for name in METRICS])
            slack = 1e-9 * np.maximum(1, np.abs(target))
            hits += (found.low - slack <= target) & (target <= found.high + slack)
    share = hits / repetitions
    for j, name in enumerate(METRICS):
        certain = share[j] == 1.0 and values[:, j].std() < 1e-9  # no chance, so no error
        assert certain or 0.93 <= share[j] <= 0.97, (name, share[j])
