"""Every strategy plays every game through the shipped prompts, with a model of known behaviour."""

from __future__ import annotations

import json

import pytest
from asking import query

import tomeval
from tomeval.games.arena.named_games import GAMES
from tomeval.runs.experiment import make_experiment

STRATEGIES = [
    {"strategy": "QA"},
    {"strategy": "CoT"},
    {"strategy": "CoT + 3-Shot"},
    {"strategy": "S2A + CoT"},
    {"strategy": "Reflexion 1"},
    {"strategy": "Reflexion 3 + CoT"},
    {"strategy": "Plans + Insights"},
    {"strategy": "Social QA"},
    {"strategy": "S2A + Social QA + CoT"},
    {"strategy": "Oracle"},
    {"strategy": "Oracle + Max + CoT"},
    {"strategy": "CoT + 3-Shot", "memory": "conversation"},
    {"strategy": "Plans + Insights + CoT", "memory": "conversation", "system": "Be brief."},
]
SMALL = {
    "ipd3": {"rounds": 2, "talk": 1},
    "blotto": {"preset": "small"},
    "codenames": {"preset": "small"},
    "mafia": {},
}


def experiment(game, options, **more):
    return make_experiment(
        {
            "domain": "arena",
            "model": "scripted:arena",
            "games": {"short": {"game": game, **SMALL.get(game, {})}},
            "players": {
                **{f"p{n}": {"kind": "llm", **given} for n, given in enumerate(options)},
                "plain": {"kind": "llm"},
            },
            "lineups": [
                {
                    "game": "short",
                    "subject": [f"p{n}" for n in range(len(options))],
                    "others": "plain",
                }
            ],
            "episodes": 2,
            **more,
        }
    )


@pytest.mark.parametrize("game", GAMES)
def test_every_strategy_plays_every_game_as_the_script_does(game, tmp_path):
    made = experiment(game, STRATEGIES)
    with tomeval.run(made, tmp_path / "run") as run:
        assert query(run, "SELECT DISTINCT status FROM episodes") == [("complete",)]
        refused = query(
            run, "SELECT DISTINCT outcome, attempts FROM asked WHERE outcome != 'not_asked'"
        )
        assert refused == [("valid", 1)]
        plays = query(
            run,
            "SELECT cell, episode, json_group_array(json_array(seat, kind, action)) "
            "FROM (SELECT * FROM steps ORDER BY cell, episode, step) GROUP BY cell, episode",
        )
    # No strategy changes what the script does, so all games on one deal are the same.
    first = {episode: actions for cell, episode, actions in plays if cell == plays[0][0]}
    assert all(actions == first[episode] for _, episode, actions in plays)


@pytest.mark.parametrize("talk", ["none", "acts"])
def test_a_game_of_labels_alone_is_played_by_scores(talk, tmp_path):
    made = experiment(
        "mafia",
        [{"strategy": "LM"}, {"strategy": "Social LM"}, {"strategy": "Plans + Insights + LM"}],
        games={"short": {"game": "mafia", "talk": talk, "players": 5}},
    )
    with tomeval.run(made, tmp_path / "run") as run:
        assert query(run, "SELECT DISTINCT status FROM episodes") == [("complete",)]
        kinds = query(
            run,
            "SELECT DISTINCT json_extract(record, '$.kind') FROM calls WHERE cell = 0 "
            "AND seat = 'subject' ORDER BY 1",
        )
    assert kinds == [("lm",)]


def test_a_spymaster_predicts_what_follows_from_a_draft(tmp_path):
    made = experiment("codenames", [{"strategy": "Social QA"}], episodes=1)
    with tomeval.run(made, tmp_path / "run") as run:
        rows = query(
            run,
            "SELECT step, form, record FROM calls WHERE cell = 0 AND seat = 'subject' "
            "ORDER BY step",
        )
    first = [json.loads(record) for step, form, record in rows if (step, form) == (1, "clue")]
    assert [call["purpose"] for call in first] == ["draft clue", "predict takes_1", "clue"]
    drafted = first[1]["prompt_rest"]
    assert "You give the clue thing, 1." in drafted
    told = first[2]["prompt_rest"]
    assert "- You give the clue thing, 1. Your operative" in told
    assert "You may decide as you did in these questions or otherwise." in told
