"""Scores of probabilities and calibration: by hand, by enumeration, by loops, by simulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tomeval.extensions.probabilistic.forecasts import (
    BINS,
    brier_scores,
    calibration,
    crossed_parts,
    curve,
    log_losses,
    plain_parts,
    smoothed,
)
from tomeval.statistics.estimates import estimate
from tomeval.statistics.shares import clustered_share

TRUE = (Fraction(6, 10), Fraction(3, 10), Fraction(1, 10))


def outcomes_of(draws: int) -> dict[tuple[int, ...], Fraction]:
    """Return the chance of every count of actions among draws from `TRUE`, draw by draw."""
    found: dict[tuple[int, ...], Fraction] = {}
    for drawn in itertools.product(range(3), repeat=draws):
        counts = tuple(drawn.count(action) for action in range(3))
        chance = math.prod((TRUE[action] for action in drawn), start=Fraction(1))
        found[counts] = found.get(counts, Fraction(0)) + chance
    return found


@pytest.mark.parametrize("draws", [2, 3, 5])
@pytest.mark.parametrize("actual", [0, 2])
def test_the_brier_score_of_draws_has_no_bias(draws, actual):
    truth = sum((TRUE[b] - (b == actual)) ** 2 for b in range(3))
    mean = plain = 0.0
    for counts, chance in outcomes_of(draws).items():
        shares = np.array([counts]) / draws
        hit = np.array([actual])
        mean += float(chance) * brier_scores(shares, hit, np.array([draws]))[0]
        plain += float(chance) * brier_scores(shares, hit)[0]
    assert mean == pytest.approx(float(truth), abs=1e-12)
    spread = sum(p * (1 - p) for p in TRUE) / draws
    assert plain == pytest.approx(float(truth + spread), abs=1e-12)  # what it would be without


@given(st.lists(st.integers(0, 2), min_size=2, max_size=7), st.integers(0, 2))
def test_it_is_the_mean_over_pairs_of_draws(drawn, actual):
    errors = [[(d == b) - (b == actual) for b in range(3)] for d in drawn]
    pairs = [
        sum(x * y for x, y in zip(one, other, strict=True))
        for one, other in itertools.permutations(errors, 2)
    ]
    shares = np.array([[drawn.count(b) / len(drawn) for b in range(3)]])
    found = brier_scores(shares, np.array([actual]), np.array([len(drawn)]))[0]
    assert found == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)


def test_hand_values():
    probs = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    actual = np.array([0, 1, 2])
    assert log_losses(probs, actual).tolist() == [pytest.approx(math.log(2)), 0.0, math.inf]
    assert brier_scores(probs, actual).tolist() == pytest.approx([0.38, 0.0, 2.0])
    # Three draws, all alike: (3 + 1/2) / (3 + 3/2); never 0.
    assert smoothed(np.array([[3, 0, 0]]))[0].tolist() == pytest.approx([7 / 9, 1 / 9, 1 / 9])


def test_both_scores_are_proper():
    """Whatever is true, nothing scores better in expectation than to say so."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        true, said = rng.dirichlet(np.ones(3), 2)
        honest, other = np.tile(true, (3, 1)), np.tile(said, (3, 1))
        for score in (log_losses, brier_scores):
            assert true @ score(honest, np.arange(3)) < true @ score(other, np.arange(3))


def naive_error(probs, actual, units) -> float:
    """Return Guo's error in loops, every unit weighing the same."""
    total = 0.0
    for k in range(BINS):
        gap = 0.0
        for unit in sorted(set(units)):
            mine = [i for i, u in enumerate(units) if u == unit]
            for i in mine:
                confidence = max(probs[i])
                inside = k / BINS < confidence <= (k + 1) / BINS
                right = list(probs[i]).index(confidence) == actual[i]
                gap += inside * (confidence - right) / len(mine) / len(set(units))
        total += abs(gap)
    return total


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_plain_error_and_curve_are_those_of_loops(seed, size):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(size, 0.7), 24)
    actual, units = rng.integers(0, size, 24), np.repeat(np.arange(4), 6)
    found = calibration(probs, actual, units, 4)
    assert plain_parts(found).mean() == pytest.approx(naive_error(probs, actual, units.tolist()))
    # The same of the curve: every bin's gap by its share of the forecasts.
    points = curve(found)
    gaps = np.abs(points.confidence - points.right) * points.items / points.items.sum()
    assert gaps.sum() == pytest.approx(plain_parts(found).mean())
    place = np.ceil(probs.max(axis=1) * BINS) - 1
    for k, low in zip(np.unique(place), points.low, strict=True):
        here = place == k
        hits = probs.argmax(axis=1)[here] == actual[here]
        assert low == pytest.approx(clustered_share(hits, units[here]).low, nan_ok=True)


def test_names_of_actions_do_not_matter():
    rng = np.random.default_rng(3)
    probs, actual = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    units, order = np.repeat(np.arange(8), 5), np.array([2, 0, 1])
    moved = np.argsort(order)[actual]
    for score in (log_losses, brier_scores):
        assert score(probs[:, order], moved) == pytest.approx(score(probs, actual))
    one, other = (
        calibration(p, a, units, 8) for p, a in ((probs, actual), (probs[:, order], moved))
    )
    assert plain_parts(one).tolist() == plain_parts(other).tolist()


def test_ties_are_named_equally_often():
    found = calibration(np.array([[0.5, 0.5]] * 4), np.array([0, 0, 0, 0]), np.arange(4), 4)
    assert curve(found).right.tolist() == [0.5]
    assert plain_parts(found).mean() == 0.0


SURE = np.array([0.45, 0.6, 0.75, 0.9])


def sample(gap, episodes, rng):
    """Return forecasts that are `gap` too sure; outcomes of an episode go together."""
    place = rng.integers(0, 4, (episodes, 12))
    u = np.where(rng.random(place.shape) < 0.7, rng.random(place.shape), rng.random((episodes, 1)))
    right = (u < SURE[place] - gap).ravel()
    sure = SURE[place].ravel()
    probs = np.stack([sure, (1 - sure) * 0.6, (1 - sure) * 0.4], axis=1)
    units = np.repeat(np.arange(episodes), 12)
    return calibration(probs, np.where(right, 0, 2), units, episodes)


@pytest.mark.parametrize("gap", [0.0, 0.05, 0.2])
def test_intervals_hold_the_calibration_error(gap):
    """At least nominal coverage, but for what 300 samples can tell; the plain error is biased."""
    rng = np.random.default_rng(11)
    held, plain, crossed = 0, [], []
    for _ in range(300):
        found = sample(gap, 20, rng)
        ends = estimate(np.stack([crossed_parts(found), plain_parts(found)], axis=1))
        held += max(0.0, ends.low[0]) <= gap + 1e-12 <= ends.high[1] + 1e-12
        crossed.append(ends.mean[0])
        plain.append(ends.mean[1])
    assert held >= 0.91 * 300
    error = np.std(crossed) / math.sqrt(300)
    if gap == 0:
        assert abs(np.mean(crossed)) < 4 * error
        assert np.mean(plain) > 0.02
    assert np.mean(crossed) <= gap + 4 * error
    assert np.mean(plain) >= gap - 4 * error


def test_one_episode_shows_no_direction():
    found = sample(0.1, 1, np.random.default_rng(0))
    assert np.isnan(crossed_parts(found)).all()
    assert plain_parts(found).shape == (1,)
