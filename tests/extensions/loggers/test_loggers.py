"""A run in Weights & Biases or MLflow: what is logged, and that no client can touch the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from support import dump

import tomeval
from tomeval.cli import main

EXPERIMENT = """
name = "curves"
games = "IPD"
partners = ["tit_for_tat", "single_action"]
subjects = ["random", {name = "asked", strategy = "QA", max_attempts = 1}]
model = "scripted:replies.json"
episodes = 3
horizon = 4
on_invalid = "random"
"""
REPLIES = ["Final answer: Cooperate", "Final answer: Defect", "?"] * 9
FAKE = """
import json, os

def note(*what):
    with open(os.environ["FAKE_LOG"], "a") as file:
        file.write(json.dumps(what) + "\\n")

class Settings:
    def __init__(self, **keys): pass

class Table:
    def __init__(self, dataframe): self.rows = len(dataframe)

class Run:
    url, dir = None, "somewhere"
    def log(self, values, step=0):
        if os.environ.get("FAKE_FAILS"): raise ConnectionError("no line to the server")
        if "table" in values: return note("table", values["table"].rows)
        note("log", step, values)
    def finish(self): note("finish")

def init(**keys):
    note("init", {name: keys[name] for name in ("name", "config", "project")})
    return Run()
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with an experiment, and a client that is none but writes down what it is told."""
    (tmp_path / "my.toml").write_text(EXPERIMENT)
    (tmp_path / "replies.json").write_text(json.dumps(REPLIES))
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake/wandb.py").write_text(FAKE)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "told"))
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "fake")
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("wandb", None)


def run(*more: str) -> int:
    sys.argv = ["tomeval", "run", "my.toml", "--out", "out", *more]
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def told(folder, kind: str) -> list:
    lines = (json.loads(line) for line in (folder / "told").read_text().splitlines())
    return [what[1:] for what in lines if what[0] == kind]


def rows(folder) -> list:
    return dump(folder)["steps"]


def test_curves_end_at_the_numbers_of_the_table(work, capsys) -> None:
    run("--log", "wandb")
    with tomeval.Run("out") as opened:
        table = opened.rows()
    last: dict[str, float] = {}
    for _, values in told(work, "log"):  # cells can have fewer episodes than others
        last |= values
    for row in table:
        parts = row["subject"], row["partners"]
        for name in ("delta_functional_per_step", "tom_percent"):
            if row[name] == row[name]:
                [at] = [k for k in last if k.endswith(f"/{name}") and all(p in k for p in parts)]
                assert last[at] == pytest.approx(row[name], abs=1e-9)
    assert [step for step, _ in told(work, "log")] == [1, 2, 3]
    assert told(work, "table") == [[len(table)]]
    [[begun]] = told(work, "init")
    assert (begun["name"], begun["project"]) == ("curves", "tomeval")
    assert len(begun["config"]["cells"]) == 4
    assert "wandb: somewhere" in capsys.readouterr().err


def test_a_logger_that_fails_changes_nothing(work, capsys, monkeypatch) -> None:
    code = run()
    plain = rows(work / "out")
    (work / "out").rename(work / "plain")
    monkeypatch.setenv("FAKE_FAILS", "1")
    capsys.readouterr()
    assert run("--log", "wandb") == code
    assert rows(work / "out") == plain
    said = " ".join(capsys.readouterr().err.split())
    assert "wandb: not logged (no line to the server); the run is complete in out" in said


def test_a_refused_run_is_not_logged(work, capsys) -> None:
    assert run("--log", "wandb", "--set", "until=width(regret) < 0.1", "--shard", "1/2") == 2
    assert not (work / "told").exists()
    assert run("--log", "wnadb") == 2
    assert "did you mean 'wandb'?" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")  # MLflow's own libraries
@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_with_the_clients_themselves(tmp_path, name) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed: pip install 'tomeval[{name}]'")
    (tmp_path / "my.toml").write_text(EXPERIMENT)
    (tmp_path / "replies.json").write_text(json.dumps(REPLIES))
    store = f"sqlite:///{tmp_path}/mlflow.db"
    environment = {**os.environ, "WANDB_MODE": "offline", "MLFLOW_TRACKING_URI": store}
    command = [sys.executable, "-m", "tomeval", "run", "my.toml", "--out", "out", "--log", name]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert f"{name}: " in done.stderr, done.stderr
    assert "not logged" not in done.stderr, done.stderr
    if name == "wandb":
        [folder] = (tmp_path / "wandb").glob("offline-run-*")
        assert b"delta_functional_per_step" in next(folder.glob("*.wandb")).read_bytes()
        return
    import mlflow

    client = mlflow.MlflowClient(store)
    [logged] = client.search_runs([client.get_experiment_by_name("tomeval").experiment_id])
    assert any(key.endswith("/delta_functional_per_step") for key in logged.data.metrics)
