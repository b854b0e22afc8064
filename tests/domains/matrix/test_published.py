from __future__ import annotations

import csv

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped
from tomeval.domains.matrix.published import _hub_names, beside
from tomeval.models.scripted import SCRIPTS

HEADER = "table,model,prompting,game,partner,metric,mean,ci95\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("against") / "run"
    run = tomeval.run(
        {
            "games": ["RPS", "IPD"],
            "partners": ["single_action", "tit_for_tat"],
            "subjects": ["rmax", "random"],
            "episodes": 5,
        },
        folder,
    )
    yield run
    run.close()


def test_the_shipped_results_stand_beside_the_tabular_baseline(run) -> None:
    rows, notes = beside(run, shipped("experiments") / "reported_results.csv")
    assert {row["subject"] for row in rows} == {"rmax"}
    first = rows[0]
    ours = run.rows("normal")[0]  # the form in which the others are published
    assert (first["game"], first["partners"], first["metric"]) == (
        "RPS",
        "single_action",
        "delta_functional_per_step",
    )
    assert first["ours"] == ours["delta_functional_per_step"]
    assert (first["reported"], first["reported_ci95"]) == (0.083, 0.004)
    assert first["tables"] == "1, 3, 4"
    assert first["difference"] == pytest.approx(first["ours"] - 0.083)
    half = (ours["delta_functional_per_step_ci95"] ** 2 + 0.004**2) ** 0.5
    assert first["difference_ci95"] == pytest.approx(half)
    # two tables print other numbers of one cell: both are shown
    both = [
        row["reported"]
        for row in rows
        if (row["game"], row["partners"], row["metric"])
        == ("RPS", "tit_for_tat", "delta_functional_per_step")
    ]
    assert both == [0.224, 0.211]
    assert any(note.startswith("tit_for_tat: published ΔFunctional") for note in notes)
    assert any("mean_misprediction" in note for note in notes)
    assert "4 cells: no published results of random" in notes
    quiet = beside(run, shipped("experiments") / "reported_results.csv", reference="stationary")[1]
    assert not any(note.startswith("tit_for_tat: published ΔFunctional") for note in quiet)


def test_published_delta_tom_is_the_misprediction_rule(run) -> None:
    rows, _ = beside(run, shipped("experiments") / "reported_results.csv")
    names = {row["metric"] for row in rows}
    assert names == {
        "delta_functional_per_step",
        "delta_tom_misprediction_per_step",
        "tom_percent",
    }


@pytest.fixture
def played_model(tmp_path, monkeypatch):
    """A run of a model that always answers the same."""
    monkeypatch.setitem(SCRIPTS, "first", lambda request: "no answer")
    run = tomeval.run(
        {
            "games": "RPS",
            "labels": "canonical",
            "subjects": {"strategy": ["QA", "Reflexion 2"]},
            "model": "scripted:first",
            "horizon": 2,
            "episodes": 2,
            "on_invalid": "random",
        },
        tmp_path / "run",
    )
    yield run
    run.close()


def test_models_go_by_their_names_on_the_hub(tmp_path, played_model) -> None:
    names = _hub_names()
    with (shipped("experiments") / "reported_results.csv").open(encoding="utf-8") as file:
        reported = {row["model"] for row in csv.DictReader(file)}
    assert reported - {"Tabular RMax"} == set(names)
    path = tmp_path / "published.csv"
    path.write_text(
        HEADER
        + "1,Falcon 40B,QA,RPS,single_action,tom_percent,50.0,\n"
        + "1,Falcon 40B,reasoning,RPS,single_action,tom_percent,60.0,1\n"
    )
    rows, notes = beside(played_model, path)
    assert rows == []
    assert "not one of the published models; give one with --as-model (Falcon 40B)" in notes[0]
    rows, notes = beside(played_model, path, model="Falcon 40B")
    assert [(row["subject"], row["reported"]) for row in rows] == [("QA", 50.0)]
    assert rows[0]["difference_ci95"] != rows[0]["difference_ci95"]  # none was published
    assert "1 cells: no published number of Falcon 40B, Reflexion 2 in this task" in notes
    assert "published episodes have 100 steps, these 2" in notes
    played_model.cells[0].definition["model"] = "hf:tiiuae/falcon-40b@main"
    rows, _ = beside(played_model, path)
    assert [row["reported_model"] for row in rows] == ["Falcon 40B"]


def test_refusals(tmp_path, run) -> None:
    path = tmp_path / "published.csv"
    path.write_text(HEADER + "1,Falcon 40B,QA,RPS,single_action,tom_percent,50.0,\n")
    with pytest.raises(TomevalError, match="did you mean 'Falcon 40B'"):
        beside(run, path, model="Falcon 4B")
    path.write_text("a,b\n")
    with pytest.raises(TomevalError, match="missing column 'table'"):
        beside(run, path)
