"""Curves beside a run: what is logged, that it goes on, and that no logger can touch the run."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from importlib.util import find_spec

import pytest

import tomeval
from tomeval.cli import main
from tomeval.extensions.loggers import beside, following
from tomeval.runs.live import State
from tomeval.runs.store import STORE

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
import json, os, sys, time

def note(*what):
    with open(os.environ["FAKE_LOG"], "a") as file:
        file.write(json.dumps(what) + "\\n")

class Settings:
    def __init__(self, **keys): note("settings", keys)

class Run:
    url, dir = None, "somewhere"
    def log(self, values, step):
        print("noise", file=sys.stderr)
        if os.environ.get("FAKE_FAILS"): raise ConnectionError("http://node7:8000/v1 is away")
        note("log", step, values)
    def finish(self, exit_code): note("finish", exit_code)

def init(**keys):
    time.sleep(float(os.environ.get("FAKE_SLEEPS", 0)))
    note("init", {name: keys[name] for name in ("id", "resume", "name", "config", "project")})
    return Run()
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with an experiment, and a client that is none but writes down what it is told."""
    (tmp_path / "my.toml").write_text(EXPERIMENT)
    (tmp_path / "replies.json").write_text(json.dumps(REPLIES))
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake/wandb.py").write_text(FAKE)
    paths = [str(tmp_path / "fake"), os.environ.get("PYTHONPATH", ""), *sys.path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "told"))
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "fake")
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    with closing(sqlite3.connect(folder / STORE)) as database:
        return database.execute("SELECT * FROM steps ORDER BY cell, episode, step").fetchall()


def test_curves_end_at_the_numbers_of_the_table(work, capsys) -> None:
    run("--log", "wandb")
    step, last = told(work, "log")[-1]
    with tomeval.Run("out") as opened:
        table = opened.rows()
    assert step == sum(row["episodes"] for row in table) + last["episodes/void"]
    assert len(table) == 4
    for row in table:
        parts = row["subject"], row["partners"]
        [at] = {key.rpartition("/")[0] for key in last if all(part in key for part in parts)}
        for name in ("delta_functional_per_step", "tom_percent"):
            if row["episodes"] and row[name] == row[name]:
                assert last[f"{at}/{name}"] == pytest.approx(row[name], abs=1e-9)
        if row["invalid_rate"] == row["invalid_rate"]:
            assert last[f"{at}/invalid"] == pytest.approx(100 * row["invalid_rate"], abs=1e-9)
    calls = sum(value for key, value in last.items() if key.endswith("/calls"))
    with closing(sqlite3.connect(f"out/{STORE}")) as database:
        [[count]] = database.execute("SELECT COUNT(*) FROM calls")
    assert calls == count > 0
    [[begun]] = told(work, "init")
    assert begun["name"] == "curves"
    assert begun["project"] == "tomeval"
    assert (
        begun["config"]["experiment_sha256"]
        == json.loads((work / "out/live.json").read_text())["experiment"]
    )
    assert len(begun["config"]["experiment"]["cells"]) == 4
    said = capsys.readouterr().err
    assert "wandb: " in said
    assert "noise" not in said


def test_a_run_that_goes_on_is_logged_as_the_same(work) -> None:
    run("--log", "wandb", "--limit", "1")
    run("--log", "wandb", "--log", "wandb")
    (one,), (other,) = told(work, "init")
    assert one["id"] == other["id"] == (work / "out/log-wandb.txt").read_text()
    steps = [step for step, _ in told(work, "log")]
    assert steps == sorted(steps)
    assert len(told(work, "finish")) == 2


def test_a_logger_that_fails_changes_nothing(work, capfd, monkeypatch) -> None:
    code = run()
    plain = rows(work / "out")
    (work / "out").rename(work / "plain")
    capfd.readouterr()
    monkeypatch.setenv("FAKE_FAILS", "1")
    assert run("--log", "wandb") == code
    said = capfd.readouterr().err
    assert rows(work / "out") == plain
    assert said.count("the run goes on") == 1
    assert "node7" not in said
    assert "points logged: 0; " in said


def test_a_logger_that_hangs_is_left_behind(work, capfd, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_SLEEPS", "60")
    monkeypatch.setattr(beside, "PATIENCE", 1.0)
    began = time.monotonic()
    run("--log", "wandb")
    assert time.monotonic() - began < 30
    assert "did not end within 1 s" in capfd.readouterr().err


def test_ctrl_c_ends_the_wait_for_a_logger_and_no_run(work, capfd, monkeypatch) -> None:
    monkeypatch.setenv("FAKE_SLEEPS", "60")
    monkeypatch.setattr(beside, "SILENT", 0.5)
    told_of: list[str] = []

    def pressed(text: str) -> None:
        told_of.append(text)
        raise KeyboardInterrupt

    monkeypatch.setattr(beside, "tell", pressed)
    code = run("--log", "wandb")
    said = capfd.readouterr().err
    assert code in (0, 1)
    assert "60 s at most" in told_of[0]
    assert "wandb: was interrupted" in said
    assert "go on" not in said


def test_opening_takes_no_share_of_the_points(tmp_path, monkeypatch) -> None:
    clock, rests = [0.0], []

    class Over:
        def wait(self, rest: float) -> bool:
            rests.append(rest)
            return len(rests) > 3

    def look(self, state) -> None:
        clock[0] += 0.1 if self.told["points"] else 9.0  # the first imports and opens a client
        self.told["points"] += 1

    monkeypatch.setattr(following.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(following.Follower, "look", look)
    monkeypatch.setattr(following, "_state", lambda *_: State(over="finished"))
    following.follow("wandb", tmp_path, 0.0, Over(), sys.stderr)
    assert rests == [0.0, 5.0, 5.0, 5.0]


def test_a_refused_run_is_not_logged(work, capsys) -> None:
    assert run("--log", "wandb", "--set", "until=width(regret) < 0.1", "--limit", "1") == 2
    assert not (work / "told").exists()
    assert run("--log", "wnadb") == 2
    assert "did you mean 'wandb'?" in capsys.readouterr().err


def test_a_client_that_is_missing_is_one_line(work, capsys) -> None:
    if find_spec("mlflow") is not None:
        pytest.skip("MLflow is installed here")
    (work / "mlflow").mkdir()  # a folder of this name is no client
    assert run("--log", "mlflow") == 2
    said = capsys.readouterr().err.strip()
    assert said.endswith("pip install 'tomeval[mlflow]'")
    assert "\n" not in said
    assert not (work / "out").exists()


@pytest.mark.filterwarnings("ignore")  # MLflow's own libraries
@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_with_the_clients_themselves(tmp_path, monkeypatch, name) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed: pip install 'tomeval[{name}]'")
    (tmp_path / "my.toml").write_text(EXPERIMENT)
    (tmp_path / "replies.json").write_text(json.dumps(REPLIES))
    store = f"sqlite:///{tmp_path}/mlflow.db"
    environment = {**os.environ, "WANDB_MODE": "offline", "MLFLOW_TRACKING_URI": store}
    command = [sys.executable, "-m", "tomeval", "run", "my.toml", "--out", "out", "--log", name]
    for more in (["--limit", "1"], []):
        done = subprocess.run(
            [*command, *more], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert "points logged" in done.stderr, done.stderr
        assert "failed (" not in done.stderr, done.stderr
    with tomeval.Run(tmp_path / "out") as opened:
        means = [row["delta_functional_per_step"] for row in opened.rows()]
    if name == "wandb":
        kept = (tmp_path / "out/log-wandb.txt").read_text()
        folders = sorted((tmp_path / "wandb").glob("offline-run-*"))
        assert [path.name.rpartition("-")[2] for path in folders] == [kept, kept]
        assert b"delta_functional_per_step" in next(folders[-1].glob("*.wandb")).read_bytes()
        return
    import mlflow

    client = mlflow.MlflowClient(store)
    logged = client.get_run((tmp_path / "out/log-mlflow.txt").read_text())
    assert logged.info.status in ("FINISHED", "FAILED")
    last = [
        logged.data.metrics[key]
        for key in sorted(logged.data.metrics)
        if key.endswith("/delta_functional_per_step")
    ]
    assert sorted(last) == pytest.approx(sorted(mean for mean in means if mean == mean), abs=1e-9)
    runs = client.search_runs([logged.info.experiment_id])
    assert len(runs) == 1
