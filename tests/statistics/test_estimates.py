from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tomeval.core.errors import TomevalError
from tomeval.statistics.estimates import INTERVALS, estimate

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


@pytest.mark.parametrize(
    "data",
    [
        rng(1).gamma(1, 2, 40),
        rng(2).normal(size=15),
        rng(3).integers(0, 2, 60).astype(float),
        rng(4).exponential(size=200) ** 2,
    ],
    ids=["gamma", "normal", "binary", "skewed"],
)
def test_bca_is_scipys_without_strata(data: np.ndarray) -> None:
    # Both draw their own resamples: with 40,000 the ends agree to about a fiftieth of the width.
    theirs = stats.bootstrap(
        (data,), np.mean, n_resamples=40_000, method="BCa", rng=rng(5), batch=2_000
    ).confidence_interval
    ours = estimate(data, "bca", rng=rng(6), resamples=40_000)
    # ... and to one possible value of the mean where it can take few values, as for 0/1 episodes.
    step = 1.001 / len(data) if set(data) <= {0.0, 1.0} else 0.0
    close = max(step, 0.03 * (theirs.high - theirs.low))
    assert ours.low[0] == pytest.approx(theirs.low, abs=close)
    assert ours.high[0] == pytest.approx(theirs.high, abs=close)
    assert ours.half[0] == pytest.approx((ours.high[0] - ours.low[0]) / 2)


@pytest.mark.parametrize("seed", range(6))
def test_bca_is_moved_and_scaled_with_the_data(seed: int) -> None:
    """Thirds have no exact sums: whether a resample equals the mean must not hang on rounding."""
    data = rng(seed).integers(0, 4, 9).astype(float)
    plain = estimate(data, "bca", rng=rng(1), resamples=999)
    other = estimate(100 * data / 3 + 0.1, "bca", rng=rng(1), resamples=999)
    for ours, theirs in ((plain.low, other.low), (plain.high, other.high)):
        assert theirs[0] == pytest.approx(100 * ours[0] / 3 + 0.1)


def plain_stratified_bca(data, strata, generator, resamples):
    """BCa of a stratified mean from Davison and Hinkley 1997, section 5.3.2, in plain loops.

    The empirical influence of observation j in stratum i of size n_i is
    l_ij = (n / n_i) * w_i * (y_ij - mean_i) with w_i = n_i / n the stratum's share of the mean, and
    a = (1/6) sum_i n_i^-3 sum_j L_ij^3 / (sum_i n_i^-2 sum_j L_ij^2)^1.5 with L_ij = w_i (y - mean)
    (equation 5.22).
    """
    n = len(data)
    groups = [data[strata == s] for s in np.unique(strata)]
    means = np.array(
        [sum(generator.choice(g, len(g)).sum() for g in groups) / n for _ in range(resamples)]
    )
    below = np.mean(means < data.mean()) + 0.5 * np.mean(means == data.mean())
    cube = sum((((len(g) / n) * (g - g.mean())) ** 3).sum() / len(g) ** 3 for g in groups)
    square = sum((((len(g) / n) * (g - g.mean())) ** 2).sum() / len(g) ** 2 for g in groups)
    a = cube / (6 * square**1.5)
    z0 = stats.norm.ppf(below)
    ends = []
    for level in (0.025, 0.975):
        z = z0 + stats.norm.ppf(level)
        ends.append(np.quantile(means, stats.norm.cdf(z0 + z / (1 - a * z))))
    return ends


def test_stratified_bca_is_the_textbooks() -> None:
    generator = rng(9)
    data = np.concatenate(
        [
            generator.exponential(1, 20),
            5 + generator.exponential(0.5, 35),
            generator.normal(9, 1, 8),
        ]
    )
    strata = np.repeat([0, 1, 2], [20, 35, 8])
    low, high = plain_stratified_bca(data, strata, rng(10), 20_000)
    found = estimate(data, "bca", strata=strata, rng=rng(11), resamples=20_000)
    assert found.low[0] == pytest.approx(low, abs=0.03 * (high - low))
    assert found.high[0] == pytest.approx(high, abs=0.03 * (high - low))
    # the partners differ far more than episodes within a partner: stratifying must narrow it
    loose = estimate(data, "bca", rng=rng(11), resamples=20_000)
    assert found.half[0] < 0.5 * loose.half[0]


def test_strata_do_not_depend_on_order_or_names() -> None:
    data = rng(1).normal(size=(30, 2))
    strata = np.repeat([0, 1, 2], 10)
    base = estimate(data, "bca", strata=strata, rng=rng(3))
    named = estimate(data, "bca", strata=[f"p{k}" for k in strata], rng=rng(3))
    assert (base.low == named.low).all()


def test_single_episode_strata_turn_stratification_off() -> None:
    # A stratum of one has no spread of its own: kept apart it would count as certain.
    data = np.array([0.0, 0.1, 0.2, 0.3, 9.0])
    strata = [0, 0, 0, 0, 1]
    found = estimate(data, "bca", strata=strata, rng=rng(3))
    free = estimate(data, "bca", rng=rng(3))
    assert (found.low, found.high) == (free.low, free.high)
    assert found.high[0] > 3


@pytest.mark.parametrize("method", METHODS)
def test_no_episode_and_one_episode(method: str) -> None:
    none = estimate(np.empty((0, 3)), method, rng=rng())
    assert all(np.isnan(part).all() and part.shape == (3,) for part in none)
    one = estimate([[1.0, 2.0, np.nan]], method, rng=rng())
    assert one.mean.tolist()[:2] == [1.0, 2.0]
    assert np.isnan(one.mean[2])
    for part in (one.half, one.low, one.high):
        assert np.isnan(part).all()


@pytest.mark.parametrize("method", ONCE)
@pytest.mark.parametrize("value", [0.0, -3.7, 1e-12])
@pytest.mark.parametrize("strata", [None, [0, 0, 0, 1, 1, 1, 1]])
def test_equal_values_have_no_width(method: str, value: float, strata) -> None:
    found = estimate(np.full(7, value), method, rng=rng(), strata=strata)
    assert found.mean[0] == pytest.approx(value, rel=1e-12)
    assert found.half[0] == pytest.approx(0, abs=1e-12 * max(1e-12, abs(value)) * 1e3)
    assert found.low[0] == pytest.approx(value, rel=1e-9)
    assert found.high[0] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_metric_that_is_missing_somewhere_is_missing(method: str) -> None:
    data = rng().normal(size=(29, 3))
    data[4, 1] = np.nan
    strata, bounds = [0] * 14 + [1] * 15, (-9.0, 9.0)
    for part in estimate(data, method, rng=rng(), strata=strata, bounds=bounds):
        assert np.isnan(part).tolist() == [False, True, False]


@pytest.mark.parametrize("method", METHODS)
def test_metrics_do_not_influence_each_other(method: str) -> None:
    data = rng().gamma(2, size=(25, 3))
    whole = estimate(data, method, rng=rng(4), bounds=(0.0, 99.0))
    for j in range(3):
        alone = estimate(data[:, j], method, rng=rng(4), bounds=(0.0, 99.0))
        for left, right in zip(whole, alone, strict=True):
            assert left[j] == pytest.approx(right[0], rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_shift_and_scale(method: str) -> None:
    data = rng(8).gamma(2, size=30)
    base = estimate(data, method, rng=rng(1), bounds=(0.0, 50.0))
    moved = estimate(5 + 3 * data, method, rng=rng(1), bounds=(5.0, 155.0))
    assert moved.low[0] == pytest.approx(5 + 3 * base.low[0])
    assert moved.high[0] == pytest.approx(5 + 3 * base.high[0])


def test_the_seed_counts() -> None:
    data = rng().gamma(2, size=50)
    first, again, other = (estimate(data, "bca", rng=rng(s)) for s in (3, 3, 4))
    assert first.low[0] == again.low[0]
    assert first.low[0] != other.low[0]


def test_resampling_in_pieces_covers_every_episode() -> None:
    # More episodes than fit into one piece of the resampling table at a time.
    data = rng().normal(size=3_000)
    found = estimate(data, "bca", rng=rng(2), resamples=2_000)
    normal = estimate(data)
    assert found.half[0] == pytest.approx(normal.half[0], rel=0.08)


def test_errors() -> None:
    with pytest.raises(TomevalError, match="did you mean 'normal'"):
        estimate([1.0, 2.0], "norml")
    with pytest.raises(ValueError, match="needs a generator"):
        estimate([1.0, 2.0], "bca")


@pytest.mark.parametrize("method", ONCE)
def test_coverage_of_a_skewed_mean(method: str) -> None:
    # 500 samples of 60 exponentials, mean 1. Nominal 95 %; for skewed data of this size all three
    # lie a little below. 500 repetitions give a standard error of 1 %.
    generator = rng(12)
    hits = 0
    for _ in range(500):
        found = estimate(generator.exponential(size=60), method, rng=generator, resamples=600)
        hits += found.low[0] <= 1 <= found.high[0]
    assert 0.90 <= hits / 500 <= 0.98


def test_shares_weight_the_strata_and_not_the_draw():
    """Two partners, drawn 3 : 1 by chance, each worth 1/2: the cell's mean is (2 + 10) / 2."""
    values = [1.0, 2.0, 3.0] * 4 + [9.0, 10.0, 11.0, 10.0]
    strata = [0] * 12 + [1] * 4
    rng = np.random.default_rng(1)
    found = estimate(values, "bca", strata=strata, shares={0: 0.5, 1: 0.5}, rng=rng)
    assert found.mean[0] == pytest.approx(6.0)
    assert found.low[0] < 6.0 < found.high[0]
    # Without shares the interval is that of the mean over the partners as drawn, (12*2 + 4*10)/16.
    drawn = estimate(values, "bca", strata=strata, rng=np.random.default_rng(1))
    assert drawn.mean[0] == pytest.approx(4.0)


def test_equal_values_within_strata_give_no_width_between_them():
    found = estimate(
        [2.0, 2.0, 2.0, 8.0, 8.0],
        "bca",
        strata=list("aaabb"),
        shares={"a": 0.25, "b": 0.75},
        rng=np.random.default_rng(0),
    )
    assert (found.mean[0], found.low[0], found.high[0]) == (6.5, 6.5, 6.5)


def test_a_stratum_of_one_keeps_the_weights_and_has_no_interval():
    """By hand: 0.5 x (1 + 2 + 3 + 4) / 4 + 0.5 x 10 = 6.25, and not the plain mean, 4."""
    values = [1.0, 2.0, 3.0, 4.0, 10.0]
    shares = {"a": 0.5, "b": 0.5, "never": 0.0}
    rng = np.random.default_rng(0)
    found = estimate(values, "bca", strata=list("aaaab"), shares=shares, rng=rng)
    assert found.mean[0] == 6.25
    assert np.isnan([found.half[0], found.low[0], found.high[0]]).all()


def test_a_stratum_without_an_episode_leaves_the_weights_of_the_others_and_no_interval():
    """By hand: shares 0.2 and 0.3 of those that were met: 0.4 x (1 + 2) / 2 + 0.6 x 9 = 6."""
    values, strata = [1.0, 2.0, 8.0, 10.0, 9.0], list("aabbb")
    shares = {"a": 0.2, "b": 0.3, "c": 0.5}
    rng = np.random.default_rng(0)
    found = estimate(values, "bca", strata=strata, shares=shares, rng=rng)
    assert found.mean[0] == pytest.approx(6.0)
    assert np.isnan([found.half[0], found.low[0], found.high[0]]).all()
    met = {"a": 0.4, "b": 0.6, "c": 0.0}
    whole = estimate(values, "bca", strata=strata, shares=met, rng=rng)
    assert whole.mean[0] == pytest.approx(6.0)
    assert whole.low[0] < 6 < whole.high[0]
