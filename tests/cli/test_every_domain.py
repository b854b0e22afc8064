"""Every command on a kind of game from outside the package, which implements the least it can."""

from __future__ import annotations

import json

import pytest
import toy_domain  # noqa: F401 (registers the domain)
from support import scripts

EXPERIMENT = """
domain = "toy"
name = "toys"
episodes = 3
guessers = ["one", "next", "llm"]
size = [3, 4]
model = "scripted:three"
on_invalid = "random"
"""


def three(request) -> str:
    """Say 3 in most steps, and in the second one what is not to be read."""
    return "well" if "[1]." in request.prompt.messages[-1].content else "3"


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy") / "toys.toml"
    path.write_text(EXPERIMENT)
    with scripts(three=three):
        yield path


@pytest.fixture(scope="module")
def folder(experiment):
    from tomeval.cli.playing import play_into
    from tomeval.runs.experiment import load_experiment

    play_into(load_experiment(experiment), experiment.parent / "run")
    return experiment.parent / "run"


def test_status_and_plan(tomeval, experiment, folder) -> None:
    rows = json.loads(tomeval("status", folder, "--format", "json")[1])
    assert [row["complete"] for row in rows] == [3] * 6
    assert {row["calls"] for row in rows if row["guesser"] != "llm"} == {0}
    planned = json.loads(tomeval("plan", experiment, "--format", "json")[1])
    assert sum(row["calls"] for row in planned) == sum(row["calls"] for row in rows) == 24
    assert "24 model calls that read about" in tomeval("plan", experiment)[1]


def test_table_of_cells(tomeval, folder) -> None:
    rows = json.loads(tomeval("table", folder, "--format", "json")[1])
    assert [(row["guesser"], row["size"]) for row in rows[:2]] == [("one", 3), ("next", 3)]
    assert tomeval("table", folder, "--what", "cells")[1] == tomeval("table", folder)[1]
    for options, message in (
        (("--what", "cels"), "unknown table 'cels' (did you mean 'cells'?)"),
        (("--by", "guesser"), "the domain's own tables (here: none)"),
        (("--reference", "horizon"), "the domain 'toy' has no references"),
        (("--against", "x.csv"), "there are no published numbers of toy"),
    ):
        code, out, errors = tomeval("table", folder, *options)
        assert (code, out) == (2, "")
        assert message in errors


def test_prompt(tomeval, experiment) -> None:
    command = ("prompt", "--experiment", experiment)
    code, out, _ = tomeval(*command, "--cell", 2, "--round", 2)
    assert (code, out.count("--- call")) == (0, 1)
    assert out.endswith("So far: [1]. Which comes next?\n")
    assert "[1, 2, 3]" in tomeval(*command, "--cell", 2)[1]  # the last round of fewer than five
    assert "no language model plays" in tomeval(*command)[2]
    assert "unknown seat" in tomeval(*command, "--cell", 2, "--seat", "hider")[2]
    assert "--round must be from 1 to 4" in tomeval(*command, "--cell", 2, "--round", 5)[2]
    assert "has no example of its own" in tomeval("prompt", "QA", "--domain", "toy")[2]
