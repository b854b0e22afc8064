from __future__ import annotations

import csv
import math
from types import SimpleNamespace

import pytest

import tomeval
from tomeval.core.resources import shipped
from tomeval.games.matrix.domain import MATRIX
from tomeval.games.matrix.published import (
    BEST_OF,
    METRIC_OF,
    as_published,
    beside,
    best_rows,
    hub_names,
)
from tomeval.models.scripted import SCRIPTS
from tomeval.runs.experiment import load_experiment, make_experiment

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
    assert {row["subject"] for row in rows} == {"Tabular RMax"}
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
    place = ("RPS", "tit_for_tat", "delta_functional_per_step")
    keys = ("game", "partners", "metric")
    both = [row["reported"] for row in rows if tuple(row[key] for key in keys) == place]
    assert both == [0.224, 0.211]
    assert any(
        note.startswith("tit_for_tat: published ΔToM") and "stationary optimum" in note
        for note in notes
    )
    assert "4 cells: no published results for random" in notes


def test_models_go_by_their_names_on_the_hub(tmp_path, monkeypatch) -> None:
    names = hub_names()
    with (shipped("experiments") / "reported_results.csv").open(encoding="utf-8") as file:
        reported = {row["model"] for row in csv.DictReader(file)}
    assert reported - {"Tabular RMax"} == set(names)
    path = tmp_path / "published.csv"
    path.write_text(HEADER + "1,Falcon 40B,QA,RPS,single_action,tom_percent,50.0,\n")
    monkeypatch.setitem(SCRIPTS, "first", lambda request: "no answer")
    subjects = {"strategy": ["QA", "Reflexion 2"], "model": "scripted:first"}
    data = {"games": "RPS", "labels": "canonical", "subjects": subjects, "horizon": 2}
    data |= {"episodes": 2, "on_invalid": "random"}
    with tomeval.run(data, tmp_path / "run", go_on=True) as run:
        rows, notes = beside(run, path)
        assert rows == []
        assert "not a published model; choose one with --as-model (Falcon 40B)" in notes[0]
        rows, notes = beside(run, path, model="Falcon 40B")
        assert [(row["subject"], row["reported"]) for row in rows] == [("QA", 50.0)]
        assert math.isnan(rows[0]["difference_ci95"])  # none was published
        assert "1 cell: no published value of Falcon 40B, Reflexion 2 in this task" in notes
        run.cells[0].definition["model"] = "hf:tiiuae/falcon-40b@main"
        rows, _ = beside(run, path)
        assert [row["reported_model"] for row in rows] == ["Falcon 40B"]


def unplayed(experiment, episodes: int = 5) -> tuple[SimpleNamespace, list[dict]]:
    """Return what an experiment's run would have for `as_published`, with every measure 1."""
    cells, rows = [], []
    for cell in experiment.cells:
        columns = MATRIX.columns(cell.definition)
        cells.append(SimpleNamespace(columns=columns, definition=cell.definition))
        asked = cell.setup.options.get("literal", True)
        values = dict.fromkeys(METRIC_OF.values(), 1.0 if asked else float("nan"))
        values["delta_functional_per_step"] = 1.0
        rows.append({**columns, "episodes": episodes, "seed": 1, **values})
    return SimpleNamespace(cells=cells), rows


@pytest.mark.parametrize("table", ["1", "2", "3", "4", "8", "9", "10"])
def test_rows_have_the_names_and_the_order_of_each_published_table(table) -> None:
    with (shipped("experiments") / "reported_results.csv").open(encoding="utf-8") as file:
        lines = [row for row in csv.DictReader(file) if row["table"] == table]
    spelt = {"Plans/Insights*": "Plans + Insights"}
    printed: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for line in lines:
        name = spelt.get(line["prompting"], line["prompting"]).replace("+Max", "+ Max")
        who = ("Tabular RMax", "") if name == "Tabular" else (name, line["model"])
        of_task = printed.setdefault((line["game"], line["partner"]), [])
        of_task += [who] * (who not in of_task)
    run, given = unplayed(load_experiment(f"table_{table}"))
    rows, measures, notes = as_published(run, given)
    for (game, partner), wanted in printed.items():
        labels = {row["labels"] for row in rows if row["game"] == game}
        for one in labels:  # table 8 plays RPS with two label sets
            ours = [
                (row["subject"], row["model"])
                for row in rows
                if (row["game"], row["labels"], row["partners"]) == (game, one, partner)
            ]
            assert [who for who in ours if who in wanted] == wanted
            assert {who for who in ours if who not in wanted} <= {("Tabular RMax", "")}
    assert measures == [METRIC_OF[m] for m in dict.fromkeys(line["metric"] for line in lines)]
    assert bool(notes) == ("Reflexion" in {line["prompting"] for line in lines})


def test_subjects_that_would_share_a_name_keep_their_own() -> None:
    subjects = [{"strategy": "LM", "decide": ["sample", "argmax"]}, {"strategy": "QA"}, "random"]
    experiment = {"games": "RPS", "subjects": subjects, "model": "pocket"}
    rows, *_ = as_published(*unplayed(make_experiment(experiment)))
    assert [row["subject"] for row in rows] == [
        "random",
        "LM(decide=sample)",
        "LM(decide=argmax)",
        "QA",
    ]


def lessons(regrets) -> tuple[SimpleNamespace, list[dict]]:
    """Return the rows of Reflexion 1 to 3 in RPS and IPD with these ΔFunctional/T, ToM % by k."""
    subjects = ["random", *({"strategy": name} for name in BEST_OF[1])]
    loaded = make_experiment({"games": ["RPS", "IPD"], "subjects": subjects, "model": "pocket"})
    run, rows = unplayed(loaded)
    told = iter(regrets)
    for row in rows:
        if row["strategy"]:
            row |= {"delta_functional_per_step": next(told), "tom_percent": row["strategy"][-1]}
            row["tom_percent"] = float(row["tom_percent"])
    return run, rows


def test_the_best_of_several_stands_for_them_in_every_task() -> None:
    run, given = lessons([0.9, 0.4, 0.7, 1.5, 2.5, 1.25])
    rows, _, [note] = as_published(run, given)
    assert "its mean is too good" in note
    assert [(row["subject"], row["game"]) for row in rows] == [
        *(("random", "RPS"), ("Reflexion", "RPS"), ("random", "IPD"), ("Reflexion", "IPD"))
    ]
    best = [row for row in rows if row["subject"] == "Reflexion"]
    # the whole row is the winner's, not only the measure that was chosen by
    values = [(row["delta_functional_per_step"], row["tom_percent"]) for row in best]
    assert values == [(0.4, 2.0), (1.25, 3.0)]


def test_of_a_tie_the_first_is_taken_and_groups_are_whole() -> None:
    run, given = lessons([0.9, 0.4, 0.4, 1.5, float("nan"), 1.25])
    [winner] = best_rows(given)
    assert given[winner]["strategy"] == "Reflexion 2"
    rows, *_ = as_published(run, given)  # where one has no value, all keep their rows
    assert [row["subject"] for row in rows if row["game"] == "IPD"][1:] == [*BEST_OF[1]]
