"""Who writes a run folder: one process, or one for each shard."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys

import pytest
from support import outcome

from tomeval.core.errors import TomevalError
from tomeval.runs.folder import locked


def refused(folder, part: str = "") -> str:
    def enter() -> None:
        with locked(folder, part):
            pass

    return outcome(enter)[1]


def test_a_second_process_is_told_which_one_holds_the_folder(tmp_path) -> None:
    script = "import sys, pathlib, tomeval.runs.folder as lock\n"
    script += "with lock.locked(pathlib.Path(sys.argv[1])): print(flush=True); input()"
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        assert f"(process {other.pid} on {platform.node()})" in refused(tmp_path)
        other.kill()
    assert not refused(tmp_path)
    assert (tmp_path / "run.lock").read_text() == f"process {os.getpid()} on {platform.node()}"


def test_parts_are_held_beside_each_other_and_not_beside_the_whole(tmp_path) -> None:
    busy = "another process is running in this folder"
    with locked(tmp_path, ".1-of-2"), locked(tmp_path, ".2-of-2"):
        assert busy in refused(tmp_path, ".2-of-2")
        assert busy in refused(tmp_path)
    with locked(tmp_path):
        assert busy in refused(tmp_path, ".1-of-2")
    assert not refused(tmp_path)


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    with pytest.raises(TomevalError, match="the file system has no locks"), locked(tmp_path):
        pass
