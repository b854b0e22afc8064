"""What readers are told of the intervals of a table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attacks import commands

import tomeval
from tomeval.comparing.comparison import compare
from tomeval.runs.notes import interval_notes
from tomeval.statistics.sequences import mean_sequence

EXPERIMENT = {"games": ["RPS", "IPD"], "subjects": ["best_response", "random"], "horizon": 10}


@pytest.mark.parametrize(
    ("episodes", "kind", "quantile"), [(7, "t", 2.4469119), (40, "normal", 1.96)]
)
def test_a_row_says_its_kind_and_has_it(tmp_path, episodes, kind, quantile):
    with tomeval.run(EXPERIMENT | {"episodes": episodes}, tmp_path / "run") as run:
        rows = run.rows()
        values = run.cells[1].metrics()["reward_per_step"]
    assert {row["interval"] for row in rows} == {kind}
    # Payoffs of RPS: the ends solve |m - mean| = quantile x error x sqrt((1 - m²) / (1 - mean²)).
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(episodes)
    for end in ("low", "high"):
        bound = rows[1][f"reward_per_step_ci95_{end}"]
        spread = math.sqrt((1 - bound**2) / (1 - mean**2))
        assert abs(bound - mean) == pytest.approx(quantile * error * spread)


@pytest.mark.parametrize("episodes", [1, 4])
def test_few_episodes_have_no_interval_and_a_note_says_so(tmp_path, episodes):
    """Of two equally likely kinds four episodes show one only in 2 / 2^4 of samples."""
    with tomeval.run(EXPERIMENT | {"episodes": episodes}, tmp_path / "run") as run:
        rows = run.rows()
        assert {row["interval"] for row in rows} == {""}
        ends = [row[key] for row in rows for key in row if "_ci95" in key]
        assert ends
        assert np.isnan(ends).all()
        (note,) = interval_notes(run)
    assert note.startswith("no intervals in best_response, RPS")
    assert note.endswith(": at least 5 episodes are needed")


def test_equal_episodes_are_no_certainty(tmp_path):
    """If 25 % of all episodes differed, 5.6 % of tens would be alike; with 26 % it is 4.9 %."""
    with tomeval.run(EXPERIMENT | {"episodes": 10}, tmp_path / "run") as run:
        assert interval_notes(run, ["delta_functional_per_step"]) == []
        row = run.rows()[0]
        # Student's quantile for ten is 2.262157: a share of 2.262157² / (10 + 2.262157²) is unseen.
        most = run.cells[0].limits("delta_functional_per_step")[1]
        high = row["delta_functional_per_step_ci95_high"]
        assert high == pytest.approx(most * 2.262157**2 / (10 + 2.262157**2), rel=1e-6)
        (note,) = interval_notes(run, ["foresight_gap_per_step"])
        assert "best_response, RPS" in note
        assert (
            "from 10 equal episodes follows only that at most 26 % of all episodes differ" in note
        )
        assert interval_notes(run, []) == []


def test_a_run_that_was_extended_has_sequences_unless_another_kind_is_asked_for(tmp_path):
    folder = tmp_path / "run"
    with tomeval.run(EXPERIMENT | {"episodes": 6}, folder) as run:
        assert not run.sequential
        assert {row["interval"] for row in run.rows()} == {"t"}
    with tomeval.run(EXPERIMENT | {"episodes": 6}, folder) as run:  # resumed is not extended
        assert not run.sequential
    with tomeval.run(EXPERIMENT | {"episodes": 12}, folder) as run:
        assert run.raised == (6, 12)
        rows, fixed = run.rows(), run.rows("t")
        name = "delta_functional_per_step"
        values, bounds = run.cells[1].totals(name).values, run.cells[1].limits(name)
        found = compare(run, "subject", metrics=[name])
    assert {row["interval"] for row in rows} == {"sequence"}
    assert {row["interval"] for row in fixed} == {"t"}
    ends = rows[1][f"{name}_ci95_low"], rows[1][f"{name}_ci95_high"]
    assert ends == pytest.approx(mean_sequence(values, bounds=bounds))
    assert any("extended from 6 to 12 episodes" in note for note in found.notes)
    for kind, said in (("auto", "valid at every look"), ("t", "is not valid after looking")):
        done = commands.call("table", folder, "--interval", kind)
        assert "extended from 6 to 12 episodes" in done.out + done.errors
        assert said in done.out + done.errors
    done = commands.call("compare", folder, "--by", "subject")
    assert "there is no sequence for them" in " ".join((done.out + done.errors).split())
