"""Oracles: scipy, statsmodels, enumeration, brute force."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from tomeval.statistics.flips import pairs_needed, power_of
from tomeval.statistics.paired import (
    equivalence_test,
    hedges,
    holm,
    label_permutation,
    sign_flip,
    sign_flip_exact,
    standard_error,
    t_quantile,
    t_test,
)

RNG = np.random.default_rng(20)
SKEWED = RNG.gamma(1.5, size=(23, 3)) - 1.2


def form(values):
    """Return mean and influences of a plain mean."""
    values = np.asarray(values, dtype=float).reshape(len(values), -1)
    return values.mean(axis=0), [(values - values.mean(axis=0)) / len(values)]


def test_t_is_scipys() -> None:
    mean, influences = form(SKEWED)
    standard = standard_error(influences)
    theirs = scipy.stats.ttest_1samp(SKEWED, 0)
    assert t_test(mean, standard) == pytest.approx(theirs.pvalue, rel=1e-12)
    half = t_quantile(standard) * standard.error
    assert mean + half == pytest.approx(theirs.confidence_interval(0.95).high)


def test_a_task_that_one_group_alone_played_adds_its_sum_to_every_division() -> None:
    x, both = SKEWED[:6], np.array([True] * 3 + [False] * 3)
    shared = (x / 3, -x / 3, both)
    alone = (np.zeros((2, 3)), np.full((2, 3), 0.1), np.array([False] * 2))
    p = label_permutation([shared, alone], np.empty((0, 3)), 99, RNG)
    splits = [list(chosen) for chosen in itertools.combinations(range(6), 3)]
    sums = [(2 * x[chosen].sum(axis=0) - x.sum(axis=0)) / 3 + 0.2 for chosen in splits]
    expected = (np.abs(sums) >= np.abs(sums[0]) - 1e-12).mean(axis=0)
    assert p == pytest.approx(expected)


def test_two_strata_are_welchs_test() -> None:
    one, two = SKEWED[:9], 3 * SKEWED[9:] + 1
    mean = one.mean(axis=0) - two.mean(axis=0)
    influences = [form(one)[1][0], -form(two)[1][0]]
    standard = standard_error(influences)
    theirs = scipy.stats.ttest_ind(one, two, equal_var=False)
    assert standard.freedom == pytest.approx(theirs.df)
    assert t_test(mean, standard) == pytest.approx(theirs.pvalue)


def test_one_unit_has_no_error_and_equal_values_have_none() -> None:
    assert np.isnan(standard_error([np.zeros((1, 2))]).error).all()
    assert np.isnan(standard_error([np.zeros((5, 1)), np.zeros((1, 1))]).error).all()
    constant = standard_error([np.zeros((4, 2))])
    assert constant.error.tolist() == [0, 0]
    assert t_test(np.array([0.0, 2.0]), constant).tolist() == pytest.approx(
        [1, np.nan], nan_ok=True
    )
    assert np.isnan(equivalence_test(np.zeros(2), constant, np.ones(2))).all()
    assert hedges(np.array([0.0, 2.0]), np.zeros(2), 3).tolist() == pytest.approx(
        [0, np.nan], nan_ok=True
    )


def test_equivalence_is_statsmodels() -> None:
    mean, influences = form(SKEWED[:, 0])
    for margin in (0.2, 0.5, 1.0):
        ours = equivalence_test(mean, standard_error(influences), np.array([margin]))
        theirs = ttost_paired(SKEWED[:, 0], np.zeros(23), -margin, margin)[0]
        assert ours[0] == pytest.approx(theirs)
    no_margin = equivalence_test(mean, standard_error(influences), np.array([np.nan]))
    assert np.isnan(no_margin[0])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(values) -> None:
    with mock.patch("gc.collect"):  # at every call theirs collects all that other tests left
        expected = multipletests(values, method="holm")[1]
    assert holm(values) == pytest.approx(expected)


def test_holm_leaves_out_what_was_not_tested() -> None:
    ours = holm([0.02, np.nan, 0.01])
    assert ours[0] == pytest.approx(0.02)
    assert ours[2] == pytest.approx(0.02)
    assert np.isnan(ours[1])
    assert np.isnan(holm([np.nan])).all()


@pytest.mark.parametrize("count", [2, 5, 9])
def test_exact_sign_flips_are_scipys_and_enumerations(count) -> None:
    values = np.round(SKEWED[:count], 1)
    ours = sign_flip_exact([values / count])
    theirs = scipy.stats.permutation_test(
        (values, np.zeros_like(values)),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
        axis=0,
    )
    assert ours == pytest.approx(theirs.pvalue)
    seen = abs(values.sum(axis=0))
    signs = itertools.product((1, -1), repeat=count)
    sums = np.array([abs(np.array(s) @ values) for s in signs])
    assert ours == pytest.approx((sums >= seen - 1e-9).mean(axis=0))


def test_sign_flips_count_ties_in_spite_of_rounding() -> None:
    # 0.1 + 0.2 - 0.3 is not 0 in binary: every pattern is as extreme as the sum of 0 seen.
    assert sign_flip_exact([np.array([[0.1], [0.2], [-0.3]])]).tolist() == [1.0]
    assert sign_flip_exact([np.zeros((4, 1))]).tolist() == [1.0]
    assert sign_flip_exact([np.zeros((3, 1))] * 2).tolist() == [1.0]


def test_sign_flips_of_several_strata_are_those_of_welchs_statistic() -> None:
    """By enumeration; means that differ between strata are no error of their mean."""
    one, two = SKEWED[:5] + 2, SKEWED[5:9] - 1
    ours = sign_flip_exact([one / 10, two / 8])
    seen = []
    for signs in itertools.product((1, -1), repeat=9):
        x, y = np.array(signs[:5])[:, None] * one, np.array(signs[5:])[:, None] * two
        error = np.sqrt(x.var(axis=0, ddof=1) / 5 + y.var(axis=0, ddof=1) / 4)
        seen.append(np.abs(x.mean(axis=0) + y.mean(axis=0)) / error)
    assert ours == pytest.approx((np.array(seen) >= seen[0] - 1e-9).mean(axis=0))
    plain = sign_flip_exact([np.concatenate([one / 10, two / 8])])
    assert (ours < plain).all()


def test_strata_whose_means_cancel_are_found_different_as_often_as_said() -> None:
    """500 data sets with means 1 and -1: the standard error of 5 % is 1 point."""
    rng = np.random.default_rng(3)
    strata = [rng.normal(mean, 0.5, (15, 1, 500)) / 15 for mean in (1, -1)]
    shares, sizes = np.full((2, 500), 0.5), np.full((2, 500), 15.0)
    p = sign_flip(strata, shares, sizes, 499, rng)[1]
    assert 0.02 < (p < 0.05).mean() < 0.08


def generator():
    return np.random.default_rng(0)


def test_monte_carlo_sign_flips_are_near_the_exact_ones() -> None:
    one, two = SKEWED[:6] / 6, SKEWED[6:12] / 6
    strata = [one[:, None], two[:, None]]
    shares = np.full((2, 3), 0.5)
    tasks, pooled = sign_flip(strata, shares, np.full((2, 3), 6.0), 40_000, generator())
    assert tasks[0] == pytest.approx(sign_flip_exact([one]), abs=0.012)
    assert tasks[1] == pytest.approx(sign_flip_exact([two]), abs=0.012)
    assert pooled == pytest.approx(sign_flip_exact([one, two]), abs=0.012)
    size = np.full((1, 1), 60.0)
    smallest, _ = sign_flip([np.ones((60, 1, 1))], np.ones((1, 1)), size, 99, generator())
    assert smallest[0, 0] == 0.01  # never 0


def test_units_in_several_tasks_flip_together() -> None:
    values = SKEWED[:10, :1] / 10
    both = np.stack([values, -values], axis=1)  # the second task undoes the first
    _, pooled = sign_flip([both], np.full((2, 1), 0.5), np.full((1, 1), 10.0), 200, generator())
    assert pooled[0] == 1.0


def test_hedges_factor() -> None:
    # Hedges' approximation 1 - 3 / (4 m - 1), good to a third digit
    for freedom in (5, 20, 100):
        ours = hedges(np.array([1.0]), np.array([1.0]), freedom)[0]
        assert ours == pytest.approx(1 - 3 / (4 * freedom - 1), abs=2e-3)
    assert np.isnan(hedges(np.array([1.0]), np.array([1.0]), 1)[0])


def test_power_is_statsmodels() -> None:
    theirs = TTestPower()
    for effect, pairs in ((0.2, 40), (0.5, 10), (1.0, 3), (0.0, 12)):
        assert power_of(effect, pairs) == pytest.approx(theirs.power(effect, pairs, 0.05), rel=1e-9)
    for effect in (0.1, 0.4, 1.2):
        needed = theirs.solve_power(effect, power=0.9, alpha=0.01)
        assert pairs_needed(effect, 0.9, 0.01) == int(np.ceil(needed))
    assert pairs_needed(-0.4) == pairs_needed(0.4)
    assert pairs_needed(1e-5) is None


def test_p_of_a_column_does_not_depend_on_the_columns_beside_it() -> None:
    rng = np.random.default_rng(5)
    strata = [rng.normal(0.02, 0.1, (30, 2, 400)), rng.normal(0, 0.1, (25, 1, 400))]
    shares = np.full((3, 400), 1 / 3)

    def p(columns):
        some = [part[..., columns] for part in strata]
        sizes = np.array([[30.0], [25.0]]) * np.ones(some[0].shape[-1])
        return sign_flip(some, shares[:, columns], sizes, 9999, np.random.default_rng(1))

    for whole, alone in zip(p(slice(None)), p(slice(7)), strict=True):
        assert whole[..., :7].tolist() == alone.tolist()
