"""Probes on states of known truth: signal, chance, folds by episode, coverage."""

from itertools import islice

import numpy as np
import pytest
from scipy.stats import norm

from tomeval.extensions.internal import probe
from tomeval.extensions.internal.probe import by_chance, decode, fitted, folds_of, shuffled
from tomeval.statistics.estimates import estimate


def episodes_of(count, steps):
    return np.repeat(np.arange(count), steps)


def drawn(rng, count, steps, shift, width=3, layers=1, signal=0):
    """Return states whose first number moves by `shift` with a fair label, and the labels."""
    episode = episodes_of(count, steps)
    truth = np.repeat(rng.permutation(np.arange(count) % 2), steps)
    states = rng.standard_normal((len(truth), layers, width))
    states[:, signal, 0] += shift * (2 * truth - 1)
    return states, truth, episode


def test_folds_hold_whole_episodes_and_spread_partners() -> None:
    episode = episodes_of(12, 4)
    partner = np.repeat(np.arange(12) % 3, 4)
    fold = folds_of(episode, partner, 4, np.random.default_rng(0))
    for number in range(12):
        assert len(set(fold[episode == number])) == 1
    for out in range(4):
        assert sorted(partner[fold == out]) == [0] * 4 + [1] * 4 + [2] * 4


def test_a_signal_is_read_at_its_layer_and_as_well_as_can_be() -> None:
    rng = np.random.default_rng(1)
    states, truth, episode = drawn(rng, 60, 20, 1.0, layers=3, signal=1)
    probs, chosen = decode(states, truth, episode, truth, folds_of(episode, truth, 3, rng), 2)
    assert chosen == [1, 1, 1]
    # The best reader of two normal densities 2 apart is right in norm.cdf(1) of the steps.
    assert (probs.argmax(axis=1) == truth).mean() == pytest.approx(norm.cdf(1.0), abs=0.03)


def test_labels_are_exchanged_by_whole_episodes_with_their_partner() -> None:
    episode = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    truth = np.array([0, 1, 2, 2, 2, 2, 1, 1])
    seen = {tuple(shuffled([truth], episode, np.random.default_rng(n))[0]) for n in range(20)}
    assert seen == {(0, 1, 2, 2, 2, 2, 1, 1), (2, 2, 2, 0, 1, 2, 1, 1)}
    episode = episodes_of(9, 2)
    partner = episode % 3
    mixed, strata = shuffled(
        (10 * partner + np.arange(18) % 2, partner), episode, np.random.default_rng(0)
    )
    assert (mixed // 10 == strata).all()
    assert (strata != partner).any()


def test_states_that_hold_nothing_are_found_to_hold_in_at_most_5_percent_of_runs(
    monkeypatch,
) -> None:
    # One label an episode, of three in folds that they do not fill evenly; steps of an episode
    # share a drawn offset, and would look like a signal.
    monkeypatch.setattr(probe, "STRENGTHS", (0.1,))
    rng, held = np.random.default_rng(2), 0
    for _ in range(100):
        episode = episodes_of(9, 2)
        truth = np.repeat(rng.permutation(np.arange(9) % 3), 2)
        states = rng.standard_normal((18, 1, 2)) + rng.standard_normal((9, 1, 2))[episode]
        probs, _ = decode(states, truth, episode, truth, folds_of(episode, truth, 2, rng), 3)
        mixed = by_chance(states, truth, episode, truth, 2, 3, rng)
        # One exchange that does as well makes p at least 0.1: the others need not be made.
        real = (probs.argmax(axis=1) == truth).mean()
        held += all(one.mean() < real for one in islice(mixed, 19))
    assert held <= 10  # of 5 expected; more have a chance of 1 %


def test_intervals_over_episodes_cover_how_the_same_probes_do_on_other_ones(monkeypatch) -> None:
    monkeypatch.setattr(probe, "STRENGTHS", (0.1,))
    rng = np.random.default_rng(3)
    fresh, labels, _ = drawn(rng, 2000, 1, 0.8, width=1)
    covered = 0
    for _ in range(60):
        states, truth, episode = drawn(rng, 30, 3, 0.8, width=1)
        fold = folds_of(episode, truth, 2, rng)
        right = decode(states, truth, episode, truth, fold, 2)[0].argmax(axis=1) == truth
        interval = estimate(right.reshape(30, 3).mean(axis=1)[:, None])
        trains = [(states[fold != n, 0], truth[fold != n]) for n in (0, 1)]
        others = [fitted(*train, 0.1, fresh[:, 0], 2).argmax(axis=1) for train in trains]
        true = np.mean([(one == labels).mean() for one in others])
        covered += interval.low[0] <= true <= interval.high[0]
    assert covered >= 52  # 0.95 of 60 is 57; fewer than 52 has a chance of 0.4 %
