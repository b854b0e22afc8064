"""Levels that are one player, asked in other words: differences against exported episodes."""

from __future__ import annotations

import itertools

import pytest
from support import scripts

import tomeval
from tomeval.api.opened import Run
from tomeval.comparing.comparison import compare
from tomeval.core.errors import TomevalError

EXPERIMENT = {
    "name": "worded",
    "games": "RPS",
    "labels": ["neutral", "canonical"],
    "subjects": [{"strategy": ["QA", "CoT"], "goal": ["none", "win"]}, "random"],
    "model": "scripted:stubborn",
    "horizon": 3,
    "episodes": 9,
    "seed": 3,
}
WORDINGS = [
    f"labels {labels}" + goal
    for labels, goal in itertools.product(("neutral", "canonical"), (", goal none", ""))
]


def stubborn(request):
    """Say the first label that the prompt lists of its own; say Paper where labels are words."""
    text = "\n".join(message.content for message in request.prompt.messages)
    if "Rock" in text:
        return "Final answer: Paper"
    return f"Final answer: {min('JFB', key=lambda label: text.index(f' {label}'))}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worded") / "run"
    with scripts(stubborn=stubborn):
        tomeval.run(EXPERIMENT, folder).close()
    return folder


def test_each_player_is_compared_with_itself_in_other_words(folder) -> None:
    compared = compare(folder, by="wording", metrics=["delta_functional_per_step"])
    assert compared.baseline == WORDINGS[0]
    with Run(folder) as run:
        frame = run.episodes()
    rows = [row for row in compared.rows() if row["scope"] != "all tasks"]
    assert [row["wording"] for row in rows] == 2 * WORDINGS[1:]
    for row, strategy in zip(rows, [*["QA"] * 3, *["CoT"] * 3], strict=True):
        assert f"{strategy}, scripted:stubborn" in row["scope"]
        labels = row["wording"].split(",")[0].removeprefix("labels ")
        mine = frame[frame["subject"].str.startswith(strategy)]
        plain = mine["subject"].str.contains("goal=none")
        first = mine[(mine["labels"] == "neutral") & plain]
        other = mine[(mine["labels"] == labels) & (plain == ("goal none" in row["wording"]))]
        values = [part["delta_functional_per_step"].to_numpy() for part in (other, first)]
        assert len(values[0]) == len(values[1]) == 9
        assert row["difference"] == pytest.approx((values[0] - values[1]).mean(), abs=1e-12)


def test_one_wording_is_nothing_to_compare(tmp_path) -> None:
    experiment = {**EXPERIMENT, "labels": "neutral", "subjects": [{"strategy": ["QA", "CoT"]}]}
    with scripts(stubborn=stubborn):
        tomeval.run(experiment, tmp_path / "run").close()
    with pytest.raises(TomevalError, match=r"only one wording was played \('labels neutral'\)"):
        compare(tmp_path / "run", by="wording")


def test_players_that_are_asked_nothing_have_no_wording(tmp_path) -> None:
    tomeval.run({"games": "RPS", "subjects": ["rmax", "random"], "episodes": 1}, tmp_path).close()
    with pytest.raises(TomevalError, match="no player has a wording in these runs"):
        compare(tmp_path, by="wording")
