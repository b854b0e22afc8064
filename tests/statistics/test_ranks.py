"""How far rankings agree, against scipy and known cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, kendalltau, spearmanr

from tomeval.statistics.ranks import concordance, kendall, mean_kendall, spearman

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
