"""A server that hangs up on a question that no move needs: play goes on, and tables say so."""

from __future__ import annotations

import numpy as np
import pytest
from fake_server import FakeServer
from support import stored

import tomeval as package
from tomeval.core.outcomes import BACKEND_ERROR, NOT_ASKED, VALID
from tomeval.runs.results import Run
from tomeval.strategies.readers import MARKER

EPISODES, STEPS = 3, 4
ACT, PREDICT, REACT = (
    "do you choose in round",
    "will the other player choose",
    "Suppose that you choose",
)


class Talks(FakeServer):
    def text(self, body):
        return f"{MARKER} J"


def played(folder, hangs_up, **options):
    """Play always(0) with a server that closes the connection on questions with these words."""
    with Talks("plain") as server:
        server.hangs_up = hangs_up
        model = {"name": f"openai:toy@{server.url}", "retry_budget": 0.0, "concurrency": 1}
        experiment = {
            **{"games": "IPD", "labels": "neutral", "partners": "always(0)"},
            **{"horizon": STEPS, "episodes": EPISODES, "model": model},
            "subjects": [{"strategy": "QA", "max_attempts": 2, **options}],
        }
        package.run(experiment, folder, concurrency=1).close()
    return Run(folder)


@pytest.mark.parametrize(
    ("words", "options", "lost"),
    [
        (f"{PREDICT} in round 2", {}, {"predict": EPISODES}),
        (PREDICT, {}, {"predict": EPISODES * STEPS}),
        (REACT, {"conditional": True}, {"react": 2 * EPISODES * (STEPS - 1)}),
    ],
)
def test_play_goes_on_without_what_no_move_needs(tmp_path, tomeval, words, options, lost) -> None:
    with played(tmp_path / "run", words, **options) as run:
        [status], [row] = run.status(), run.rows()
        outcomes = stored(run, "steps", "act_outcome", "predict_outcome")
    assert (status["complete"], status["void"], status["failed"]) == (EPISODES, 0, 0)
    assert {act for act, _ in outcomes} == {VALID}
    assert [predict for _, predict in outcomes].count(BACKEND_ERROR) == lost.get("predict", 0)
    # Always J, which the partner plays: what was asked is right, and nothing else counts.
    whole = lost.get("predict") == EPISODES * STEPS
    assert np.isnan(row["tom_percent"]) if whole else row["tom_percent"] == 100.0
    assert row["delta_functional_per_step"] == 2.0  # 8 points where 10 were to be had
    assert row["invalid_rate"] == 0  # what a player did not say is no answer of its own
    ((form, count),) = lost.items()
    said = f"no reply to {count} questions besides the moves ({count} of '{form}')"
    assert said in " ".join(tomeval("table", tmp_path / "run")[2].split())
    assert said in " ".join(tomeval("status", tmp_path / "run")[1].split())


def test_the_question_of_the_move_is_needed(tmp_path) -> None:
    with played(tmp_path / "run", f"{ACT} 2") as run:
        [status] = run.status()
        rows = stored(run, "steps", "act_outcome", "predict_outcome", "step")
        outcomes = [row[:2] for row in rows if row[2] == 2]
    assert (status["complete"], status["void"], status["failed"]) == (0, 0, EPISODES)
    assert set(outcomes) == {(BACKEND_ERROR, NOT_ASKED)}


def test_a_prediction_that_the_move_stands_on_is_needed(tmp_path) -> None:
    with played(tmp_path / "run", f"{PREDICT} in round 2", strategy="Social QA") as run:
        [status] = run.status()
    assert (status["complete"], status["failed"]) == (0, EPISODES)
