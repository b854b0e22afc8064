"""Means with intervals, of episodes and of clusters, against scipy, statsmodels and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from tomeval.statistics.estimates import INTERVALS, clustered_sums, estimate

METHODS = list(INTERVALS)
ONCE = [method for method in METHODS if method != "sequence"]  # which hold at one look


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_normal_by_hand() -> None:
    # 1, 2, 3, 4, 5: mean 3, variance (4 + 1 + 0 + 1 + 4) / 4 = 5 / 2.
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0], "normal")
    half = 1.96 * np.sqrt(5 / 2 / 5)
    assert found.mean.tolist() == [3.0]
    assert found.half.tolist() == pytest.approx([half])
    assert (found.low[0], found.high[0]) == pytest.approx((3.0 - half, 3.0 + half))


@pytest.mark.parametrize(("units", "quantile"), [(29, 2.0484071), (30, 1.96)])
def test_by_itself_t_is_taken_below_thirty_units(units: int, quantile: float) -> None:
    """The quantiles are those of a printed table; clusters are the units, not episodes."""
    data = rng().gamma(2, 3, units)
    half = quantile * data.std(ddof=1) / np.sqrt(units)
    assert estimate(data).half[0] == pytest.approx(half)
    pairs = np.repeat(data, 2)  # two equal episodes on each deal tell no more than one
    found = estimate(pairs, clusters=np.repeat(np.arange(units), 2))
    assert found.half[0] == pytest.approx(half)


@pytest.mark.parametrize("count", [5, 6, 10, 400])
def test_t_is_scipys(count: int) -> None:
    data = rng().gamma(2, 3, count)
    low, high = stats.t.interval(0.95, count - 1, data.mean(), stats.sem(data))
    found = estimate(data, "t")
    assert (found.low[0], found.high[0]) == pytest.approx((low, high))


@pytest.mark.parametrize("method", METHODS)
def test_no_episode_and_one_episode(method: str) -> None:
    none = estimate(np.empty((0, 3)), method)
    assert all(np.isnan(part).all() and part.shape == (3,) for part in none)
    one = estimate([[1.0, 2.0, np.nan]], method)
    assert one.mean.tolist()[:2] == [1.0, 2.0]
    assert np.isnan(one.mean[2])
    for part in (one.half, one.low, one.high):
        assert np.isnan(part).all()


@pytest.mark.parametrize("method", ONCE)
@pytest.mark.parametrize("value", [0.0, -3.7, 1e-12])
def test_equal_values_have_no_width(method: str, value: float) -> None:
    found = estimate(np.full(7, value), method)
    assert found.mean[0] == pytest.approx(value, rel=1e-12)
    assert found.half[0] == pytest.approx(0, abs=1e-12 * max(1e-12, abs(value)) * 1e3)
    assert found.low[0] == pytest.approx(value, rel=1e-9)
    assert found.high[0] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_metric_that_is_missing_somewhere_is_missing(method: str) -> None:
    data = rng().normal(size=(29, 3))
    data[4, 1] = np.nan
    for part in estimate(data, method, bounds=(-9.0, 9.0)):
        assert np.isnan(part).tolist() == [False, True, False]


RNG = np.random.default_rng(1)
CLUSTERS = np.array(["d3", "d1", "d1", "d2", "d3", "d3", "d4", "d4", "d5", "d5", "d5", "d5"])
VALUES = RNG.normal(size=12) + np.unique(CLUSTERS, return_inverse=True)[1]


@pytest.mark.parametrize("method", ["normal", "t"])
def test_clusters_of_any_size_are_those_of_a_robust_regression(method):
    found = estimate(VALUES, method, clusters=CLUSTERS)
    groups = np.unique(CLUSTERS, return_inverse=True)[1]
    fit = sm.OLS(VALUES, np.ones(12)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    quantile = {"normal": 1.96, "t": 2.7764451052}[method]
    assert found.mean[0] == pytest.approx(VALUES.mean())
    assert found.half[0] == pytest.approx(quantile * fit.bse[0])


def test_shares_of_clusters_add_up_their_episodes():
    hits, items = np.array([1.0, 2, 0, 3, 1, 1, 0]), np.array([2.0, 2, 1, 4, 2, 1, 1])
    found = clustered_sums(hits, items, ["a", "b", "a", "b", "c", "d", "e"])
    assert found == clustered_sums([1, 5, 1, 1, 0], [3, 6, 2, 1, 1], range(5))
    mixed = clustered_sums(hits, items, [3, 1, 2, 0, 6, 5, 4])
    assert mixed.low == pytest.approx(clustered_sums(hits, items, range(7)).low)
