"""Commands that read a folder whose experiment is missing, or is another one's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import SMALL

from tomeval.models.scripted import SCRIPTS
from tomeval.play.runner import run_experiment
from tomeval.runs.experiment import make_experiment

READERS = [
    *(["status"], ["table"], ["compare"], ["transcript", "--episode", "1"], ["export"]),
    *(["plot", "--out", "{out}"], ["report", "--no-figures", "--out", "{out}.html"]),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> list[Path]:
    """A run, and one of another experiment of the same name."""
    made = [tmp_path_factory.mktemp("runs") / name for name in ("one", "other")]
    run_experiment(make_experiment(SMALL | {"episodes": 3}), made[0])
    run_experiment(make_experiment(SMALL | {"episodes": 3, "games": ["RPS"]}), made[1])
    return made


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_every_reader_tells(tomeval, folders, tmp_path, caplog, command) -> None:
    copy = shutil.copytree(folders[0], tmp_path / "run")
    path = copy / "experiment.json"
    given = [command[0], copy, *(word.format(out=tmp_path / "out") for word in command[1:])]
    shutil.copy(folders[1] / path.name, copy)
    code, out, errors = tomeval(*given)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert "and experiment.json of another one, " in errors
    assert not list(tmp_path.glob("out*"))
    path.unlink()
    code, _, errors = tomeval(*given)
    assert code == 2
    assert f"{path}: missing; run the same experiment into the folder again to restore it" in errors


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ([], "mine"),
        (["scripted:one"], "mine"),  # the experiment's own
        (["scripted:two"], "mine-two"),
        (["scripted:two", "scripted:o/th ree@main"], "mine-two-th-ree-main"),
    ],
)
def test_another_model_has_a_run_folder_of_its_own(
    tomeval, tmp_path, monkeypatch, given, folder
) -> None:
    for name in ("one", "two", "o/th ree@main"):
        monkeypatch.setitem(SCRIPTS, name, lambda request: "Final answer: J")
    monkeypatch.chdir(tmp_path)
    lines = ['name = "mine"', 'games = "IPD"', 'labels = "neutral"', "horizon = 1", "episodes = 1"]
    lines += ['subjects = [{ strategy = "QA" }]', 'model = "scripted:one"']
    Path("e.toml").write_text("\n".join(lines), encoding="utf-8")
    options = [word for name in given for word in ("--model", name)]
    code, _, errors = tomeval("run", "e.toml", *options)
    assert code == 0
    assert [path.name for path in Path("runs").iterdir()] == [folder]
    note = f"note: a run with --model has its own run folder: runs/{folder}\n"
    assert (note in errors) == (folder != "mine")
    assert f"runs/{folder}: 0 episodes played" in tomeval("run", "e.toml", *options)[2]  # resumes
    if folder != "mine":
        assert tomeval("run", "e.toml")[0] == 0
        code, _, errors = tomeval("run", "e.toml", *options, "--out", "runs/mine")
        assert (code, "holds another experiment" in errors) == (2, True)
