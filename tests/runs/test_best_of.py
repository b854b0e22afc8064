"""One row for the best of several players: numbers by hand, ties, missing values, names."""

from __future__ import annotations

import csv
import io
import math

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.published import beside
from tomeval.models.scripted import SCRIPTS
from tomeval.runs.best_of import best_of

FUNCTIONAL = "delta_functional_per_step"
HEADER = "table,model,prompting,game,partner,metric,mean,ci95\n"


def play(tmp_path, **more):
    """Play three subjects of a group; what they reach is put into their rows by `with_values`."""
    memos = [{"kind": "simulated", "name": f"Memo {k}", "p": 0.5} for k in (1, 2, 3)]
    experiment = {"games": ["RPS", "IPD"], "subjects": memos, "horizon": 4, "episodes": 3}
    return tomeval.run(experiment | more, tmp_path / "run")


def with_values(run, values: dict[tuple[str, str], float]):
    """Return the run's rows with ΔFunctional/T by player and game, and ToM % telling who it is."""
    rows = run.rows()
    for row in rows:
        row[FUNCTIONAL] = values.get((row["subject"], row["game"]), row[FUNCTIONAL])
        row["tom_percent"] = float(row["subject"].removeprefix("Memo ").replace("rmax", "0"))
    return rows


BY_HAND = {
    ("Memo 1", "RPS"): 0.9,
    ("Memo 2", "RPS"): 0.4,
    ("Memo 3", "RPS"): 0.7,
    ("Memo 1", "IPD"): 1.5,
    ("Memo 2", "IPD"): 2.5,
    ("Memo 3", "IPD"): 1.25,
}


def test_the_lowest_regret_of_every_task(tmp_path) -> None:
    memos = [{"kind": "simulated", "name": f"Memo {k}", "p": 0.5} for k in (1, 2, 3)]
    with play(tmp_path, subjects=["rmax", *memos]) as run:
        rows, notes = best_of(run, with_values(run, BY_HAND), ["Memo"])
        assert [(row["subject"], row["best"], row["game"]) for row in rows] == [
            ("rmax", "", "RPS"),
            ("Memo (best of 1, 2, 3)", "Memo 2", "RPS"),
            ("rmax", "", "IPD"),
            ("Memo (best of 1, 2, 3)", "Memo 3", "IPD"),
        ]
        # the whole row is the winner's, not only the measure that was chosen by
        assert [(row[FUNCTIONAL], row["tom_percent"]) for row in rows[1::2]] == [
            (0.4, 2.0),
            (1.25, 3.0),
        ]
        assert len({tuple(row) for row in rows}) == 1
        assert list(rows[0]).index("best") == len(run.cells[0].columns)
    (bias,) = notes
    assert bias.startswith("best of: the lowest ΔFunctional/T of each task, chosen on the same")
    assert "its mean is therefore too good" in bias


def test_where_more_is_better_the_highest_is_taken(tmp_path) -> None:
    with play(tmp_path) as run:
        run.__dict__["headline"] = ("tom_percent",)
        rows, notes = best_of(run, with_values(run, BY_HAND), ["Memo"])
    assert [row["best"] for row in rows] == ["Memo 3", "Memo 3"]
    assert notes[0].startswith("best of: the highest ToM % of each task")


def test_a_tie_is_named_and_the_first_one_stands(tmp_path) -> None:
    with play(tmp_path) as run:
        values = BY_HAND | {("Memo 3", "RPS"): 0.1 + 0.3, ("Memo 1", "RPS"): 0.4 + 1e-9}
        rows, notes = best_of(run, with_values(run, values), ["Memo"])
    assert (rows[0]["best"], rows[0]["tom_percent"]) == ("Memo 2 = Memo 3", 2.0)
    task = "RPS (canonical), single_action, T = 4"
    assert notes[1:] == [
        f"Memo (best of 1, 2, 3), {task}: Memo 2 = Memo 3 tie; the row shows the first"
    ]


def test_players_without_a_value_are_not_among_the_best(tmp_path) -> None:
    with play(tmp_path) as run:
        nan = float("nan")
        values = BY_HAND | {
            ("Memo 2", "RPS"): nan,
            **{(f"Memo {k}", "IPD"): nan for k in (1, 2, 3)},
        }
        rows = with_values(run, values)
        rows[2]["episodes"] = 1
        rows, notes = best_of(run, rows, ["Memo"])
    # where nobody has a value, all keep their rows
    assert [(row["subject"], row["best"]) for row in rows] == [
        ("Memo (best of 1, 3)", "Memo 3"),
        *((f"Memo {k}", "") for k in (1, 2, 3)),
    ]
    task = "RPS (canonical), single_action, T = 4"
    assert notes[1:] == [
        f"Memo (best of 1, 3), {task}: no value for 2",
        f"Memo (best of 1, 3), {task}: numbers of episodes differ: 1 3, 3 1",
    ]
    assert math.isnan(rows[1][FUNCTIONAL])


def test_seeds_models_and_partners_are_chosen_in_apart(tmp_path) -> None:
    script = {"best": "Final answer: J", "other": "Final answer: F"}
    for name, answer in script.items():
        SCRIPTS[name] = lambda request, answer=answer: answer
    experiment = {
        "games": "IPD",
        "labels": "neutral",
        "subjects": [{"strategy": ["QA", "Reflexion 1", "Reflexion 2"]}],
        "model": ["scripted:best", "scripted:other"],
        "partners": ["single_action", "tit_for_tat"],
        "seed": [1, 2],
        "horizon": 2,
        "episodes": 2,
    }
    with tomeval.run(experiment, tmp_path / "run") as run:
        rows, _ = best_of(run, run.rows(), ["Reflexion"])
    tasks = [(row["model"], row["partners"], row["seed"]) for row in rows if row["best"]]
    assert len(tasks) == len(set(tasks)) == 2 * 2 * 2
    for row in rows:
        assert row["strategy"] == row["subject"]
        assert row["subject"] in ("QA", "Reflexion (best of 1, 2)")
        assert row["best"] in ("", "Reflexion 1 = Reflexion 2")  # the scripts never reflect
    assert len(rows) == 2 * len(tasks)


def test_patterns(tmp_path) -> None:
    with play(tmp_path, games="RPS") as run:
        rows = with_values(run, BY_HAND)

        def names(*patterns: str) -> list[str]:
            return [row["subject"] for row in best_of(run, rows, patterns)[0]]

        assert names("Memo [12]") == ["Memo (best of 1, 2)", "Memo 3"]
        assert names("*emo*") == ["Memo (best of 1, 2, 3)"]
        for patterns, message in (
            (["Mem"], "unknown group of players 'Mem' .*did you mean 'Memo"),
            (["Memo 1"], "only one player to choose from in every task: Memo 1"),
            (["Memo [12]", "Memo"], "'Memo' and 'Memo \\[12\\]' share the player 'Memo 1'"),
        ):
            with pytest.raises(TomevalError, match=message):
                best_of(run, rows, patterns)


@pytest.fixture
def reflected(tmp_path):
    """A model whose play is better the more lessons it sees: it cooperates with each one shown."""
    SCRIPTS["learner"] = learner
    experiment = {
        "games": "IPD",
        "labels": "neutral",
        "subjects": ["rmax", {"strategy": [f"Reflexion {k}" for k in (1, 2, 3)]}],
        "model": "scripted:learner",
        "partners": ["single_action"],
        "horizon": 4,
        "episodes": 4,
    }
    with tomeval.run(experiment, tmp_path / "run") as run:
        yield run


def learner(request) -> str:
    """Defect once two lessons are shown, and cooperate before."""
    question = request.prompt.messages[-1].content
    if "Final answer:" not in question:
        return "a lesson"
    return f"Final answer: {'F' if question.count('- a lesson') >= 2 else 'J'}"


def test_published_best_of_rows_stand_beside_the_best(reflected, tmp_path) -> None:
    path = tmp_path / "published.csv"
    path.write_text(
        HEADER
        + f"2,Falcon 40B,Reflexion,IPD,single_action,{FUNCTIONAL},1.0,0.1\n"
        + "2,Falcon 40B,Reflexion,IPD,single_action,tom_percent,50.0,1\n"
        + f"10,Falcon 40B,Reflexion 1,IPD,single_action,{FUNCTIONAL},3.0,0.5\n",
        encoding="utf-8",
    )
    own = {row["strategy"]: row[FUNCTIONAL] for row in reflected.rows() if row["strategy"]}
    assert own["Reflexion 1"] > own["Reflexion 2"] == own["Reflexion 3"]
    rows, notes = beside(reflected, path, model="Falcon 40B")
    found = [(row["subject"], row["best"], row["metric"], row["reported"]) for row in rows]
    name, tied = "Reflexion (best of 1, 2, 3)", "Reflexion 2 = Reflexion 3"
    assert found == [
        ("Reflexion 1", "", FUNCTIONAL, 3.0),
        (name, tied, FUNCTIONAL, 1.0),
        (name, tied, "tom_percent", 50.0),
    ]
    assert rows[1]["ours"] == own["Reflexion 2"]
    assert any(note.startswith("best of: the lowest ΔFunctional/T") for note in notes)
    assert any("Reflexion 2 = Reflexion 3 tie" in note for note in notes)
    assert "1 cell: only the best of their group is compared with Reflexion" in notes


def test_the_command(reflected, tmp_path, monkeypatch, capsys) -> None:
    from tomeval.cli.table import table

    folder = reflected.folder
    table([folder], best=["Reflexion"], form="csv")
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["best"] for row in rows] == ["", "Reflexion 2 = Reflexion 3"]
    assert err.startswith("note: best of: the lowest ΔFunctional/T of each task")
    table([folder], best=["Reflexion"])
    assert "Reflexion (best of 1, 2, 3)" in capsys.readouterr().out
    table([folder], best=["Reflexion"], published=True, form="csv")
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["subject"] for row in rows] == ["Tabular RMax", "Reflexion"]
    assert "note: the best of several: Reflexion 2 = Reflexion 3 (IPD, single_action)" in err
    with pytest.raises(TomevalError, match="leave out --best-of"):
        table([folder], best=["Reflexion"], against=tmp_path / "x.csv")
    with pytest.raises(TomevalError, match="--published has columns of its own"):
        table([folder], published=True, whole=True)
