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
from tomeval.statistics.ranks import comparison_tails, ranks

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


def test_equal_values_within_rounding_share_a_rank():
    assert ranks(np.array([0.3, 0.1 + 0.2, 1.0])).tolist() == [2, 2, 1]


def test_comparisons_leave_out_what_their_number_and_their_dependence_ask_for():
    rng = np.random.default_rng(1)
    assert comparison_tails(np.eye(2), rng).tolist() == [0.025, 0.025]
    # The first is known and the others are independent (Sidak); all differences from the last,
    # which alone is uncertain, are one.
    tails = comparison_tails(np.diag([0.0, 1, 1, 1, 1]), rng)
    assert tails[0] == pytest.approx((1 - 0.95 ** (1 / 4)) / 2, rel=0.1)
    assert comparison_tails(np.diag([0.0, 0, 0, 1]), rng)[3] == pytest.approx(0.025, rel=0.1)
    # Dunnett 1964: 2.44 for four comparisons of equals with one of them, two-sided.
    assert comparison_tails(np.eye(5), rng)[0] == pytest.approx(norm.sf(2.44), rel=0.1)


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
