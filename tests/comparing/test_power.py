"""Power is that of the test that `compare` makes, counted in simulated comparisons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arena_runs import played
from paired_arrays import paired

import tomeval
from tomeval.comparing.comparison import compare
from tomeval.comparing.power import _spread, episodes_needed, needed
from tomeval.runs.results import iterate_export
from tomeval.statistics.flips import enough_pairs, pairs_needed, smallest_effect
from tomeval.statistics.paired import sign_flip, sign_flip_exact

SUBJECTS = [
    {"kind": "simulated", "name": "low", "p": 0.6, "q": 0.8},
    {"kind": "simulated", "name": "high", "p": 0.9, "q": 0.8},
    {"kind": "random"},
]
PILOT = {"games": "IPD", "partners": "tit_for_tat", "subjects": SUBJECTS, "horizon": 15}


@pytest.mark.parametrize(
    ("pairs", "tests"), [(8, 1), (9, 1), (10, 5), (11, 5), (11, 11), (12, 5), (20, 5), (40, 5)]
)
def test_the_pairs_that_are_asked_for_find_the_difference(pairs, tests) -> None:
    """3,000 data sets: the standard error of a share of 0.8 is 0.7 points."""
    rng = np.random.default_rng(pairs * tests)
    effect = smallest_effect(pairs - 1, 0.8, 0.05 / tests) * (1 + 1e-6)
    found = needed(pairs, 1, 1.0, difference=effect, tests=tests)
    assert found["pairs_needed"] == found["episodes"] == pairs
    assert found["power"] == pytest.approx(0.8, abs=1e-4)
    assert found["smallest_difference"] == pytest.approx(effect, rel=1e-4)
    parts = (effect + rng.normal(size=(3_000, pairs))).T / pairs
    if pairs <= 13:
        p = sign_flip_exact([parts])
    else:
        sizes = np.full((1, 3_000), float(pairs))
        p = sign_flip([parts[:, None]], np.ones((1, 3_000)), sizes, 4_999, rng)[1]
    assert 0.77 < (p * tests < 0.05).mean() < 0.9


def test_too_few_pairs_have_no_power() -> None:
    """By hand: 2 / 2^n times the tests must be below 0.05, so 2^n above 40 times the tests."""
    for tests, enough in ((1, 6), (2, 7), (5, 8), (11, 9), (35, 11)):
        assert enough_pairs(tests, 9_999) == enough == math.floor(math.log2(40 * tests)) + 1
        found = needed(enough + 1, 1, 1.0, difference=100.0, tests=tests)
        assert found["reason"].endswith(f"{enough + 1} of at least {enough + 2} pairs")
        assert (found["pairs_needed"], math.isnan(found["power"])) == (enough + 2, True)
    assert enough_pairs(600, 9_999) is None  # no p below 1 / 10,000


def test_over_several_tasks_units_are_one_sample_of_their_mean_variance() -> None:
    """The mean over two tasks of n units each: variance (0.25 + 2.25) / (4 n) = sd^2 / (2 n)."""
    rng = np.random.default_rng(4)
    tables = [sd * rng.normal(size=(4_000, 1)) for sd in (0.5, 1.5)]
    pairs, groups, sd = _spread(paired(*tables), 0, 0)
    assert (pairs, groups) == (8_000, 2)
    assert sd == pytest.approx(math.sqrt(1.25), rel=0.03)


def test_power_from_a_pilot(tmp_path) -> None:
    folder = tmp_path / "run"
    tomeval.run({**PILOT, "episodes": 24}, folder).close()
    rows = episodes_needed(folder, "tom", 5.0, "subject", "low")
    assert [row["subject"] for row in rows] == ["high", "random"]
    with tomeval.Run(folder) as run:
        columns, found = iterate_export(run, "episodes")
        at = [columns.index(name) for name in ("subject", "tom_percent")]
        values = [[row[place] for place in at] for row in found]
    x, y = (np.array([v for who, v in values if who == name]) for name in ("high", "low"))
    sd = (x - y).std(ddof=1)
    row = rows[0]
    assert (row["metric"], row["unit"], row["tests"]) == ("tom_percent", "episodes", 2)
    assert row["sd"] == pytest.approx(sd)
    assert row["pairs_needed"] == row["episodes"]
    assert row["pairs_needed"] == pairs_needed(5 / sd, 0.8, 0.025) + 1
    assert episodes_needed(folder, "tom_percent", -5.0, "subject", "low") == rows


def test_no_more_episodes_are_asked_of_copies(tmp_path) -> None:
    """The most probable labels of two models: one episode with a partner tells all others."""
    pytest.importorskip("torch")
    experiment = {
        **{"games": "RPS", "partners": "single_action", "labels": "neutral", "horizon": 4},
        **{"model": ["pocket", "pocket-rational"]},
        "subjects": {"strategy": "LM", "decide": "argmax"},
        "episodes": 12,
    }
    tomeval.run(experiment, tmp_path / "run").close()
    (row,) = episodes_needed(tmp_path / "run", "reward_per_step", 0.1, "model")
    assert row["pairs"] == 3  # partners
    assert row["reason"] == "each distinct episode was played once: there can be no more"
    assert (row["episodes"], row["pairs_needed"]) == (None, None)


def test_deals_are_the_units_of_the_arena(tmp_path) -> None:
    """Three seats on every deal: games come in threes."""
    lineups = [{"game": "g", "subject": ["chance", "sloppy"], "others": ["tft", "alld"]}]
    games = {"g": {"game": "ipd3", "rounds": 2}}
    with played(tmp_path / "run", lineups, games, episodes=9) as run:
        (row,) = episodes_needed(run, "reward", 0.5, "player")
        assert len(run.cells[0].episodes) == 9
        found = compare(run, "player", metrics=["reward"], resamples=99)
    assert (row["unit"], row["pairs"], found.pairs[0, 0]) == ("deals", 3, 3)
    assert row["episodes"] == 3 * row["pairs_needed"]
