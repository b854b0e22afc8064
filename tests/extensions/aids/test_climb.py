"""Shares of a loss that a sequence of aids removes: sums, intervals, and which part is named."""

import numpy as np
import pytest
from scipy import stats

from tomeval.extensions.aids.climb import NO_EPISODE, NO_LOSS, ONE_EPISODE, climb


def losses(count=30, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 0.3, (count, 1))  # rows are paired
    return np.array([2.0, 1.2, 1.3, 0.9, 0.2]) + shared + rng.normal(0, 0.2, (count, 5))


def test_a_hand_worked_case():
    found = climb([[2.0, 1.0, 1.5], [4.0, 2.0, 1.5]])
    assert found.loss.tolist() == [3.0, 1.5, 1.5]
    assert found.part.tolist() == [1.5, 0.0, 1.5]  # removed, removed, left
    # Two episodes: t = 12.706 with 1 degree of freedom, the mean 3 has standard error 1.
    assert found.unknown == NO_LOSS
    assert np.isnan(found.share).all()
    assert found.largest is found.rival is None
    exact = climb([[2.0, 1.0, 1.5], [4.0, 2.0, 1.5]], exact=True)
    assert exact.share.tolist() == [0.5, 0.0, 0.5]
    assert np.isnan([exact.share_low, exact.share_high]).all()
    assert exact.largest is None  # two are as large
    assert climb([[2.0, 0.5, 0.25]], exact=True).largest == 0


@pytest.mark.parametrize("seed", range(5))
def test_shares_add_up_to_one_and_do_not_depend_on_the_unit(seed):
    found = climb(losses(seed=seed))
    assert found.part.sum() == pytest.approx(found.loss[0], rel=1e-12)
    assert found.share.sum() == pytest.approx(1.0, rel=1e-12)
    assert found.share[1] < 0  # an aid that does harm
    scaled = climb(7.5 * losses(seed=seed))
    np.testing.assert_allclose(scaled.share, found.share, rtol=1e-12)
    np.testing.assert_allclose(scaled.share_high, found.share_high, rtol=1e-9)
    assert scaled.largest == found.largest
    shuffled = climb(np.random.default_rng(seed).permutation(losses(seed=seed)))
    np.testing.assert_allclose(shuffled.share_low, found.share_low, rtol=1e-9)


def test_the_ends_are_ratios_that_a_t_test_just_keeps():
    data = losses()
    found = climb(data)
    parts = np.column_stack([data[:, :-1] - data[:, 1:], data[:, -1]])
    for k in range(5):
        for end in (found.share_low[k], found.share_high[k]):
            assert stats.ttest_1samp(parts[:, k] - end * data[:, 0], 0.0).pvalue == pytest.approx(
                0.05, rel=1e-6
            )


def test_why_there_are_no_shares():
    assert climb(np.empty((0, 5))).unknown == NO_EPISODE
    assert np.isnan(climb(np.empty((0, 5))).loss).all()
    one = climb([[1.0, 0.5]])
    assert one.unknown == ONE_EPISODE
    assert one.loss.tolist() == [1.0, 0.5]
    assert climb(-losses()).unknown == NO_LOSS  # a ratio to a gain is no share of a loss
    assert climb([[0.0, 0.0]] * 3).unknown == NO_LOSS
    assert climb([[0.0, -1.0]], exact=True).unknown == NO_LOSS
    with pytest.raises(ValueError, match="at least two"):
        climb([[1.0], [2.0]])


def test_the_largest_part_is_named_only_where_it_leads():
    found = climb(losses(200))
    assert found.largest == 0
    assert found.rival is None
    level = losses(8)
    level[:, 4] += 0.2  # the last aid removes about what the first one does
    found = climb(level)
    assert found.unknown == ""
    assert found.largest is None
    assert {int(found.part.argmax()), found.rival} == {0, 3}


def test_what_never_varies_has_no_interval_and_is_named_from_six_episodes_on():
    for count, largest in ((2, None), (5, None), (6, 0), (20, 0)):
        found = climb([[2.0, 0.5, 0.5]] * count)
        assert found.share.tolist() == [0.75, 0.0, 0.25]
        assert np.isnan([found.share_low, found.share_high]).all()
        assert found.largest == largest


def test_a_wrong_part_is_rarely_named():
    """Two parts are equal in truth: whichever is named is a mistake, 5 % of the times at most."""
    rng = np.random.default_rng(1)
    named = 0
    for _ in range(400):
        first, second, rest = rng.normal((1.0, 1.0, 0.2), 0.5, (15, 3)).T
        named += climb(np.column_stack([first + second + rest, second + rest, rest])).largest in (
            0,
            1,
        )
    assert named <= stats.binom(400, 0.05).ppf(0.999)
