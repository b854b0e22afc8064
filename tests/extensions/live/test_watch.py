"""`tomeval status --follow` and the file that it reads."""

from __future__ import annotations

import json
import os
import platform
import pty
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest

from tomeval.core.errors import TomevalError
from tomeval.extensions.live import watching
from tomeval.extensions.live.changes import experiment_of
from tomeval.extensions.live.watching import Watched
from tomeval.models.naming import brief_names
from tomeval.runs import live as files
from tomeval.runs import writer
from tomeval.runs.folder import locked
from tomeval.runs.live import Counts, Live, ModelCount, live_file, read_live
from tomeval.runs.tallies import Asked

EXPERIMENT = (
    'name = "mine"\ngames = ["RPS"]\nsubjects = ["best_response", "random"]\nepisodes = 3\n'
)


@pytest.fixture
def run(tomeval, tmp_path):
    """Return a run folder that is finished."""
    path = tmp_path / "e.toml"
    path.write_text(EXPERIMENT)
    assert tomeval("run", path, "--out", tmp_path / "run")[0] == 0
    return tmp_path / "run"


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(watching, "_SECOND_LOOK", 0.0)


def written(folder, **more) -> None:
    """Write a made-up state into a folder, as of now."""
    live = Live()
    live.steps, live.total, live.wanted, live.counts = 300, 1000, 60, Counts(complete=18)
    live.models["m"] = ModelCount("hf:org/model", Asked(10, 2000, 100, 1.5, 10, 1), 3, 60)
    live.replica_lines = lambda: ["replica 1 (node): playing, 18 episodes"]
    more = {"name": "e", "left": 100.0, "written": time.time(), **more}
    (folder / "live.json").write_text(json.dumps(asdict(live.now()) | more))


# --- the file -------------------------------------------------------------------------------------


def test_the_file_says_how_a_run_ended(run, tmp_path) -> None:
    state = read_live(run, experiment_of(run))
    assert (state.over, state.name, state.counts, state.wanted) == (
        "finished",
        "mine",
        Counts(6),
        6,
    )
    assert (state.steps, state.total, state.left) == (600, 600, 0.0)
    assert state.process == f"process {os.getpid()} on {platform.node()}"
    for error, over, why in (
        (KeyboardInterrupt(), "stopped", ""),
        (OSError("full"), "failed", "full"),
    ):
        with pytest.raises(type(error)):
            broken_off(tmp_path, error)
        state = read_live(tmp_path, "0")
        assert (state.over, state.why, state.name) == (over, why, "other")


def broken_off(folder, error) -> None:
    with live_file(folder, Live(), "other", "0"):
        assert read_live(folder, "0").over == ""
        raise error


def test_the_file_is_written_again_and_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "EVERY", 0.02)
    live = Live()
    with live_file(tmp_path, live, "e", "0") as ticking:
        live.total = 7
        time.sleep(0.03)
        ticking.step(False)  # nobody writes by itself
        assert read_live(tmp_path, "0").total == 7
        live.total = 8
        ticking.step(True)
        for _ in range(200):
            if (state := read_live(tmp_path, "0")).total == 8:
                break
            time.sleep(0.02)
        assert state.total == 8


def test_a_file_that_cannot_be_written_stops_no_run(tmp_path, monkeypatch, caplog) -> None:
    def full(path, text, own):
        raise TomevalError(f"{path}: cannot be written (No space left on device)")

    monkeypatch.setattr(files, "write_text", full)
    with live_file(tmp_path, Live(), "e", "0"):
        pass
    [said] = [record.getMessage() for record in caplog.records]
    assert "No space left on device" in said


def test_addresses_are_not_in_it(tmp_path) -> None:
    live = Live()
    address = "openai:m@http://user.example.org:8000/v1"
    live.models[address] = ModelCount(brief_names([address])[0])
    with live_file(tmp_path, live, "e", "0"):
        assert "example.org" not in (tmp_path / "live.json").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "live.json: Invalid JSON"),
        ('{"steps": "many"}', "live.json: steps: Input should be a valid integer"),
        ('{"experiment": "1", "name": "b"}', "live.json: is of another experiment than run.sqlite"),
    ],
)
def test_a_file_that_is_not_the_run_s_own_is_one_line(tmp_path, tomeval, run, text, message):
    (run / "live.json").write_text(text)
    code, out, errors = tomeval("status", "--follow", "--once", run)
    assert (code, out) == (2, "")
    assert message in " ".join(errors.split())
    assert errors.count("tomeval: ") == 1


def test_a_swapped_store_is_one_line(tomeval, tmp_path, run) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT.replace("RPS", "IPD"))
    assert tomeval("run", tmp_path / "e.toml", "--out", tmp_path / "b")[0] == 0
    for name in ("live.json", "experiment.json"):
        (tmp_path / "b" / name).replace(run / name)
    code, _, errors = tomeval("status", "--follow", "--once", run)
    assert code == 2
    assert str(run) in errors
    assert "experiment" in errors


# --- how a run is, seen from outside --------------------------------------------------------------


def test_a_run_that_goes_and_its_end_without_a_word(tmp_path) -> None:
    with locked(tmp_path):
        assert Watched(tmp_path).doing == "begins"
        written(tmp_path)
        assert Watched(tmp_path).doing == "plays"
        written(tmp_path, written=time.time() - 100)
        seen = Watched(tmp_path)
        assert seen.doing == "silent"
        assert 99 < seen.age < 105
    written(tmp_path)
    assert Watched(tmp_path).doing == "gone"  # who held the folder does not hold it any more
    (tmp_path / "run.pid").write_text(f"process {2**22 + 1} on {platform.node()}")
    assert Watched(tmp_path).doing == "gone"  # it was killed


def test_clocks_that_differ(tmp_path, monkeypatch) -> None:
    """The file of a machine whose clock is ten minutes late, or early, changes: it is played."""
    monkeypatch.setattr(writer, "filesystem", lambda folder: "nfs4")
    (tmp_path / "run.lock").touch()
    (tmp_path / "run.pid").write_text("process 1 on elsewhere")
    now = [1000.0]
    written(tmp_path, written=400.0)
    run = Watched(tmp_path, lambda: now[0])
    assert run.doing == "silent"
    now[0] += 3
    written(tmp_path, written=402.0)
    run.look()
    assert run.doing == "plays"
    written(tmp_path, written=2000.0)
    ahead = Watched(tmp_path, lambda: now[0])
    assert ahead.doing == "plays"
    now[0] += 30  # it did not change
    ahead.look()
    assert ahead.doing == "silent"


def test_folders_that_are_no_runs(tomeval, tmp_path, run) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("")
    for name, message in (
        ("none", "none: there is no such folder"),
        ("other", "other: not a run folder"),
    ):
        code, _, errors = tomeval("status", "--follow", "--once", tmp_path / name)
        assert code == 2
        assert message in errors
    assert tomeval("status", "--follow", "--once", tmp_path / "e.toml")[0] == 2
    assert "is named twice" in tomeval("status", "--follow", "--once", run, run)[2]


def test_one_report_where_the_output_is_no_terminal(tomeval, run) -> None:
    code, out, _ = tomeval("status", "--follow", "--once", run)
    assert code == 0
    first, second, third = out.splitlines()
    assert first.startswith(f"{run}: mine, process {os.getpid()} on ")
    assert re.match(rf"finished after \d:\d\d:\d\d; see tomeval table {run}$", second)
    assert third.startswith("100 %, finished; episodes: 6 complete, 0 void, 0 failed")
    assert tomeval("status", run, "--follow")[:2] == (0, out)  # it has ended
    (run / "live.json").unlink()
    code, out, _ = tomeval("status", "--follow", "--once", run)
    assert code == 0
    assert f"no live.json tells how it goes; see tomeval status {run}" in out


def test_a_run_that_was_asked_to_stop_says_what_it_finishes(tomeval, tmp_path) -> None:
    with locked(tmp_path):
        written(
            tmp_path, note="tomeval: finishing 4 episodes, up to 3 min; once more stops at once"
        )
        out = tomeval("status", "--follow", "--once", tmp_path)[1].splitlines()
        assert out[1] == "finishing 4 episodes, up to 3 min; once more stops at once"
        assert out[2].startswith("30 %, stopping; ")
        written(tmp_path, total=0)
        assert tomeval("status", "--follow", "--once", tmp_path)[1].splitlines()[1:] == [
            "it starts"
        ]
    written(tmp_path)
    code, out, _ = tomeval("status", "--follow", "--once", tmp_path)
    assert code == 1
    assert "its process is gone without a word" in out.splitlines()[1]
    assert out.splitlines()[2].startswith("30 %, gone; ")


def rendered(folders, columns, until, stop=True):
    """Watch at a terminal until it shows a text; return exit code, lines and standard error."""
    main, side = pty.openpty()
    command = [sys.executable, "-m", "tomeval", "status", "--follow", *map(str, folders)]
    environment = os.environ | {"COLUMNS": str(columns), "LINES": "24", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=side, stderr=subprocess.PIPE, env=environment) as process:
        os.close(side)
        text = ""
        while until not in text:
            text += os.read(main, 65536).decode()
        if stop:
            process.send_signal(signal.SIGINT)
        while True:
            try:
                text += os.read(main, 65536).decode()
            except OSError:  # how Linux says that nobody writes any more
                break
        errors = process.stderr.read().decode()
    os.close(main)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return process.returncode, re.split(r"[\r\n]+", plain), errors


@pytest.mark.parametrize("columns", [80, 120])
def test_ctrl_c_leaves_the_run_alone(tmp_path, columns) -> None:
    with locked(tmp_path):
        written(tmp_path)
        code, lines, errors = rendered([tmp_path], columns, "replica 1")
    assert code == 0
    assert errors == f"the run goes on; look again: tomeval status --follow {tmp_path}\n"
    assert any(re.match(r" *30 % .* 300 of 1,000 steps 0:01:40 left", line) for line in lines)
    assert all(len(line) <= columns for line in lines)


def test_shards_have_a_row_each_and_a_total(tmp_path, run) -> None:
    for shard in (1, 2):
        (tmp_path / f"s{shard}").mkdir()
    with locked(tmp_path / "s1"):
        written(tmp_path / "s1", left=65.0)
        written(tmp_path / "s2", over="failed", why="no space\x1b[2J")
        folders = [run, tmp_path / "s1", tmp_path / "s2"]
        code, lines, _ = rendered(folders, 120, "no space")
        assert code == 0  # it was left
    start = max(n for n, line in enumerate(lines) if line.startswith("run "))
    head, whole, first, second, total, *words = lines[start:]
    assert head.split() == ["run", "done", "left", "episodes", "cost"]
    assert whole.split()[1:] == ["100", "%", "finished", "6/6", "–"]
    assert first.split()[1:] == ["30", "%", "0:01:05", "18/60", "1.50"]
    assert second.split()[1:] == ["30", "%", "failed", "18/60", "1.50"]
    assert total.split() == ["all", "42/126", "3.00"]
    assert any("no space\\x1b[2J" in line for line in words)
