"""Variance components against restricted maximum likelihood, sums of squares, and truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import ttest_rel

from tomeval.extensions.wording.factorial import (
    ANY,
    INNER,
    PLAYER,
    REST,
    UNITS,
    components,
    grid,
    sources,
    spread_of,
)


def drawn(shape, units, between, noise, rng, centre=2.0):
    """Draw a crossed design: effects by the axes that they belong to, alone and with the unit."""
    found = np.full((*shape, units), centre)
    for chosen, deviation in between.items():
        found += deviation * rng.normal(
            size=[n if axis in chosen else 1 for axis, n in enumerate(shape)] + [1]
        )
    for chosen, deviation in noise.items():
        found += deviation * rng.normal(
            size=[n if axis in chosen else 1 for axis, n in enumerate(shape)] + [units]
        )
    return found


def of(values, exact=False):
    return components(grid(values, exact), np.random.default_rng(0), 500)


def by_likelihood(values):
    """Maximise the restricted likelihood of players, options and episodes, densely.

    Return the variances of player, option, both, episode, player with it, option with it; and the
    residual's.
    """
    y, count = values.ravel(), values.size
    player, option, episode = (key.ravel() for key in np.indices(values.shape))
    keys = [player, option, 10 * player + option, episode, 10 * player + episode]
    keys += [10 * option + episode]
    alike = [(key[:, None] == key).astype(float) for key in keys] + [np.eye(count)]

    def loss(logs):
        parts = [np.exp(log) * part for log, part in zip(logs, alike, strict=True)]
        inverse = np.linalg.inv(sum(parts))
        ones = inverse.sum(axis=0)  # V^-1 1, of the mean, the one fixed effect
        projection = inverse - np.outer(ones, ones) / ones.sum()
        rest = projection @ y
        slope = [(projection * part).sum() - rest @ part @ rest for part in parts]
        value = y @ rest + math.log(ones.sum()) - np.linalg.slogdet(inverse)[1]
        return value / 2, np.array(slope) / 2

    logs = minimize(loss, np.zeros(7), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return np.exp(logs[:6]), np.exp(logs[6])


def test_sources_are_all_interactions_each_once():
    found = sources((3, 2, 4, 2))
    assert list(found) == [
        PLAYER, 1, 2, 3, INNER, (PLAYER, 1), (PLAYER, 2), (PLAYER, 3), REST,
    ]  # fmt: skip
    assert sum(len(part) for part in found.values()) == 2**4 - 1
    assert list(sources((1, 3))) == [1]
    assert list(sources((2, 3))) == [PLAYER, 1, (PLAYER, 1)]


def test_balanced_data_give_restricted_maximum_likelihood():
    # Players, one option, episodes that all share, and all their interactions; every estimate above
    # 0, where both methods agree exactly.
    rng = np.random.default_rng(5)
    values = drawn(
        (4, 5), 6,
        {(0,): 1.0, (1,): 0.8, (0, 1): 0.6},
        {(): 1.0, (0,): 0.7, (1,): 0.7, (0, 1): 0.5},
        rng,
    )  # fmt: skip
    wanted, residual = by_likelihood(values)
    assert (wanted > 1e-3).all()  # inside, not at the boundary
    found = of(values)
    for key, variance in zip((PLAYER, 1, (PLAYER, 1)), wanted, strict=False):
        assert found[key].variance == pytest.approx(variance, rel=1e-3)
    within = wanted[3:].sum() + residual
    assert found[UNITS].variance == pytest.approx(within, rel=1e-3)


def test_two_options_by_sums_of_squares_written_out():
    rng = np.random.default_rng(1)
    values = drawn((1, 3, 2), 4, {(1,): 1.0, (2,): 0.5}, {(): 1.0, (1,): 0.5, (1, 2): 1.0}, rng)
    y = values[0]  # options a and b, episodes e
    grand, a, b = y.mean(), y.mean(axis=(1, 2)), y.mean(axis=(0, 2))
    e, ab, ae, be = y.mean(axis=(0, 1)), y.mean(axis=2), y.mean(axis=1), y.mean(axis=0)
    ms_a = 8 * ((a - grand) ** 2).sum() / 2
    ms_b = 12 * ((b - grand) ** 2).sum()
    ms_ab = 4 * ((ab - a[:, None] - b + grand) ** 2).sum() / 2
    ms_ae = 2 * ((ae - a[:, None] - e + grand) ** 2).sum() / 6
    ms_be = 3 * ((be - b[:, None] - e + grand) ** 2).sum() / 3
    rest = y - ab[:, :, None] - ae[:, None] - be + a[:, None, None] + b[:, None] + e - grand
    ms_abe = (rest**2).sum() / 6
    found = of(values)
    assert found[1].raw == pytest.approx((ms_a - ms_ae - (ms_ab - ms_abe)) / 8)
    assert found[2].raw == pytest.approx((ms_b - ms_be - (ms_ab - ms_abe)) / 12)
    assert found[INNER].raw == pytest.approx((ms_ab - ms_abe) / 4)
    assert found[UNITS].variance == pytest.approx(y.var(axis=2, ddof=1).mean())


def test_shares_add_up_and_units_do_not_matter():
    rng = np.random.default_rng(2)
    values = drawn(
        (3, 2, 3), 5, {(0,): 1.0, (1,): 1.0, (0, 2): 1.0}, {(): 1.0, (0, 1, 2): 1.0}, rng
    )
    found = of(values)
    assert sum(one.share for key, one in found.items() if key != ANY) == pytest.approx(1.0)
    for moved, factor in ((values + 7.0, 1.0), (100 * values, 1e4), (-values, 1.0)):
        other = of(moved)
        for key, one in found.items():
            assert other[key].raw == pytest.approx(factor * one.raw, abs=1e-9)
            assert other[key].share == pytest.approx(one.share, abs=1e-9)
            assert other[key].share_high == pytest.approx(one.share_high, abs=1e-9)
    named = of(values[:, ::-1][::-1][..., ::-1])  # other names of players, values and episodes
    for key, one in found.items():
        assert named[key].raw == pytest.approx(one.raw, abs=1e-9)


def test_missing_episodes_leave_the_estimates_without_bias():
    spread = {(0,): 0.5, (1,): 1.0, (0, 1): 0.4}
    found, whole = [], []
    for number in range(150):
        rng = np.random.default_rng(number)
        values = drawn((3, 4), 8, spread, {(): 1.0, (1,): 0.8, (0, 1): 0.8}, rng)
        whole.append([of(values)[key].raw for key in (PLAYER, 1, (PLAYER, 1))])
        gone = rng.random(values.shape) < 0.3
        gone[..., :2] = False
        parts = of(np.where(gone, np.nan, values))
        found.append([parts[key].raw for key in (PLAYER, 1, (PLAYER, 1))])
    truth = np.array([0.25, 1.0, 0.16])
    for estimates in (np.array(found), np.array(whole)):
        error = estimates.std(axis=0) / math.sqrt(len(estimates))
        assert (np.abs(estimates.mean(axis=0) - truth) < 4 * error).all()


def test_intervals_hold_the_truth():
    between = {(0,): 1.0, (1,): 0.7, (2,): 0.7, (1, 2): 0.3, (0, 1): 0.5, (0, 1, 2): 0.3}
    noise = {(): 1.0, (1,): 0.5, (0,): 0.5, (0, 1, 2): 0.8}
    truth = {PLAYER: 1.0, 1: 0.49, 2: 0.49, INNER: 0.09, (PLAYER, 1): 0.25, (PLAYER, 2): 0.0}
    truth |= {REST: 0.09, UNITS: 1.0 + 0.25 + 0.25 + 0.64}
    truth[ANY] = sum(truth[key] for key in (1, 2, INNER, (PLAYER, 1), REST))
    hits = dict.fromkeys(truth, 0)
    count = 300
    for number in range(count):
        rng = np.random.default_rng(number)
        found = components(grid(drawn((3, 2, 4), 5, between, noise, rng)), rng, 500)
        for key, value in truth.items():
            low = 0.0 if math.isnan(found[key].low) else found[key].low
            hits[key] += low <= value <= max(0.0, found[key].high)
    for key, hit in hits.items():
        assert hit / count >= 0.90, (key, hit / count)


def test_episodes_that_are_all_there_are_leave_no_noise():
    values = np.arange(12.0).reshape(2, 3, 2)
    found = of(values, exact=True)
    means = values.mean(axis=2)
    assert found[1].variance == pytest.approx(means.mean(axis=0).var(ddof=1))
    assert found[UNITS].variance == pytest.approx(0.25)
    assert math.isnan(found[UNITS].low)
    with pytest.raises(ValueError, match="too few"):
        grid(values[..., :1])
    assert spread_of(grid(values, exact=True), [1])[:3] == pytest.approx(
        (4.0, math.nan, math.nan), nan_ok=True
    )


def test_nothing_varies():
    found = of(np.ones((2, 3, 4)))
    assert all(one.variance == one.share == 0.0 for one in found.values())


def test_the_range_of_two_values_is_the_paired_t_test():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(1, 2, 9)) + np.array([0.0, 2.0])[:, None]
    cells = grid(values)
    found = spread_of(cells, [1])
    wanted = ttest_rel(values[0, 1], values[0, 0]).confidence_interval()
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert (found.smallest, found.largest) == (0, 1)


def test_the_range_is_held_where_all_are_alike_and_where_not():
    for truth in (np.zeros(4), np.array([0.0, 0.0, 0.5, 1.0])):
        hits = 0
        for number in range(300):
            rng = np.random.default_rng(number)
            values = truth[:, None] + rng.normal(size=(2, 1, 7)) + rng.normal(size=(2, 4, 7))
            cells = grid(values)
            found = spread_of(cells, [1])
            hits += found.low <= np.ptp(truth) <= found.high
        assert hits >= 0.94 * 300
