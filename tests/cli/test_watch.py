"""`tomeval watch`, the file that it reads, and what is shown of replicas."""

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
from dataclasses import replace

import pytest

from tomeval.cli import progress_replicas, progress_words, watching
from tomeval.core.errors import TomevalError
from tomeval.runs import live_file as files
from tomeval.runs import writer
from tomeval.runs.checksums import signed
from tomeval.runs.folder import locked
from tomeval.runs.live import Live, ModelCount, ReplicaCount
from tomeval.runs.live_file import live_file, read_live
from tomeval.runs.live_state import State, state_of
from tomeval.runs.standing import Looking

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


def spread(number: int, troubled: bool = True) -> State:
    """Return the state of a made-up run on replicas, some of them in trouble."""
    live = Live()
    live.steps, live.total, live.wanted = 300, 1000, 600
    live.models["m"] = ModelCount("hf:org/model", 10, 2000, 100, 1.5, 10, 1, 3, 60)
    live.replicas = [
        ReplicaCount(
            f"replica {n + 1}", f"node-{n}.cluster", "H200", "playing", 2, 10, memory=7 << 30
        )
        for n in range(number)
    ]
    if troubled and number > 1:
        live.replicas[-1].state, live.replicas[-1].last_error = (
            "lost",
            "node\x1b[31m died " + "x" * 90,
        )
        live.replicas[-2].state, live.replicas[-2].last_error = "silent", "no answer for 60 s"
    state = state_of(live)
    fast = [replace(one, episodes_speed=0.5, tokens_speed=1000.0) for one in state.replicas]
    return replace(state, replicas=tuple(fast), left=100.0, episodes_speed=0.5 * number)


# --- what is shown of replicas --------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 7, 64])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 24), (80, 12)])
def test_replicas_fit_a_terminal(number, width, height) -> None:
    state = spread(number)
    lines = progress_words.screen_of(state, width, height)
    assert all(len(line) <= width for line in lines)
    rows = [line for line in lines if re.match(r"replica \d", line)]
    if number <= 7 and height == 24:
        assert len(rows) == number
    else:
        assert len(rows) >= min(3, number)
        assert len(lines) <= max(height - 1, 3 + 2 + 1 + 5 + 1)
    if number > 1:
        (lost,) = [n for n, line in enumerate(lines) if " lost " in line]
        assert lines[lost].split()[:4] == ["replica", str(number), "lost", "10"]
        assert lines[lost + 1].startswith(r"  node\x1b[31m died xxx")
        assert "no answer for 60 s" in "".join(lines)
    if number == 64:
        more, episodes = re.match(r"(\d+) more playing: (\d+) episodes", lines[-1]).groups()
        assert int(more) + len(rows) == 64
        assert int(episodes) == 10 * int(more)
    assert "node-0, H200" in "".join(lines) or number == 64


@pytest.mark.parametrize(("number", "lines"), [(1, 1), (7, 7), (64, 9)])
def test_a_log_has_a_line_for_each_replica_of_few(number, lines) -> None:
    head, *said = progress_words.line_of(spread(number)).split("\n")
    assert head.startswith("30 %, 0:01:40 left; episodes: 0 complete")
    assert len(said) == lines
    assert (
        "  replica 1 (node-0, H200): playing, 10 episodes, 0.5 episodes/s"
        in said[-1 if number == 1 else 0]
        or number == 64
    )
    if number == 64:
        assert said[0].startswith("  replica 63 (node-62, H200): silent, 10 episodes; no answer")
        assert said[1].startswith(r"  replica 64 (node-63, H200): lost, 10 episodes; node\x1b[31m")
        assert said[-1].startswith("  56 more playing: 560 episodes, 28 episodes/s")


def test_closing_lines_of_replicas() -> None:
    counts = [ReplicaCount(f"replica {n}", "h", "cpu", episodes=n) for n in range(1, 13)]
    assert progress_replicas.closing_lines(counts)[0] == "replicas: 12, none was lost"
    counts[11].lost, counts[11].last_error = 2, "gone"
    counts[0].second, counts[1].second, counts[1].differed = 3, 1, 1
    found = progress_replicas.closing_lines(counts)
    assert found[0] == "replicas: 12, lost 2 times"
    assert "  replica 12 (h, cpu): 12 episodes; lost 2 times, the last: gone" in found
    assert "  4 more: 8 to 11 episodes each" in found
    assert found[-1].startswith("episodes played twice, and compared: 4, 1 of them different; ")
    assert progress_replicas.closing_lines([]) == []


# --- the file -------------------------------------------------------------------------------------


def test_a_state_is_read_as_it_was_written(tmp_path) -> None:
    state = spread(3)
    (tmp_path / "live.json").write_text(json.dumps(signed(state.to_dict())))
    assert read_live(tmp_path) == state


def test_the_file_says_how_a_run_ended(run, tomeval, tmp_path) -> None:
    state = read_live(run)
    assert (state.over, state.name, state.complete, state.wanted) == ("finished", "mine", 6, 6)
    assert (state.steps, state.total, state.left) == (600, 600, 0.0)
    assert state.process == f"process {os.getpid()} on {platform.node()}"
    for error, over, why in (
        (KeyboardInterrupt(), "stopped", ""),
        (OSError("full"), "failed", "full"),
    ):
        with pytest.raises(type(error)):
            broken_off(tmp_path, error)
        found = read_live(tmp_path)
        assert (found.over, found.why, found.name, found.shard) == (over, why, "other", "2/3")


def broken_off(folder, error) -> None:
    with live_file(folder, Live(), "other", "2/3"):
        assert read_live(folder).over == ""
        raise error


def test_the_file_is_written_again_and_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "EVERY", 0.02)
    live = Live()
    with live_file(tmp_path, live, "e") as file:
        live.total = 7
        time.sleep(0.03)
        file.tell(False)  # nobody writes by itself
        assert read_live(tmp_path).total == 7
        live.total = 8
        file.tell(True)
        for _ in range(200):
            if (found := read_live(tmp_path)).total == 8:
                break
            time.sleep(0.02)
        assert found.total == 8


def test_a_file_that_cannot_be_written_stops_no_run(tmp_path, monkeypatch, caplog) -> None:
    def full(path, text):
        raise TomevalError(f"{path}: cannot be written (No space left on device)")

    monkeypatch.setattr(files, "write_text", full)
    with live_file(tmp_path, Live(), "e") as file:
        file.write()
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "No space left on device" in said[0]


def test_neither_prompts_nor_addresses_are_in_it() -> None:
    live = Live()
    count = ModelCount("openai:m@http://user.example.org:8000/v1")
    count.waiting.model = "m"
    live.models["key"] = count
    assert "example.org" not in json.dumps(state_of(live).to_dict())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "live.json: damaged"),
        ('{"version": 1, "crc32": "0"}', "live.json: damaged"),
        ('{"version": 9}', "live.json: is of version 9, not 1"),
        ('{"version": 1, "steps": "many"}', "live.json: steps: Input should be a valid integer"),
    ],
)
def test_a_file_that_is_no_state_is_named(tmp_path, text, message) -> None:
    (tmp_path / "live.json").write_text(text)
    with pytest.raises(TomevalError, match=re.escape(message)):
        read_live(tmp_path)


# --- how a run is, seen from outside --------------------------------------------------------------


def written(folder, **more) -> None:
    state = replace(spread(2), name="e", **{"written": time.time(), **more})
    (folder / "live.json").write_text(json.dumps(signed(state.to_dict())))


def test_a_run_that_goes_and_its_end_without_a_word(tmp_path) -> None:
    with locked(tmp_path):
        written(tmp_path)
        assert Looking(tmp_path).look().goes == "goes"
        written(tmp_path, written=time.time() - 100)
        seen = Looking(tmp_path).look()
        assert seen.goes == "silent"
        assert 99 < seen.age < 105
    written(tmp_path)
    assert Looking(tmp_path).look().goes == "gone"  # who held the folder does not hold it any more
    (tmp_path / "run.pid").write_text(f"process {2**22 + 1} on {platform.node()}")
    assert Looking(tmp_path).look().goes == "gone"  # it was killed


def test_clocks_that_differ(tmp_path, monkeypatch) -> None:
    """The file of a machine whose clock is ten minutes late, or early, changes: it is played."""
    monkeypatch.setattr(writer, "filesystem", lambda folder: "nfs4")
    (tmp_path / "run.pid").write_text("process 1 on elsewhere")
    now = [1000.0]
    looking = Looking(tmp_path, lambda: now[0])
    written(tmp_path, written=400.0)
    assert looking.look().goes == "silent"
    now[0] += 3
    written(tmp_path, written=402.0)
    assert looking.look().goes == "goes"
    ahead = Looking(tmp_path, lambda: now[0])
    written(tmp_path, written=2000.0)
    assert ahead.look().goes == "goes"
    now[0] += 30  # it did not change
    assert ahead.look().goes == "silent"


def test_folders_that_are_no_runs(tomeval, tmp_path, run) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("")
    for name, message in (
        ("none", "none: there is no such folder"),
        ("other", "other: not a run folder"),
        ("e.toml", "e.toml: is a file, not a run folder"),
    ):
        code, _, errors = tomeval("watch", tmp_path / name)
        assert code == 2
        assert message in errors
    assert "is named twice" in tomeval("watch", run, run)[2]


def test_one_report_where_the_output_is_no_terminal(tomeval, run) -> None:
    code, out, _ = tomeval("watch", run)
    assert code == 0
    first, second, third = out.splitlines()
    assert first.startswith(f"{run}: mine, process {os.getpid()} on ")
    assert re.match(rf"finished after \d:\d\d:\d\d; see tomeval table {run}$", second)
    assert third.startswith("100 %, finished; episodes: 6 complete, 0 void, 0 failed")
    assert tomeval("watch", run, "--follow")[:2] == (0, out)  # it has ended
    (run / "live.json").unlink()
    code, out, _ = tomeval("watch", run)
    assert code == 0
    assert "nobody plays it, and no live.json says how it went" in out
    assert f"tomeval status {run}" in out
    with locked(run):
        assert "it begins just now" in tomeval("watch", run)[1]


def test_a_run_that_was_asked_to_stop_says_what_it_finishes(tomeval, tmp_path) -> None:
    with locked(tmp_path):
        written(tmp_path, note="tomeval: finishing 4 leases, up to 3 min; once more stops at once")
        out = tomeval("watch", tmp_path)[1].splitlines()
        assert out[1] == "finishing 4 leases, up to 3 min; once more stops at once"
        assert out[2].startswith("30 %, stopping; ")
        written(tmp_path, total=0)
        assert tomeval("watch", tmp_path)[1].splitlines()[1:] == ["it starts"]
    written(tmp_path)
    code, out, _ = tomeval("watch", tmp_path)
    assert code == 1
    assert "its process is gone without a word" in out.splitlines()[1]
    assert out.splitlines()[2].startswith("30 %, gone; ")
    assert "replica 1 (node-0, H200): ended, 10 episodes" in out


def test_shards_have_a_line_each_and_a_total(tomeval, tmp_path, run, monkeypatch) -> None:
    monkeypatch.setattr(watching, "_REFRESH", 0.01)
    for shard in (1, 2):
        (tmp_path / f"s{shard}").mkdir()
    with locked(tmp_path / "s1"):
        written(tmp_path / "s1", shard="1/2", left=65.0)
        written(tmp_path / "s2", shard="2/2", over="failed", why="no space\x1b[2J")
        code, out, _ = tomeval("watch", run, tmp_path / "s1", tmp_path / "s2")
    head, whole, first, second, trouble, total = out.splitlines()
    assert code == 1
    assert head.split() == ["run", "done", "left", "episodes", "per", "s", "tokens/s", "cost"]
    assert whole.split()[1:] == ["100", "%", "finished", "6/6", "–", "–", "–"]
    assert first.split()[1:] == ["(1/2)", "30", "%", "0:01:05", "0/600", "1", "–", "1.50"]
    assert second.split()[2:5] == ["30", "%", "failed"]
    assert "no space\\x1b[2J" in trouble
    # 600 + 300 + 300 of 600 + 1000 + 1000 steps
    assert total.split()[:6] == ["all", "46", "%", "not", "known", "6/1,206"]


@pytest.mark.parametrize("columns", [80, 120])
def test_ctrl_c_leaves_the_run_alone(tmp_path, columns) -> None:
    with locked(tmp_path):
        written(tmp_path)
        main, side = pty.openpty()
        command = [sys.executable, "-m", "tomeval.cli", "watch", str(tmp_path)]
        environment = os.environ | {"COLUMNS": str(columns), "LINES": "24", "TERM": "xterm"}
        with subprocess.Popen(
            command, stdout=side, stderr=subprocess.PIPE, env=environment
        ) as process:
            os.close(side)
            text = ""
            while "replica 2" not in text:
                text += os.read(main, 65536).decode()
            process.send_signal(signal.SIGINT)
            while True:
                try:
                    text += os.read(main, 65536).decode()
                except OSError:  # how Linux says that nobody writes any more
                    break
            errors = process.stderr.read().decode()
        os.close(main)
    assert process.returncode == 0
    assert errors == f"the run goes on; look again: tomeval watch {tmp_path}\n"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    lines = [line for line in re.split(r"[\r\n]+", plain) if not line.startswith(str(tmp_path))]
    assert any(re.match(r" 30 % .* 300 of 1,000 steps 0:01:40 left", line) for line in lines)
    assert all(len(line) <= columns for line in lines)
