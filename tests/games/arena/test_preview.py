"""`tomeval prompt` and `tomeval plan` for the arena: exactly what a model would read."""

from __future__ import annotations

import json

import pytest
from asking import query
from support import questions

import tomeval
from tomeval.games.arena.domain import ARENA
from tomeval.play.plan import plan_rows
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.strategies.asking import flatten


def experiment(*strategies, **more):
    players = {f"p{n}": {"kind": "llm", "strategy": s} for n, s in enumerate(strategies)}
    return make_experiment(
        {
            "domain": "arena",
            "model": "scripted:arena",
            "games": {"short": {"game": "ipd3", "rounds": 3, "talk": 1}},
            "players": {**players, "tft": {"kind": "tit_for_tat"}},
            "lineups": [{"game": "short", "subject": list(players), "others": "tft"}],
            "episodes": 3,
            **more,
        }
    )


def test_it_is_what_a_run_asks(tmp_path):
    """Where nothing of the past shows, the preview is the prompt of a real game."""
    for strategy in ("QA", "CoT", "CoT + 3-Shot"):
        made = experiment(strategy)
        run_experiment(made, tmp_path / strategy)
        with Run(tmp_path / strategy) as run:
            rows = query(
                run, "SELECT form, record FROM calls WHERE episode = 0 ORDER BY step LIMIT 1"
            )
        ((form, record),) = rows
        assert form == "talk"
        [asked] = questions(ARENA, made.cells[0], "subject", "talk", 1)
        assert json.loads(record)["prompt_rest"] == flatten(asked.prompt)


def test_the_plan_counts_the_calls_of_a_game(tmp_path):
    made = experiment("QA", "Reflexion 2", "S2A + Social QA")
    with tomeval.run(made, tmp_path / "run") as run:
        calls = query(run, "SELECT cell, count(*) FROM calls GROUP BY cell ORDER BY cell")
    planned = {row["player"]: row["calls"] for row in plan_rows(made)}
    # Of means over made-up games in which other seats speak first.
    for number, count in calls:
        assert planned[f"p{number}"] == pytest.approx(count, abs=1)
