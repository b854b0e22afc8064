"""Who writes a run folder: processes of this host and of others, locks that reach them or not."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
import time

import pytest
from support import outcome

from tomeval.core.errors import TomevalError
from tomeval.runs import holder
from tomeval.runs.folder import locked
from tomeval.runs.holder import TOUCHED, Holder, holder_of, this_process
from tomeval.runs.mounts import kind_of_mount, shared_by_hosts

GONE = 2**22 + 1  # beyond what Linux numbers processes with


def name(folder, who: str, age: float = 0.0) -> None:
    (folder / "run.pid").write_text(who)
    (folder / "run.lock").touch()
    then = time.time() - age
    os.utime(folder / "run.pid", (then, then))


def on(monkeypatch, kind: str) -> None:
    monkeypatch.setattr(holder, "filesystem", lambda folder: kind)


def test_a_process_of_this_host_is_there_while_it_holds_its_lock(tmp_path) -> None:
    with locked(tmp_path):
        assert holder_of(tmp_path) == Holder(this_process(), True)
    assert holder_of(tmp_path) == Holder("", False)
    name(tmp_path, f"process {GONE} on {platform.node()}")
    assert holder_of(tmp_path).there is False
    name(tmp_path, this_process())  # another process had this number before
    assert holder_of(tmp_path) == Holder(this_process(), False)


@pytest.mark.parametrize(
    ("kind", "age", "there"),
    [
        ("nfs4", 0, True),
        ("nfs4", TOUCHED + 5, False),
        ("", 0, True),  # it is not known which file system it is
        ("ext4", 0, False),  # copied from where it was held: its lock would be seen
    ],
)
def test_a_process_of_another_host_by_its_touches(tmp_path, monkeypatch, kind, age, there) -> None:
    on(monkeypatch, kind)
    name(tmp_path, "process 1 on elsewhere", age)
    assert holder_of(tmp_path) == Holder("process 1 on elsewhere", there)


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
        assert holder_of(tmp_path) == Holder("process 1 on elsewhere", True)
        other.communicate(b"\n")
    assert holder_of(tmp_path).there is False


def test_the_kind_of_a_mount_is_read_as_the_kernel_writes_it() -> None:
    mounts = (
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "41 27 0:40 / /home rw,relatime shared:7 master:2 - nfs4 a:/x rw,vers=4.2\n"
        "42 41 0:41 / /home/my\\040runs rw - fuse.sshfs me@b:/ rw,user_id=0\n"
    )
    kinds = [kind_of_mount(mounts, number) for number in ("27", "41", "42", "4", "")]
    assert kinds == ["ext4", "nfs4", "fuse.sshfs", "", ""]
    assert [shared_by_hosts(kind) for kind in kinds] == [False, True, True, False, False]


def test_another_host_is_kept_out_while_its_file_is_touched(tmp_path, monkeypatch, caplog) -> None:
    on(monkeypatch, "nfs4")
    other = tmp_path / "run.pid"
    other.write_text("process 12 on elsewhere")
    with (
        pytest.raises(TomevalError, match=r"another process .*\(process 12 on elsewhere, 0 s ago"),
        locked(tmp_path),
    ):
        pass
    old = time.time() - TOUCHED - 5
    os.utime(other, (old, old))
    with locked(tmp_path):
        assert "process 12 on elsewhere did not end properly" in caplog.text
    assert not other.exists()


def test_without_locks_of_files_the_holder_alone_keeps_others_out(
    tmp_path, monkeypatch, caplog
) -> None:
    import fcntl

    def refuse(*_) -> None:
        raise OSError(38, "Function not implemented")

    on(monkeypatch, "nfs4")
    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path):
        assert "the file system has no locks" in caplog.text
        (tmp_path / "run.pid").write_text("process 12 on elsewhere")
        with pytest.raises(TomevalError, match="another process"), locked(tmp_path):
            pass


def test_parts_are_held_beside_each_other_and_not_beside_the_whole(tmp_path) -> None:
    def refused(part: str) -> bool:
        _, message = outcome(lambda: locked(tmp_path, part).__enter__())
        return "another process is running in this folder" in message

    with locked(tmp_path, ".1-of-2"), locked(tmp_path, ".2-of-2"):
        assert refused(".2-of-2")
        assert refused("")
    with locked(tmp_path):
        assert refused(".1-of-2")


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
