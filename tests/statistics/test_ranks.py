"""Rank intervals and agreement of rankings against scipy and known cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, kendalltau, norm, spearmanr

from tomeval.statistics.agreement import (
    agreement,
    concordance,
    kendall,
    mean_kendall,
    spearman,
)
from tomeval.statistics.ranks import normal_ranks, ranks

SCORES = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(lambda p: (float(p[0]), float(p[1]))),
    min_size=2,
    max_size=9,
)


@given(SCORES)
def test_coefficients_are_those_of_scipy(pairs):
    first, second = np.array(pairs).T
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(kendall(first, second))
        assert math.isnan(spearman(first, second))
        return
    assert kendall(first, second) == pytest.approx(kendalltau(first, second).statistic)
    assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic)


def test_two_values_are_ranked_apart_by_a_two_sided_test():
    rng = np.random.default_rng(1)
    limit = norm.ppf(0.975) * math.sqrt(2)
    for gap, told in ((limit * 1.1, True), (limit * 0.9, False)):
        low, high = normal_ranks(np.array([gap, 0.0]), np.eye(2), math.inf, rng)
        assert low.tolist() == [1, 2 if told else 1]
        assert high.tolist() == [1 if told else 2, 2]


def test_what_is_known_exactly_is_ranked_exactly_and_the_unknown_not_at_all():
    rng = np.random.default_rng(1)
    low, high = normal_ranks(np.array([3.0, 1.0, 1.0]), np.zeros((3, 3)), math.inf, rng)
    assert low.tolist() == [1, 2, 2]
    assert high.tolist() == [1, 3, 3]
    low, high = normal_ranks(np.array([3.0, 1.0]), np.full((2, 2), np.nan), math.inf, rng)
    assert (low.tolist(), high.tolist()) == ([1, 1], [2, 2])
    assert ranks(np.array([0.3, 0.1 + 0.2, 1.0])).tolist() == [2, 2, 1]


def test_rank_intervals_hold_the_rank_of_equals_and_unequals():
    rng = np.random.default_rng(4)
    truth = np.array([0.0, 0.0, 0.0, 1.0, 4.0])
    best, worst = np.array([3, 3, 3, 2, 1]), np.array([5, 5, 5, 2, 1])
    held = []
    for _ in range(200):
        low, high = normal_ranks(truth + rng.normal(size=5), np.eye(5), math.inf, rng)
        held.append((low <= best) & (worst <= high))
    assert np.mean(held, axis=0).min() >= 0.93


def test_agreement_resamples_both_rankings_together():
    first, second = np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])
    drawn = np.tile(first, (100, 1)), np.tile(second, (100, 1))
    found = agreement(first, second, *drawn)
    assert found.kendall == found.kendall_low == found.kendall_high == pytest.approx(1 / 3)
    assert found.spearman_low == pytest.approx(0.5)
    none = agreement(first, second, np.ones((100, 3)), drawn[1])
    assert none.kendall == pytest.approx(1 / 3)
    assert math.isnan(none.kendall_low)


@given(st.integers(2, 5), st.integers(2, 6), st.integers(0, 10**6))
def test_concordance_is_friedmans_statistic(rankings, players, seed):
    scores = np.random.default_rng(seed).integers(0, 4, size=(rankings, players)).astype(float)
    if any(len(set(one)) > 1 for one in scores.tolist()) and players > 2:
        statistic = friedmanchisquare(*scores.T).statistic
        wanted = statistic / (rankings * (players - 1))
        assert concordance(scores) == pytest.approx(wanted, abs=1e-9)
    mean = [
        kendalltau(one, other).statistic
        for k, one in enumerate(scores)
        for other in scores[k + 1 :]
        if len(set(one)) > 1 and len(set(other)) > 1
    ]
    assert mean_kendall(scores) == pytest.approx(np.mean(mean) if mean else math.nan, nan_ok=True)


def test_concordance_needs_two_rankings_with_a_difference():
    assert math.isnan(concordance(np.array([[1.0, 2.0]])))
    assert math.isnan(concordance(np.ones((3, 2))))
