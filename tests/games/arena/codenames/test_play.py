"""Codenames through the play loop: what is asked after a clue, and what it says of the player."""

import json

import pytest
from asking import query

from tomeval.runs.experiment import make_experiment


def experiment(subject, others, **more):
    return make_experiment(
        {
            "domain": "arena",
            "episodes": 4,
            "seed": 1,
            "games": {"g": {"game": "codenames", "preset": "small"}},
            "players": {
                "one": {"kind": "embedding"},
                "two": {"kind": "embedding", "embedding": "wordnet"},
                "model": {"model": "scripted:arena"},
            },
            "lineups": [{"game": "g", "subject": subject, "others": others}],
            **more,
        },
        where="x.toml",
    )


@pytest.fixture
def table(playing):
    return playing(experiment)


def test_a_spymaster_is_asked_what_the_operative_takes(table):
    """With equal embeddings every prediction of it comes true, with others some fail."""
    hits = {}
    for mate in ("one", "two"):
        run = table("one", [mate, "two", "two"], values=False)
        rows = query(run, "SELECT question, value FROM answers WHERE question LIKE 'takes%'")
        assert {question for question, _ in rows} == {"takes_1", "takes_3"}
        hits[mate] = sum(json.loads(value)["hit"] for _, value in rows) / len(rows)
    assert hits["one"] == 1
    assert hits["two"] < 1
