"""Confidence sequences: values by other routes, coverage at every look, what must not matter."""

import math

import numpy as np
import pytest

from tomeval.statistics import estimate
from tomeval.statistics.sequences import (
    TUNE,
    mean_sequence,
    ratio_sequence,
    sequence_p,
)

UNIT = (0.0, 1.0)


def capital(values, mean):
    """Return the capital of every bet against a mean, one product after the other."""
    best = -math.log2(math.sqrt(2 * math.log(2 / 0.05) / TUNE))
    octaves = [0.02, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8]
    near = [1 / (1 + (octave - best) ** 2) for octave in octaves]
    shares = [2 / 3 * weight / sum(near) for weight in near]
    shares[0] += 1 / 3
    total = 0.0
    for octave, share in zip(octaves, shares, strict=True):
        money = [1.0, 1.0]
        for x in values:
            money[0] *= 1 + 2**-octave * (x / mean - 1)
            money[1] *= 1 + 2**-octave * ((1 - x) / (1 - mean) - 1)
        total += share * sum(money) / 2
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_bounded_sequence_is_where_no_bettor_gets_rich(seed):
    values = np.random.default_rng(seed).beta(0.6, 1.5, 14)
    grid = np.linspace(0.0005, 0.9995, 1000)
    poor = [mean for mean in grid if capital(values, mean) < 20]
    low, high = mean_sequence(values, bounds=UNIT)
    assert low == pytest.approx(poor[0], abs=0.0011)
    assert high == pytest.approx(poor[-1], abs=0.0011)


@pytest.mark.parametrize("seed", range(3))
def test_p_is_one_over_the_capital_and_agrees_with_the_interval(seed):
    values = np.random.default_rng(seed).beta(2, 1, 20)
    low, high = mean_sequence(values, bounds=UNIT)
    for mean in (0.1, low - 1e-6, low + 1e-6, 0.6, high - 1e-6, high + 1e-6, 0.95):
        p = sequence_p(values, mean, bounds=UNIT)
        assert p == pytest.approx(min(1, 1 / capital(values, mean)))
        assert (p <= 0.05) == (not low <= mean <= high)
    assert sequence_p(3 * values - 1, 3 * 0.2 - 1, bounds=(-1, 2)) == pytest.approx(
        sequence_p(values, 0.2, bounds=UNIT)
    )
    for expected, bounds in ((0.0, UNIT), (2.0, UNIT), (0.5, (0, 0.1)), (0.5, (-math.inf, 1))):
        assert math.isnan(sequence_p(values, expected, bounds=bounds))


def test_p_is_seldom_small_at_any_look_where_the_hypothesis_holds():
    """At most 5 % of 200 fair coins fall below 0.05 at any of 40 looks; always looking at p."""
    draws = np.random.default_rng(9).integers(0, 2, (200, 40))
    least = [min(sequence_p(row[:n], 0.5, bounds=UNIT) for n in range(1, 41)) for row in draws]
    assert np.mean(np.array(least) <= 0.05) <= 0.05


def missed(draw, mean, bounds, looks, runs, seed=1):
    """Return in which share of runs the sequence misses the mean at any look."""
    rng = np.random.default_rng(seed)
    lost = 0
    for _ in range(runs):
        values = draw(rng, looks[-1])
        ends = [mean_sequence(values[:n], bounds=bounds) for n in looks]
        lost += any(not low <= mean <= high for low, high in ends)
    return lost / runs


LOOKS = (6, 8, 12, 16, 20, 30, 40, 60, 80, 120, 160, 200)
CASES = {
    "uniform": (lambda rng, n: rng.random(n), 0.5, UNIT),
    "coins apart": (lambda rng, n: np.diff(rng.integers(0, 2, (n, 2)) * 1.0)[:, 0], 0.0, (-1, 1)),
    "rare and bounded": (lambda rng, n: (rng.random(n) < 0.05) * 1.0, 0.05, UNIT),
    "outliers": (
        lambda rng, n: np.where(rng.random(n) < 0.03, 1.0, 0.2 + 0.02 * rng.random(n)),
        0.97 * 0.21 + 0.03,
        UNIT,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_sequence_holds_at_all_looks_together(case):
    draw, mean, bounds = CASES[case]
    assert missed(draw, mean, bounds, LOOKS, 100) <= 0.05


def test_a_ratio_with_unequal_sizes_holds():
    """Clusters of 1 to 6 hits, which agree within the cluster, around a share of 0.3."""
    rng, lost = np.random.default_rng(6), 0
    for _ in range(200):
        sizes = rng.integers(1, 7, 120)
        hits = sizes * (rng.random(120) < 0.3)
        ends = [ratio_sequence(hits[:n], sizes[:n], bounds=UNIT) for n in (6, 10, 20, 50, 120)]
        lost += any(not low <= 0.3 <= high for low, high in ends)
    assert lost / 200 <= 0.05


def test_estimates_take_clusters_as_units():
    rng = np.random.default_rng(7)
    units = rng.random(25)
    values, clusters = np.repeat(units, 4), np.repeat(np.arange(25), 4)
    mixed = rng.permutation(100)
    found = estimate(values[mixed], "sequence", clusters=clusters[mixed], bounds=UNIT)
    assert (found.low[0], found.high[0]) == pytest.approx(mean_sequence(units, bounds=UNIT))
    alone = estimate(values, "sequence", bounds=UNIT)
    assert alone.high[0] - alone.low[0] < found.high[0] - found.low[0]
    assert np.isnan(estimate(units[:4], "sequence", bounds=UNIT).low[0])
