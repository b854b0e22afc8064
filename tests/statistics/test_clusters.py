"""Means whose sampling unit is a cluster of episodes, against statsmodels and cluster means."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from tomeval.statistics import estimate
from tomeval.statistics.shares import clustered_sums, share_of_sums

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


@pytest.mark.parametrize("method", ["normal", "t"])
def test_clusters_of_one_size_are_their_means(method):
    values = RNG.normal(size=(30, 2))
    clusters = np.repeat(np.arange(10), 3)
    means = values.reshape(10, 3, 2).mean(axis=1)
    found = estimate(values, method, clusters=clusters)
    known = estimate(means, method)
    for one, other in zip(found, known, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    alone = estimate(values, method, clusters=np.arange(30))
    plain = estimate(values, method)
    assert [x.tolist() for x in alone] == [x.tolist() for x in plain]


def test_shares_of_clusters_add_up_their_episodes():
    hits, items = np.array([1.0, 2, 0, 3, 1, 1, 0]), np.array([2.0, 2, 1, 4, 2, 1, 1])
    found = clustered_sums(hits, items, ["a", "b", "a", "b", "c", "d", "e"])
    assert found == share_of_sums([1, 5, 1, 1, 0], [3, 6, 2, 1, 1])
    mixed = clustered_sums(hits, items, [3, 1, 2, 0, 6, 5, 4])
    assert mixed.low == pytest.approx(share_of_sums(hits, items).low)
