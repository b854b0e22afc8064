"""What readers are told of the intervals of a table."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tomeval
from tomeval.runs.draws import weight_notes
from tomeval.runs.intervals import alike_notes

EXPERIMENT = {"games": ["RPS", "IPD"], "subjects": ["best_response", "random"], "horizon": 10}


@pytest.mark.parametrize(
    ("episodes", "kind", "quantile"), [(7, "t", 2.4469119), (40, "normal", 1.96)]
)
def test_a_row_says_its_kind_and_has_it(tmp_path, episodes, kind, quantile):
    with tomeval.run(EXPERIMENT | {"episodes": episodes}, tmp_path / "run") as run:
        rows = run.rows()
        values = run.cells[1].metrics()["reward_per_step"]
    assert {row["interval"] for row in rows} == {kind}
    half = quantile * values.std(ddof=1) / math.sqrt(episodes)
    assert rows[1]["reward_per_step_ci95"] == pytest.approx(half)


def test_one_episode_has_no_kind(tmp_path):
    with tomeval.run(EXPERIMENT | {"episodes": 1}, tmp_path / "run") as run:
        assert {row["interval"] for row in run.rows()} == {""}
        assert alike_notes(run) == []


def test_equal_episodes_are_no_certainty(tmp_path):
    """If 25 % of all episodes differed, 5.6 % of tens would be alike; with 26 % it is 4.9 %."""
    with tomeval.run(EXPERIMENT | {"episodes": 10}, tmp_path / "run") as run:
        (note,) = alike_notes(run, ["delta_functional_per_step"])
        assert "best_response, RPS" in note
        assert "random" not in note
        assert "From 10 equal ones follows only that at most 26 % of all episodes differ" in note
        assert alike_notes(run, []) == []


def test_bca_says_why_its_mean_differs(tmp_path):
    with tomeval.run(EXPERIMENT | {"games": "IPD", "episodes": 15}, tmp_path / "run") as run:
        cell = run.cells[1]
        values = cell.metrics()["reward_per_step"]
        by_partner = [values[cell.which == draw].mean() for draw in (0, 1)]
        plain, weighted = run.rows("t")[1], run.rows("bca")[1]
        assert plain["reward_per_step"] == pytest.approx(values.mean())
        assert weighted["reward_per_step"] == pytest.approx(np.mean(by_partner))
        assert abs(plain["reward_per_step"] - weighted["reward_per_step"]) > 1e-3
        assert weight_notes(run, "t") == []
        (note,) = weight_notes(run, "bca")
    assert note.startswith("bca: the mean weighs every partner by its share of the set")
    assert "The two means differ in best_response, IPD" in note
