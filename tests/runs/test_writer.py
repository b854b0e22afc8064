"""Who writes a run folder: processes of this host and of others, locks that reach them or not."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time

import pytest

from tomeval.runs import writer
from tomeval.runs.folder import locked
from tomeval.runs.writer import TOUCHED, Writer, this_process, writer_of

GONE = 2**22 + 1  # beyond what Linux numbers processes with


def name(folder, who: str, age: float = 0.0) -> None:
    (folder / "run.pid").write_text(who)
    (folder / "run.lock").touch()
    then = time.time() - age
    os.utime(folder / "run.pid", (then, then))


def on(monkeypatch, kind: str) -> None:
    monkeypatch.setattr(writer, "filesystem", lambda folder: kind)


def test_a_process_of_this_host_is_there_while_it_holds_its_lock(tmp_path) -> None:
    with locked(tmp_path):
        assert writer_of(tmp_path) == Writer(this_process(), True, True)
    assert writer_of(tmp_path) == Writer("", False, True)
    name(tmp_path, f"process {GONE} on {platform.node()}")
    assert writer_of(tmp_path).there is False
    name(tmp_path, this_process())  # another process had this number before
    assert writer_of(tmp_path) == Writer(this_process(), False, True)


@pytest.mark.parametrize(
    ("kind", "age", "there", "sure"),
    [
        ("nfs4", 0, True, False),
        ("nfs4", TOUCHED + 5, False, False),
        ("", 0, True, False),  # it is not known which file system it is
        ("ext4", 0, False, True),  # copied from where it was held: its lock would be seen
    ],
)
def test_a_process_of_another_host_by_its_touches(
    tmp_path, monkeypatch, kind, age, there, sure
) -> None:
    on(monkeypatch, kind)
    name(tmp_path, "process 1 on elsewhere", age)
    assert writer_of(tmp_path) == Writer("process 1 on elsewhere", there, sure)


def test_a_lock_that_is_seen_to_be_held_is_proof(tmp_path, monkeypatch) -> None:
    on(monkeypatch, "ext4")  # such as by a container, which has a host name of its own
    name(tmp_path, "process 1 on elsewhere", TOUCHED + 5)
    script = (
        "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, 2); print(flush=True); input()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "run.lock")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as other:
        other.stdout.readline()
        assert writer_of(tmp_path) == Writer("process 1 on elsewhere", True, True)
        other.communicate(b"\n")
    assert writer_of(tmp_path).there is False
