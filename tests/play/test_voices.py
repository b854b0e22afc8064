"""Strategies with default settings behind a server that speaks in many voices."""

import pytest
from support import calls_in, stored
from voice_server import VoiceServer, meant
from voice_styles import COOPERATIVE, VOICES

from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

HORIZON = 3
LABELS = ("J", "F")
STRATEGIES = ["QA", "S2A + CoT", "CoT + 3-Shot", "Plans + Insights", "Reflexion 1", "Social LM"]


def play(voice, folder, strategies=STRATEGIES, **options):
    """Play IPD, one episode a strategy, and return steps, statuses and the calls' records."""
    with VoiceServer(voice) as server:
        data = {
            "games": ["IPD"],
            "partners": ["tit_for_tat"],
            "labels": "neutral",
            "horizon": HORIZON,
            "episodes": 1,
            "subjects": [{"strategy": strategies, **options}],
            "model": server.model,
        }
        run_experiment(make_experiment(data), folder)
    with Run(folder) as run:
        columns = ("strategy", "step", "own_label", "predicted_label")
        rows = [row for cell in run.cells for row in cell.step_rows()]
        steps = [tuple(map(row.get, columns)) for row in rows if row["status"] == "complete"]
        statuses = [status for (status,) in stored(run, "episodes", "status")]
        records = [record for *_, record in calls_in(run)]
    return steps, statuses, records


@pytest.mark.parametrize("voice", COOPERATIVE)
def test_every_answer_is_read_as_it_was_meant(voice, tmp_path):
    steps, statuses, records = play(voice, tmp_path / "run")
    assert statuses == ["complete"] * len(STRATEGIES)
    assert len(steps) == HORIZON * len(STRATEGIES)
    for _, step, own, predicted in steps:
        assert (own, predicted) == (meant(LABELS, step), meant(LABELS, step))
    assert {record["outcome"] for record in records if "outcome" in record} == {"valid"}
    assert any("\nPlans: " in record["prompt_rest"] for record in records)  # notes are shown again


@pytest.mark.parametrize("voice", [name for name in VOICES if name not in COOPERATIVE])
def test_nothing_is_read_from_voices_that_do_not_answer(voice, tmp_path):
    steps, statuses, records = play(voice, tmp_path / "run", ["QA", "CoT"], max_attempts=2)
    assert not steps
    assert statuses == ["void"] * 2
    outcomes = {record["outcome"] for record in records}
    expected = {
        "refusal": {"unparsable"},
        "hedging": {"illegal"},
        "thinking without end": {"truncated"},
        "cut off": {"truncated"},
        "two answers": {"unparsable"},
    }
    assert outcomes == expected[voice]
