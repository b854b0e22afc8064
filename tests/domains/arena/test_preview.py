"""`tomeval prompt` and `tomeval plan` for the arena: exactly what a model would read."""

from __future__ import annotations

import json

import pytest

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.domain import ARENA
from tomeval.runs.capabilities import Doing
from tomeval.runs.experiment import make_experiment
from tomeval.runs.plan import plan_rows
from tomeval.runs.preview import preview
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.strategies.asking import flatten

STRATEGIES = [
    "QA",
    "CoT",
    "CoT + 3-Shot",
    "S2A + CoT",
    "Reflexion 2",
    "Plans + Insights",
    "Social QA + CoT",
    "S2A + Social QA",
    "Oracle",
    "Oracle + Max",
]


def cell(strategy, game="ipd3", seat="", **more):
    return ARENA.describe.example(strategy, seat, {"game": game, **more})


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


def test_forms_are_decisions_and_probes_with_how_often_they_are_asked():
    (found,) = {json.dumps({n: len(r) for n, r in ARENA.describe.forms(c, "subject").items()})
                for c in (cell("QA"), cell("Oracle"))}  # fmt: skip
    assert json.loads(found) == {"talk": 5, "moves": 5, "move": 5, "other": 5}
    # Others are not probed.
    assert list(ARENA.describe.forms(cell("QA", seat="other_1"), "other_1")) == ["talk", "moves"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", ["talk", "moves", "move", "other"])
def test_every_strategy_shows_every_question(strategy, form):
    shown = ARENA.describe.prompt(cell(strategy), "subject", form, 2)
    what, prompt = shown[-1]
    text = flatten(prompt)
    assert "This is round 2 of 5" in text
    assert "End of round 1 of 5." in text or "S2A" in strategy
    assert 'Final answer: {"' in text
    cot = "CoT" in strategy
    assert what.kind == ("cot" if cot else "qa")
    # Probes are asked at temperature 0, once; decisions until they can be read.
    assert what.attempts == (1 if form in ("move", "other") else 10)
    expected = 2 if form in ("move", "other") else 1  # two probes of a name, one per opponent
    expected += "S2A" in strategy
    if form == "moves" and "Social" in strategy:
        expected += 4 + ("S2A" in strategy)
    if form in ("talk", "moves") and "Reflexion" in strategy:
        expected += 1
    assert len(shown) == expected


def test_it_is_what_a_run_asks(tmp_path):
    """Where nothing of the past shows, the preview is the prompt of a real game."""
    for strategy in ("QA", "CoT", "CoT + 3-Shot"):
        made = experiment(strategy)
        run_experiment(made, tmp_path / strategy)
        with Run(tmp_path / strategy) as run:
            rows = run.store.query(
                "SELECT form, unpacked(record) FROM calls WHERE episode = 0 ORDER BY step LIMIT 1"
            )
        ((form, record),) = rows
        assert form == "talk"
        [(_, prompt)] = ARENA.describe.prompt(made.cells[0], "subject", "talk", 1)
        assert json.loads(record)["prompt_rest"] == flatten(prompt)


def test_the_plan_counts_the_calls_of_a_game(tmp_path):
    made = experiment("QA", "CoT", "Reflexion 2", "Social QA", "S2A", "S2A + Social QA")
    run_experiment(made, tmp_path / "run")
    with Run(tmp_path / "run") as run:
        calls = run.store.query("SELECT cell, count(*) FROM calls GROUP BY cell ORDER BY cell")
    planned = {row["player"]: row["calls"] for row in plan_rows(made)}
    # Who speaks first has nothing to summarise: the plan counts that in all three games.
    more = [0, 0, 0, 0, 2, 2]
    planned_calls = [planned[f"p{number}"] for number, _ in calls]
    assert [count for _, count in calls] == [
        p + m for p, m in zip(planned_calls, more, strict=True)
    ]


def test_notes_stand_where_a_model_would_have_written():
    [(what, prompt)] = ARENA.describe.prompt(
        cell("Plans + Insights"), "subject", "moves", 2, "N{step}"
    )
    assert isinstance(what, Doing)
    assert what.notes
    assert "Plans and insights" not in flatten(prompt)  # notes must have the form asked for
    [(_, prompt)] = ARENA.describe.prompt(
        cell("Plans + Insights"), "subject", "moves", 2, "Plans: N{step}\nInsights: none"
    )
    assert "Plans: Ntalk 3" in flatten(prompt)
    *_, (_, prompt) = ARENA.describe.prompt(cell("Reflexion 1"), "subject", "moves", 2, "N{step}")
    assert "- Nreflect 3" in flatten(prompt)
    *_, (_, prompt) = ARENA.describe.prompt(cell("S2A"), "subject", "moves", 2, "N{step}")
    assert "Nsummarise 4" in flatten(prompt)


def test_preview_in_words():
    text = preview(ARENA, cell("Social QA"), "", "moves", 2)
    assert text.count("--- call") == 5
    assert "The truth" not in text
    assert "You answered: " in text
    text = preview(ARENA, cell("QA", seat="other_2"), "other_2", "talk", 1)
    assert "Nothing has happened yet." not in text  # the seat speaks last
    with pytest.raises(TomevalError, match=r"unknown form 'mvoes'.*did you mean 'moves'"):
        preview(ARENA, cell("QA"), "", "mvoes")
    with pytest.raises(TomevalError, match="unknown game 'ipd'"):
        cell("QA", "ipd")
    with pytest.raises(TomevalError, match="unknown preset of ipd3 'smal'"):
        cell("QA", "ipd3:smal")
