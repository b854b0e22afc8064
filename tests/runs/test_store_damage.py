"""What a store does with files that are not what was written."""

from __future__ import annotations

import errno
import json
import os
import platform
import zlib

import pytest
from attacks.commands import call

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import locked
from tomeval.runs.lines import Appended, body_of, encode
from tomeval.runs.record import Record
from tomeval.runs.store import Store
from tomeval.runs.writing import WritableStore

PLAYED = {
    "name": "small",
    "games": "RPS",
    "partners": "tit_for_tat",
    "subjects": ["random", "rmax"],
    "horizon": 3,
    "episodes": 2,
}


@pytest.fixture
def folder(tmp_path):
    tomeval.run(PLAYED, tmp_path / "run").close()
    return tmp_path / "run"


def lines_of(folder):
    return (folder / "episodes.jsonl").read_bytes().splitlines(keepends=True)


def write(folder, lines):
    (folder / "episodes.jsonl").write_bytes(b"".join(lines))


def held(folder):
    store = Store(folder)
    everything = {
        (cell, e): vars(store.record(cell, e))
        for cell in store.played_cells()
        for e in store.episodes(cell)
    }
    store.close()
    return everything


def test_a_kept_reply_after_one_that_was_cut_off_is_not_lost(tmp_path) -> None:
    experiment = make_experiment(PLAYED)
    (tmp_path / "run").mkdir()

    def opened() -> WritableStore:
        store = WritableStore(tmp_path / "run", get_domain("matrix"))
        store.begin(experiment.identity(), "digest")
        return store

    first = opened()
    first.keep_reply(0, 0, "subject", "a", "one")
    first._kept.append(encode({"cell": 0}, 1)[:-5])  # killed while it wrote
    first.close()
    second = opened()
    second.keep_reply(0, 0, "subject", "b", "two")
    second.close()
    third = opened()
    assert third.kept_replies(0, 0, "subject") == {"a": "one", "b": "two"}
    third.close()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_line_that_changed_is_named_and_its_episode_played_again(folder, number, caplog) -> None:
    before, lines = held(folder), lines_of(folder)
    middle = len(lines[number]) // 2
    lines[number] = lines[number][:middle] + b"#" + lines[number][middle + 1 :]
    write(folder, lines)
    there = held(folder)
    assert len(there) == len(before) - 1
    assert there.items() <= before.items()
    where = f"{folder / 'episodes.jsonl'}: is not what was written: line {number + 1};"
    assert where in caplog.text
    tomeval.run(PLAYED, folder).close()
    assert held(folder) == before
    assert (folder / "episodes.jsonl.damaged").read_bytes() == lines[number]


def test_a_line_of_another_run_is_none_of_this_one(folder, tmp_path, caplog) -> None:
    before = held(folder)
    tomeval.run({**PLAYED, "seed": 5}, tmp_path / "other").close()
    write(folder, [*lines_of(folder), lines_of(tmp_path / "other")[1]])
    assert held(folder) == before
    assert "line 6;" in caplog.text


def test_an_episode_that_stands_there_twice_must_be_the_same(folder) -> None:
    before, lines = held(folder), lines_of(folder)
    write(folder, [*lines, lines[1]])
    assert held(folder) == before
    seed = zlib.crc32(lines[0][9:-1])
    other = json.loads(body_of(lines[1], seed) or b"")
    other["own_action"] = 2 if other["own_action"] != 2 else 1
    write(folder, [*lines, encode(other, seed)])
    for command in ("status", "table", "export"):
        called = call(command, folder)
        assert called.is_one_error, called
        assert "episode 0 of cell 0 stands there twice" in called.errors
        assert "episodes.jsonl" in called.errors


def test_what_stood_in_lines_without_an_end_is_played_again(folder, caplog) -> None:
    before, lines = held(folder), lines_of(folder)
    write(folder, [*lines[:-1], lines[-1][:-1]])
    assert len(held(folder)) == len(before) - 1
    tomeval.run(PLAYED, folder).close()
    assert "ends within a line" in caplog.text
    assert held(folder) == before


def test_without_locks_a_process_of_this_host_is_kept_out(tmp_path, monkeypatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", none)
    holder = tmp_path / "run.pid"
    holder.write_text(f"process {os.getppid()} on {platform.node()}")
    said = f"in this folder \\(process {os.getppid()} on"
    with pytest.raises(TomevalError, match=said), locked(tmp_path):
        pass
    holder.write_text(f"process 4000000 on {platform.node()}")  # beyond what Linux gives
    with locked(tmp_path):
        assert holder.read_text() == f"process {os.getpid()} on {platform.node()}"


def test_a_disk_that_is_full_leaves_whole_lines(tmp_path, monkeypatch) -> None:
    file = Appended(tmp_path / "file")
    file.append(b"whole\n")
    write, calls = os.write, []

    def full(number: int, data: memoryview) -> int:
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(number, data[:3])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(TomevalError, match="file: the disk is full"):
        file.append(b"another\n")
    assert (tmp_path / "file").read_bytes() == b"whole\n"
    assert file.size == 6
    file.close()


def test_replies_of_a_shard_go_when_its_episodes_are_over(tmp_path) -> None:
    experiment = make_experiment(PLAYED)
    (tmp_path / "run").mkdir()

    def opened(part: str) -> WritableStore:
        store = WritableStore(tmp_path / "run", get_domain("matrix"), part)
        store.begin(experiment.identity(), "digest")
        return store

    for part, episode in ((".1-of-2", 0), (".2-of-2", 1)):
        store = opened(part)
        store.keep_reply(0, episode, "subject", "a", "one")
        store.close()
    store = opened(".1-of-2")
    store.add(0, [Record(0, "complete", 1, {"partner": 0}, {"own_action": 1})])
    store.close()
    assert [path.name for path in (tmp_path / "run").glob("replies*")] == ["replies.2-of-2.jsonl"]
