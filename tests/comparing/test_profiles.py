"""Oracles: scipy's trimmed mean and bootstrap, brute force, subjects whose score is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_game

import tomeval
from tomeval.comparing.profiles import (
    Scores,
    collect_scores,
    interquartile_mean,
    interquartile_means,
    performance_profiles,
)
from tomeval.core.errors import TomevalError

RNG = np.random.default_rng(8)
A, B = RNG.beta(2, 5, size=24), RNG.beta(4, 3, size=16)


def scores(**levels) -> Scores:
    values = tuple(tuple(np.asarray(t, dtype=float) for t in tasks) for tasks in levels.values())
    names = tuple(f"task {k}" for k in range(len(values[0])))
    return Scores("strategy", "attained", tuple(levels), names, values)


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_iqm_is_the_trimmed_mean(quarter, random) -> None:
    values = [random.uniform(-3, 3) for _ in range(4 * quarter)]
    assert interquartile_mean(values) == pytest.approx(scipy.stats.trim_mean(values, 0.25))


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 4)), min_size=1, max_size=9))
def test_weighted_iqm_is_that_of_repeated_values(pairs) -> None:
    values, times = np.array([v for v, _ in pairs]), np.array([t for _, t in pairs])
    if times.sum() == 0:
        times = times + 1
    repeated = np.repeat(values, 4 * times)  # a multiple of four: scipy trims whole values
    expected = scipy.stats.trim_mean(repeated, 0.25)
    assert interquartile_mean(values, times) == pytest.approx(expected, abs=1e-9)


def test_iqm_weighs_tasks_alike_and_is_near_scipys_bootstrap() -> None:
    found = interquartile_means(scores(one=[A]), resamples=8_000)
    theirs = scipy.stats.bootstrap(
        (A,),
        lambda x, axis: scipy.stats.trim_mean(x, 0.25, axis=axis),
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert found.value[0] == pytest.approx(scipy.stats.trim_mean(A, 0.25))
    assert found.low[0] == pytest.approx(theirs.low, abs=0.01)
    assert found.high[0] == pytest.approx(theirs.high, abs=0.01)
    both = interquartile_means(scores(one=[A, B]), resamples=200)
    weighted = np.concatenate([np.repeat(A, 2), np.repeat(B, 3)])  # 24 x 2 = 16 x 3
    assert both.value[0] == pytest.approx(scipy.stats.trim_mean(weighted, 0.25))
    assert (both.episodes[0], both.tasks[0]) == (40, 2)
    again = interquartile_means(scores(one=[A, B]), resamples=200)
    assert (again.low == both.low).all()
    other = interquartile_means(scores(two=[B, A], one=[A, B]), resamples=200)
    assert other.low[1] == both.low[0]  # a level's interval does not depend on the others


def test_profiles_are_shares_above() -> None:
    found = performance_profiles(scores(one=[A, B], two=[B, B]), [0.2, 0.5, 0.9])
    brute = np.mean([[(part > t).mean() for t in (0.2, 0.5, 0.9)] for part in (A, B)], axis=0)
    assert found.share[0] == pytest.approx(brute)
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()
    # the bootstrap's spread is the binomial one
    one = performance_profiles(scores(one=[A]), [0.3], resamples=20_000)
    share = (A > 0.3).mean()
    ends = scipy.stats.binom.ppf([0.025, 0.975], len(A), share) / len(A)
    assert [one.low[0, 0], one.high[0, 0]] == pytest.approx(ends, abs=1 / len(A))


def test_a_score_at_a_threshold_is_not_above_it() -> None:
    at = [1 - 0.1, 0.3 * 3, 0.9, 27 / 30, (1 + 1.7) / 3]  # 0.9, rounded in five ways
    found = performance_profiles(scores(one=[[*at, 0.95]]), resamples=99)
    assert found.thresholds[90] == pytest.approx(0.9)
    assert found.share[0, 89:91] == pytest.approx([1, 1 / 6])


def test_a_tie_does_not_depend_on_where_decimals_are_cut() -> None:
    """Neighbouring numbers on both sides of the twelfth decimal's half; and one truly above."""
    edge = 0.1234567890125
    at = [np.nextafter(edge, end) for end in (0, 1)] + [edge]
    found = performance_profiles(scores(one=[[*at, edge + 1e-6]]), [edge], resamples=99)
    assert found.share[0].tolist() == [0.25]


def test_thresholds_must_rise() -> None:
    with pytest.raises(TomevalError, match="increasing"):
        performance_profiles(scores(one=[A]), [0.5, 0.5])


def test_missing_tasks_and_single_episodes() -> None:
    mixed = scores(base=[A, []], other=[A[:1], B], none=[[], []])
    aggregate = interquartile_means(mixed)
    assert np.isfinite(aggregate.low[0])
    assert np.isnan(aggregate.low[1])
    assert np.isfinite(aggregate.value[1])
    assert np.isnan(aggregate.value[2])
    assert aggregate.tasks.tolist() == [1, 2, 0]
    profile = performance_profiles(mixed, [0.5])
    assert np.isnan(profile.share[2]).all()


def test_attained_is_one_for_the_best_response_in_every_game(tmp_path) -> None:
    run = tomeval.run(
        {
            "games": ["RPS", "IPD"],
            "partners": ["single_action", "tit_for_tat"],
            "horizon": 12,
            "episodes": 6,
            "subjects": ["best_response", "random"],
        },
        tmp_path / "run",
    )
    with run:
        found = collect_scores(run)
        tom = collect_scores(run, score="tom")
    assert found.levels == ("best_response", "random")
    assert len(found.tasks) == 4
    for part in found.played("best_response"):
        assert part == pytest.approx(1.0)
    for part in found.played("random"):
        assert ((part >= 0) & (part < 1)).all()
        with pytest.raises(TomevalError, match="did you mean 'attained'"):
            collect_scores(run, score="attaind")
    assert all((part <= 1).all() for part in tom.played("random"))


def test_a_task_without_anything_to_gain_is_refused(tmp_path) -> None:
    game = make_game([[1, 1], [1, 1]])
    run = tomeval.run(
        {"games": [game], "subjects": ["random"], "horizon": 3, "episodes": 2}, tmp_path / "run"
    )
    with run, pytest.raises(TomevalError, match="every policy earns the same"):
        collect_scores(run)
