"""Comparisons that hold at every look: sequences of paired differences, e-values, their family."""

import numpy as np
import pytest
from paired_arrays import paired

import tomeval
from tomeval.comparing.comparison import compare, compare_pairs
from tomeval.core.errors import TomevalError
from tomeval.runs.results import Run
from tomeval.statistics.paired import holm
from tomeval.statistics.sequences import e_value, mean_sequence

REGRET = "delta_functional_per_step"
PERCENT = (-100.0, 100.0)
"""Bounds of the differences of `paired`."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("anytime") / "run"
    experiment = {
        "games": ["RPS", "IPD"],
        "partners": ["single_action", "tit_for_tat"],
        "subjects": ["rmax", "random", {"kind": "simulated", "p": 0.9, "q": 0.5}],
        "horizon": 12,
        "episodes": 30,
    }
    tomeval.run(experiment, folder).close()
    return folder


def test_a_task_has_the_sequence_of_its_differences_between_its_own_bounds(folder):
    found = compare(folder, metrics=[REGRET], interval="sequence")
    with Run(folder) as run:
        tasks = {(c.columns["game"], c.columns["partners"], c.player): c for c in run.cells}
        for scope, task in enumerate(found.tasks):
            for k, level in enumerate(found.levels if task else ()):
                here = task["game"], task["partners"]
                cell, base = tasks[(*here, level)], tasks[(*here, found.baseline)]
                values = cell.totals(REGRET).values - base.totals(REGRET).values
                (low, high), (base_low, base_high) = cell.limits(REGRET), base.limits(REGRET)
                bounds = low - base_high, high - base_low
                assert np.isfinite(bounds).all()
                ends = mean_sequence(values, bounds=bounds)
                at = (scope, k, 0)
                assert (found.low[at], found.high[at]) == pytest.approx(ends, abs=1e-9)
                p = min(1, 1 / e_value(values, bounds=bounds))
                assert found.p_sequence[at] == pytest.approx(p, rel=1e-6)
    for scope in range(len(found.scopes)):
        assert found.p_holm[scope, :, 0] == pytest.approx(holm(found.p_sequence[scope, :, 0]))


def test_interval_p_and_verdict_agree_where_nothing_is_corrected(folder):
    with Run(folder, where=["subject=rmax,random"]) as run:
        found = compare(run, "subject", metrics=[REGRET], interval="sequence")
    excludes = (found.low > 0) | (found.high < 0)
    assert (excludes == (found.p_holm < 0.05)).all()
    assert excludes.any()
    for scope, name in enumerate(found.scopes):
        said = found.verdict(found.levels[0], REGRET, scope)
        assert (said in ("higher", "lower")) == bool(excludes[scope, 0, 0]), name


def test_over_all_tasks_their_units_are_one_sample_of_what_all_have():
    rng = np.random.default_rng(1)
    long, short = rng.normal(10, 20, (40, 1)), rng.normal(-2, 20, (30, 1))
    found = compare_pairs(paired(long, short), margin=np.full(1, np.nan), anytime=True)
    sample = np.concatenate([long[:30, 0], short[:, 0]])
    ends = mean_sequence(sample, bounds=PERCENT)
    assert (found.low[0, 0, 0], found.high[0, 0, 0]) == pytest.approx(ends)
    assert found.difference[0, 0, 0] == pytest.approx((long.mean() + short.mean()) / 2)


def test_over_all_tasks_it_holds_at_every_look_though_tasks_differ():
    rng, lost = np.random.default_rng(2), {"sequence": 0, "t": 0}
    for _ in range(120):
        one, two = rng.normal(20, 5, (80, 1)), rng.normal(-20, 25, (80, 1)).clip(-100, 60)
        tables = [
            compare_pairs(
                paired(one[:n], two[:n]), margin=np.full(1, np.nan), resamples=99, anytime=True
            )
            for n in (6, 9, 12, 20, 30, 45, 60, 80)
        ]
        for kind in lost:
            ends = [(getattr(t, f"{kind}_low"), getattr(t, f"{kind}_high")) for t in tables]
            lost[kind] += any(low[0, 0, 0] > 0 or high[0, 0, 0] < 0 for low, high in ends)
    assert lost["sequence"] / 120 <= 0.05
    assert lost["t"] / 120 > 0.1


def test_a_family_holds_at_every_look():
    """Five equal players against a baseline: any find at any of eight looks is false."""
    rng, lost = np.random.default_rng(3), 0
    for _ in range(80):
        table = rng.choice([-60.0, 0.0, 60.0], (80, 5))
        lost += any(
            (
                compare_pairs(
                    paired(table[:n]), margin=np.full(1, np.nan), resamples=99, anytime=True
                ).p_holm
                < 0.05
            ).any()
            for n in (6, 9, 12, 20, 30, 45, 60, 80)
        )
    assert lost / 80 <= 0.05


def test_equivalence_is_the_sequence_within_the_margin():
    values = np.random.default_rng(4).normal(0, 20, (60, 1))
    low, high = mean_sequence(values[:, 0], bounds=PERCENT)
    for margin in (0.9 * max(-low, high), 1.1 * max(-low, high)):
        found = compare_pairs(paired(values), margin=np.array([margin]), anytime=True)
        within = -margin < low and high < margin
        assert (found.p_equivalence[0, 0, 0] < 0.05) == within
        assert found.verdict("a", found.metrics[0]) == ("equivalent" if within else "undecided")


def test_what_has_no_sequence_is_told(folder):
    found = compare(folder, metrics=[REGRET], interval="sequence")
    assert any("effect size has no interval" in note for note in found.notes)
    assert {row["interval"] for row in found.rows()} == {"sequence"}
    assert {row["test"] for row in found.rows()} == {"e-value"}
    plain = compare(folder, metrics=[REGRET])
    assert plain.interval == "t"
    assert "p_sequence" not in plain.rows()[0]
    with pytest.raises(TomevalError, match="did you mean 'sequence'"):
        compare(folder, interval="sequences")
