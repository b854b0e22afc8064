"""The arena behind a server that speaks in many voices: what is meant is read, and nothing else."""

from __future__ import annotations

import json

import pytest
from asking import query
from voice_server import VoiceServer
from voice_styles import COOPERATIVE, VOICES

from tomeval.games.arena.scripts import GREETING
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run

STRATEGIES = [
    {"strategy": "QA"},
    {"strategy": "Plans + Insights + CoT"},
    {"strategy": "Social QA"},
    {"strategy": "CoT", "memory": "conversation"},
]


def play(voice, folder, options, **more):
    """Play one game of a round with talk for each strategy, the same in all seats."""
    with VoiceServer(voice) as server:
        players = {f"p{n}": {"kind": "llm", **given} for n, given in enumerate(options)}
        data = {
            "domain": "arena",
            "model": server.model,
            "games": {"short": {"game": "ipd3", "rounds": 1, "talk": 1}},
            "players": players,
            "lineups": [{"game": "short", "subject": n, "others": n} for n in players],
            "episodes": 1,
            "stop_after_voids": 0,
            **more,
        }
        run_experiment(make_experiment(data), folder)
    with Run(folder) as run:
        statuses = [row[0] for row in query(run, "SELECT status FROM episodes")]
        steps = query(run, "SELECT kind, action FROM steps")
        asked = query(run, "SELECT DISTINCT outcome FROM asked WHERE outcome != 'not_asked'")
    return statuses, steps, {outcome for (outcome,) in asked}


@pytest.mark.parametrize("voice", COOPERATIVE)
def test_every_answer_is_read_as_it_was_meant(voice, tmp_path):
    statuses, steps, outcomes = play(voice, tmp_path / "run", STRATEGIES)
    assert statuses == ["complete"] * len(STRATEGIES)
    assert outcomes == {"valid"}
    # Messages are the marked ones, without a word of what stands around them.
    assert set(steps) == {
        ("talk", json.dumps(GREETING)),
        ("moves", json.dumps(["cooperate", "cooperate"])),
    }
    assert len(steps) == len(STRATEGIES) * 6


# Of two objects the last one counts, and here it is the same again.
SILENT = [name for name in VOICES if name not in (*COOPERATIVE, "two answers")]


@pytest.mark.parametrize("voice", SILENT)
def test_nothing_is_read_from_voices_that_do_not_answer(voice, tmp_path):
    statuses, _, outcomes = play(voice, tmp_path / "run", STRATEGIES[:1], attempts=2)
    assert statuses == ["void"]
    expected = {"thinking without end": {"truncated"}, "cut off": {"truncated"}}
    assert outcomes == expected.get(voice, {"unparsable"})
