"""What the best of several conditions saves: no winner's curse, and intervals that hold it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tomeval.extensions.wording.gap import choose_least


def noisy(truth, units, rng):
    truth = np.asarray(truth, dtype=float)
    return truth[:, None] + 0.5 * rng.normal(size=units) + rng.normal(size=(len(truth), units))


def test_two_conditions_without_noise():
    values = np.array([[4.0] * 5, [1.0] * 5])
    found = choose_least(values)
    assert (found.mean, found.least, found.share, found.best, found.kept) == (2.5, 1.0, 0.6, 1, 1.0)
    assert (found.low, found.high) == pytest.approx((0.6, 0.6))


def test_conditions_that_are_alike_save_nothing():
    shares, naive = [], []
    for number in range(600):
        values = noisy([3.0] * 6, 8, np.random.default_rng(number))
        shares.append(choose_least(values).share)
        naive.append(1 - values.mean(axis=1).min() / values.mean())
    error = np.std(shares) / math.sqrt(len(shares))
    assert abs(np.mean(shares)) < 4 * error
    assert np.mean(naive) > 0.1  # the curse


@pytest.mark.parametrize("truth", [[3.0] * 5, [3.0, 3.0, 2.8, 2.6, 2.4], [4.0, 4.0, 4.0, 4.0, 0.5]])
def test_the_interval_holds_the_share_of_the_truly_best(truth):
    share = 1 - min(truth) / np.mean(truth)
    hits = 0
    for number in range(300):
        found = choose_least(noisy(truth, 10, np.random.default_rng(number)))
        hits += found.low <= share <= found.high
    assert hits >= 0.94 * 300


def test_the_choice_does_not_see_the_unit_that_it_is_evaluated_on():
    # By hand: without unit 0 condition 1 is least (mean 0.5 against 1), without unit 1 and without
    # unit 2 condition 0 is (0.5 against 4.5 and 5): evaluated at 9, 1 and 1.
    values = np.array([[0.0, 1.0, 1.0], [9.0, 1.0, 0.0]])
    found = choose_least(values)
    assert found.least == pytest.approx((9.0 + 1.0 + 1.0) / 3)
    assert found.best == 0
    assert found.kept == pytest.approx(2 / 3)


def test_no_share_of_what_is_not_above_zero():
    noise = np.array([[1.0, -1.0, 0.5, -0.3], [0.2, -0.8, 0.9, 0.0]])
    found = choose_least(noise)
    assert found.mean > 0
    assert math.isnan(found.share)
    assert found.reason == "its mean is not told apart from 0"
    below = choose_least(np.full((2, 4), -1.0))
    assert math.isnan(below.share)
    assert below.reason == "its mean is not above 0"


def test_all_episodes_that_there_are():
    found = choose_least(np.array([[4.0, 2.0], [1.0, 2.0]]), exact=True)
    assert (found.mean, found.least, found.share) == (2.25, 1.5, pytest.approx(1 / 3))
    assert math.isnan(found.low)
    assert math.isnan(found.mean_low)


def test_scale_does_not_matter():
    values = noisy([3.0, 2.0, 1.0], 6, np.random.default_rng(1))
    one, other = choose_least(values), choose_least(10 * values)
    assert other[4:6] == pytest.approx(one[4:6])
    assert other.mean == pytest.approx(10 * one.mean)


def test_conditions_that_are_told_apart_by_nothing_count_alike():
    # By hand: without unit 0 both have the mean 0.2 (0.1 and 0.3, or 0.2 twice: equal but for
    # rounding), without unit 1 condition 1 is least (0.2 against 0.65), without unit 2 (0.2, 0.55).
    values = np.array([[1.0, 0.1, 0.3], [0.2, 0.2, 0.2]])
    one, other = choose_least(values), choose_least(values[::-1])
    assert one.least == pytest.approx(((1.0 + 0.2) / 2 + 0.2 + 0.2) / 3)
    assert one.kept == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert (other.least, other.kept) == pytest.approx((one.least, one.kept))
