"""A run in Python: types, selection, and what is shown at a prompt and in a notebook."""

from __future__ import annotations

import csv
import io
import re
import sys

import every_domain
import pandas
import pytest

import tomeval
from tomeval import cli
from tomeval.core.errors import TomevalError
from tomeval.runs import results

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api") / "run"
    experiment = {
        "games": ["RPS", "IPD"],
        "subjects": ["rmax", "random", {"kind": "best_response", "name": HOSTILE}],
        "partners": ["single_action", "tit_for_tat"],
        "episodes": 6,
        "horizon": 5,
        "seed": 4,
    }
    tomeval.run(experiment, folder).close()
    return folder


@pytest.fixture
def run(folder):
    with tomeval.Run(folder) as run:
        yield run


def exported(folder, what, capsys, monkeypatch) -> list[dict[str, str]]:
    """Return the rows of ``tomeval export``: another reader of the same folder."""
    monkeypatch.setattr(sys, "argv", ["tomeval", "export", str(folder), "--what", what])
    with pytest.raises(SystemExit):
        cli.main()
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


@pytest.mark.parametrize("what", ["steps", "episodes", "answers"])
def test_frames_are_the_export(run, what, capsys, monkeypatch):
    rows = exported(run.folder, what, capsys, monkeypatch)
    frame = getattr(run, what)()
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows)
    for name in frame.columns:
        said = [row[name] for row in rows]
        for value, text in zip(frame[name], said, strict=True):
            if pandas.isna(value):
                assert text == "", name
            elif frame[name].dtype == float:
                assert float(text) == value
            else:
                assert text == str(value)


def test_conditions_choose_cells(run):
    assert len(run.select("game=RPS").table()) == 6
    assert len(run.select("game=RPS", "subject!=rmax").table()) == 4
    with tomeval.Run(run.folder, where="game=RPS") as part:
        assert len(part.select("subject=random").table()) == 2  # of what is chosen already
        assert len(part.steps()) == 3 * 2 * 6 * 5
        with pytest.raises(TomevalError, match="game"):
            part.select("game=IPD").table()
    with pytest.raises(TomevalError, match="did you mean 'IPD'"):
        run.select("game=IDP").table()


def test_metrics_are_chosen_by_any_of_their_names_in_their_order(run):
    columns = list(run.table(["regret", "ToM %"]).columns)
    names = [name for name in columns if name in run.metric_names]
    assert names == ["delta_functional_per_step", "tom_percent"]
    assert columns.index("tom_percent_ci95") == columns.index("tom_percent") + 1
    assert {"subject", "episodes", "seed"} < set(columns)
    with pytest.raises(TomevalError, match="did you mean"):
        run.table("tum_percent")


def test_a_comparison_is_that_of_the_library_and_shows_itself(run):
    mine = run.select("game=IPD").compare("subject", "random", metrics="regret")
    with results.Run(run.folder, ["game=IPD"]) as plain:
        names = ["delta_functional_per_step"]
        other = tomeval.compare(plain, "subject", "random", metrics=names)
    assert repr(mine.rows()) == repr(other.rows())  # NaN is not equal to itself
    assert len(mine.table()) == len(other.rows())
    assert "ΔFunctional/T" in repr(mine)
    for word in ("subject", "difference", "p (Holm)"):
        assert word in repr(mine)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metrics": ["ToM %"]},
        {"metrics": ["regret", "tom"]},
        {"metrics": "regret", "interval": "t", "reference": "stationary"},
    ],
)
def test_a_table_prints_what_the_command_prints(run, options, tomeval):
    """Tables on standard output and notes on standard error there; here they are one text."""
    command = ["table", run.folder]
    for name, value in options.items():
        option = name.removesuffix("s") if name == "metrics" else name
        for one in [value] if isinstance(value, str) else value:
            command += [f"--{option}", one]
    code, out, errors = tomeval(*command)
    assert code == 0
    text = run.text(**options)
    assert f"{text}\n" == out + errors
    assert repr(text) == text
    assert options or str(run) == text


def test_figures_are_matplotlibs(run):
    from matplotlib.figure import Figure

    figures = run.select("game=IPD", "partners=tit_for_tat").plot(only="forest")
    assert figures
    assert all(isinstance(figure, Figure) for figure in figures.values())
    assert list(figures) == [line.partition(":")[0] for line in repr(figures).splitlines()]
    page = figures._repr_html_()
    assert page.count("<img ") == len(figures) == page.count("<figcaption>")
    with pytest.raises(TomevalError, match="did you mean 'forest'"):
        run.plot(only="forrest")


def test_tables_in_the_form_of_the_paper_and_with_its_numbers_beside(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what ships is found from any folder
    table = run.table(published=True)
    assert "answer" not in table.columns
    assert table["subject"][0] == "Tabular RMax"
    shown = ["ΔFunctional/T", "ΔToM/T (misprediction)", "ToM %"]
    text = run.text(published=True)
    assert [text.index(name) for name in shown] == sorted(map(text.index, shown))
    beside = run.table(against="reported_results")
    assert set(beside["subject"]) == {"Tabular RMax"}
    assert str(beside["reported"].dtype) == "float64"
    assert "published episodes have 100 steps, these 5" in run.text(against="reported_results")
    with pytest.raises(TomevalError, match="did you mean 'reported_results'"):
        run.table(against="reported_result")
    with pytest.raises(TomevalError, match="did you mean 'reported_results'"):
        run.table(against="experiments/reported_results.csv")
    with pytest.raises(TomevalError, match="--as-model needs --against"):
        run.table(as_model="Falcon 40B")


def test_transcripts_are_chosen_by_what_is_played(run):
    chosen = run.select("game=IPD", "subject=random", "partners=tit_for_tat")
    text = chosen.transcript(episode=3)
    assert "random, IPD" in text
    assert "episode 3" in text
    assert len(re.findall(r"^== step", text, re.MULTILINE)) == 5
    steps = chosen.steps()
    label = steps[(steps["episode"] == 3) & (steps["step"] == 1)]["own_label"].item()
    assert f"== step 1: chose {label}" in text
    assert repr(text) == str(text)
    with pytest.raises(TomevalError, match="no cell 11, there are"):
        run.select("game=RPS").transcript(11)


def test_a_run_says_what_it_is(run, folder):
    assert repr(run) == f"Run({str(folder)!r}: experiment, matrix, 12 cells, 72 complete episodes)"
    for word in ("subject", "ΔFunctional/T", "knows", "uses", "plays", "answer"):
        assert word in str(run)


def test_nothing_of_what_others_wrote_acts_on_a_page(run):
    page = run.select(f"subject={HOSTILE}").plot(only="forest", metrics="tom")._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("domain", every_domain.EXPERIMENTS)
def test_every_domain(domain, tmp_path):
    from support import scripts

    with scripts(good=every_domain.good(domain)):
        experiment = every_domain.experiment(domain, "scripted:good", episodes=3)
        with tomeval.run(experiment, tmp_path / "run") as run:
            lengths = [len(run.steps()), len(run.episodes()), len(run.answers()), len(run.table())]
            assert min(lengths) > 0
            assert lengths[1] == 3 * lengths[3]
            assert len(str(run).splitlines()) > 2
            assert run.transcript()
