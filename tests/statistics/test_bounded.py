"""Intervals of bounded means: roots of their defining equation, Wilson's, Student's, and limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.proportion import proportion_confint

from tomeval.games.arena.domain import ARENA
from tomeval.games.decrypto.domain import DECRYPTO
from tomeval.games.matrix.domain import MATRIX
from tomeval.runs.analyses import known_measures
from tomeval.statistics.bounded import FEWEST, score_ends
from tomeval.statistics.estimates import INTERVALS, estimate

BOUNDED = {
    f"{domain.name} {name}": measure.limits
    for domain in (MATRIX, DECRYPTO, ARENA)
    for name, measure in known_measures(domain).items()
    if np.isfinite(measure.limits).any()
}
FIXED = settings(derandomize=True, database=None, deadline=None, max_examples=60)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 100), (0, math.inf), (-math.inf, 7), (-3, 5), (-math.inf, math.inf)]
)
@pytest.mark.parametrize(("mean", "error"), [(2.0, 0.3), (4.9, 1.2), (0.01, 0.009)])
def test_ends_are_as_far_as_the_quantile_says(low, high, mean, error):
    """At an end m, (mean - m)² is quantile² x the variance there, by a root search."""

    def spread(m: float) -> float:
        below = (m - low) / (mean - low) if math.isfinite(low) else 1.0
        above = (high - m) / (high - mean) if math.isfinite(high) else 1.0
        return error**2 * below * above

    def off(m: float) -> float:
        return float((mean - m) ** 2 - 2.5**2 * spread(m))

    found = [float(end) for end in score_ends(mean, error, 2.5, 9, low, high)]
    first = optimize.brentq(off, max(low, mean - 50), mean, xtol=1e-13)
    last = optimize.brentq(off, mean, min(high, mean + 50), xtol=1e-13)
    assert found == pytest.approx([first, last], rel=1e-9)


@pytest.mark.parametrize(("hits", "items"), [(1, 10), (9, 30), (29, 30)])
def test_independent_hits_have_wilsons_interval(hits, items):
    share = hits / items
    error = math.sqrt(share * (1 - share) / items)
    found = score_ends(share, error, stats.norm.ppf(0.975), items, 0, 1)
    assert [float(x) for x in found] == pytest.approx(
        proportion_confint(hits, items, method="wilson")
    )


@pytest.mark.parametrize("value", [0.0, 100.0])
def test_episodes_that_are_all_at_a_bound_count_as_one_hit_each(value):
    """Wilson's for six of six, with Student's quantile of 2.5706: 6 / (6 + 2.5706²) = 47.6 %."""
    found = estimate([value] * 6, bounds=(0, 100))
    far = 100 * 2.5705818**2 / (6 + 2.5705818**2)
    ends = (0.0, far) if value == 0 else (100 - far, 100.0)
    assert (found.low[0], found.high[0]) == pytest.approx(ends)


def test_values_beyond_a_bound_of_expectations_leave_students_interval_cut():
    values = np.array([-1.0, 0.5, 1.0, 2.0, 3.0, 0.2])
    found, plain = estimate(values, bounds=(0, math.inf)), estimate(values)
    assert plain.low[0] < 0
    assert (found.low[0], found.high[0]) == (0, plain.high[0])
    below = estimate(-np.abs(values), bounds=(0, math.inf))
    assert below.low[0] <= below.mean[0] <= below.high[0]


@pytest.mark.parametrize("method", INTERVALS)
def test_fewer_units_than_show_a_spread_have_no_interval(method):
    values = np.arange(2.0 * FEWEST)
    twos = np.repeat(np.arange(FEWEST), 2)
    bounds = (0.0, 2.0 * FEWEST)
    enough = estimate(values, method, clusters=twos, bounds=bounds)
    assert np.isfinite([enough.low[0], enough.high[0]]).all()
    few = estimate(values[:-2], method, clusters=twos[:-2], bounds=bounds)
    assert np.isnan([few.half[0], few.low[0], few.high[0]]).all()
    assert few.mean[0] == values[:-2].mean()


def within(low: float, high: float) -> st.SearchStrategy[list[float]]:
    start = low if math.isfinite(low) else min(high, 0.0) - 50
    stop = high if math.isfinite(high) else max(low, 0.0) + 50
    ends = st.sampled_from([start, stop, (start + stop) / 2])
    return st.lists(ends | st.floats(start, stop), min_size=FEWEST, max_size=12)


@pytest.mark.parametrize(("low", "high"), sorted(set(BOUNDED.values())))
@FIXED
@given(st.data())
def test_no_interval_leaves_the_bounds_or_the_mean(low, high, data):
    """For the bounds of every measure of every domain, and of every difference of two."""
    values = data.draw(within(low, high))
    method = data.draw(st.sampled_from(INTERVALS))
    clusters = data.draw(
        st.none() | st.just([n // 2 for n in range(len(values))] if len(values) > 9 else None)
    )
    for bounds, some in (
        ((low, high), np.array(values)),
        ((low - high, high - low), np.array(values) - values[-1]),
    ):
        found = estimate(some, method, clusters=clusters, bounds=bounds)
        if method == "sequence" and np.isnan(found.low[0]):
            assert not np.isfinite(bounds).all()  # too few differ to know anything
            continue
        slack = 1e-9 * max(1.0, *(abs(end) for end in bounds if math.isfinite(end)), 0.0)
        assert bounds[0] - slack <= found.low[0] <= found.mean[0] + slack
        assert found.mean[0] - slack <= found.high[0] <= bounds[1] + slack
        assert found.half[0] >= 0


@pytest.mark.parametrize("method", ["normal", "t"])
@pytest.mark.parametrize("scale", [2.0**-43, 2.0**30])
def test_intervals_of_scaled_payoffs_are_scaled(method, scale):
    """Also where values are alike but for rounding, which is no spread in any unit."""
    alike = np.array([0.3, 0.1 + 0.2] * 4)
    for values in (alike, np.array([0.1, 0.5, 0.2, 0.3, 0.9, 0.1, 0.4, 0.6])):
        found = [
            estimate(v, method, bounds=b)
            for v, b in ((values, (0, 2)), (scale * values, (0, 2 * scale)))
        ]
        assert found[0].half[0] > 0.05
        for ours, theirs in zip(*found, strict=True):
            assert theirs[0] == pytest.approx(scale * ours[0], rel=1e-6)
