"""Stores where a write-ahead log does not work: equal rows, readers, kills, moves."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from support import SMALL, damage_of, dump

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.runs import folder as folders
from tomeval.runs import journal, writer
from tomeval.runs.checksums import is_sealed, read_seal
from tomeval.runs.experiment import make_experiment
from tomeval.runs.journal import kind_of_mount, shared_by_hosts
from tomeval.runs.runner import run_experiment


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("local") / "run"
    run_experiment(make_experiment(SMALL), folder)
    return folder


@pytest.fixture
def on_nfs(monkeypatch) -> None:
    """Have every folder lie on a file system that hosts share."""
    share(monkeypatch, "nfs4")


def share(monkeypatch, kind: str) -> None:
    for module in (journal, writer):
        monkeypatch.setattr(module, "filesystem", lambda folder: kind)


def mode(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        return db.execute("PRAGMA journal_mode").fetchone()[0]


def test_the_kind_of_a_mount_is_read_as_the_kernel_writes_it() -> None:
    mounts = (
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "41 27 0:40 / /home rw,relatime shared:7 master:2 - nfs4 a:/x rw,vers=4.2\n"
        "42 41 0:41 / /home/my\\040runs rw - fuse.sshfs me@b:/ rw,user_id=0\n"
    )
    found = [kind_of_mount(mounts, number) for number in ("27", "41", "42", "4", "")]
    assert found == ["ext4", "nfs4", "fuse.sshfs", "", ""]
    assert [shared_by_hosts(kind) for kind in found] == [False, True, True, False, False]


def test_a_probe_says_why_a_journal_does_not_work(tmp_path, monkeypatch) -> None:
    assert journal.probe(tmp_path, journal.WAL) == ""
    assert journal.probe(tmp_path, journal.ROLLBACK) == ""
    assert list(tmp_path.iterdir()) == []
    connect = sqlite3.connect

    class NoSharedMemory(sqlite3.Connection):
        def execute(self, sql, *rest):
            if "journal_mode = wal" in sql:
                raise sqlite3.OperationalError("locking protocol")
            return super().execute(sql, *rest)

    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=NoSharedMemory)
    )
    assert journal.probe(tmp_path, journal.WAL) == "locking protocol"
    assert journal.fitting_journal(tmp_path) == "truncate"


def test_without_any_locks_it_is_one_line(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(journal, "probe", lambda folder, mode: "disk I/O error")
    with pytest.raises(TomevalError, match=r"SQLite cannot work there \(disk I/O error\)"):
        run_experiment(make_experiment(SMALL), tmp_path / "run")


def test_rows_are_equal_and_it_is_said_once(local, tmp_path, on_nfs, caplog) -> None:
    folder = tmp_path / "run"
    run_experiment(make_experiment(SMALL | {"episodes": 20}), folder)
    run_experiment(make_experiment(SMALL), folder)
    assert dump(folder) == dump(local)
    assert mode(folder) == "delete"  # as seen by a connection of its own: not WAL
    assert not (folder / "run.sqlite-wal").exists()
    said = [line for line in caplog.messages if "rollback journal" in line]
    assert len(said) == 1
    assert "lies on nfs4, where SQLite's write-ahead log does not work between hosts" in said[0]
    assert is_sealed(folder / "run.sqlite", read_seal(folder))
    assert not damage_of(folder)


def test_a_reader_neither_waits_nor_keeps_the_writer_waiting(tmp_path, on_nfs) -> None:
    folder, seen, opened = tmp_path / "run", [], []

    def on_counts(counts) -> None:
        if counts.complete == 40 and not opened:
            opened.append(tomeval.Run(folder))  # and stays open to the end
            seen.append(sum(row["complete"] for row in opened[0].status()))

    began = time.monotonic()
    run_experiment(make_experiment(SMALL), folder, on_counts=on_counts)
    assert time.monotonic() - began < 30  # SQLite would have waited for its reader
    with opened[0] as run:
        assert seen == [40] == [sum(row["complete"] for row in run.status())]
        copied = run.store._db.read_from
        assert copied != folder / "run.sqlite"
    assert not copied.parent.exists()


HOT = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = TRUNCATE")
db.execute("PRAGMA cache_size = 2")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE steps SET own_reward = own_reward + 1")
db.execute("DELETE FROM episodes WHERE cell = 1")
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def hot(local, tmp_path, on_nfs) -> Path:
    """A folder whose writer was killed half through a transaction."""
    folder = tmp_path / "hot"
    run_experiment(make_experiment(SMALL), folder)
    before = (folder / "run.sqlite").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", HOT, str(folder / "run.sqlite")], check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    assert (folder / "run.sqlite").read_bytes() != before  # pages were written already
    assert (folder / "run.sqlite-journal").stat().st_size > 0
    return folder


def test_a_reader_sees_what_was_committed_and_changes_nothing(hot, local) -> None:
    held = {path.name: path.read_bytes() for path in hot.iterdir()}
    with tomeval.Run(hot) as run, tomeval.Run(local) as right:
        assert repr(run.rows()) == repr(right.rows())
        assert not is_sealed(hot / "run.sqlite", read_seal(hot))
    assert not damage_of(hot)
    assert {path.name: path.read_bytes() for path in hot.iterdir()} == held


def test_a_run_goes_on_from_what_was_committed(hot, local) -> None:
    assert run_experiment(make_experiment(SMALL), hot) == 0
    assert dump(hot) == dump(local)
    assert is_sealed(hot / "run.sqlite", read_seal(hot))


@pytest.mark.parametrize("left", [0.0, 0.5])
def test_a_journal_that_is_lost_or_cut_is_told(hot, left) -> None:
    log = hot / "run.sqlite-journal"
    data = log.read_bytes()
    log.write_bytes(data[: int(len(data) * left)]) if left else log.unlink()
    with pytest.raises(TomevalError, match="damaged"), tomeval.Run(hot) as run:
        run.rows()
    with pytest.raises(TomevalError, match="damaged"):
        run_experiment(make_experiment(SMALL), hot)


def killed_with_a_log(folder: Path, killed: Path) -> None:
    """Run with a write-ahead log, and copy the folder half through."""

    def on_counts(counts) -> None:
        if counts.complete >= 41 and not killed.exists():
            shutil.copytree(folder, killed)

    run_experiment(make_experiment(SMALL), folder, on_counts=on_counts)
    assert (killed / "run.sqlite-wal").stat().st_size > 0


def test_a_folder_is_moved_to_a_shared_file_system_and_back(tmp_path, monkeypatch) -> None:
    folder, killed = tmp_path / "run", tmp_path / "killed"
    killed_with_a_log(folder, killed)
    with monkeypatch.context() as patch:
        share(patch, "lustre")
        names = {path.name for path in killed.iterdir()}
        with tomeval.Run(killed) as run:
            assert sum(row["complete"] for row in run.status()) >= 40
        assert {path.name for path in killed.iterdir()} == names
        run_experiment(make_experiment(SMALL), killed)
        assert is_sealed(killed / "run.sqlite", read_seal(killed))
        assert mode(killed) == "delete"
        assert not (killed / "run.sqlite-wal").exists()
        assert dump(killed) == dump(folder)
    run_experiment(make_experiment(SMALL | {"episodes": 41}), killed)
    assert mode(killed) == "wal"
    assert not damage_of(killed)


def test_another_host_is_kept_out_while_its_file_is_touched(tmp_path, on_nfs, caplog) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    other = folder / "run.pid"
    other.write_text("process 12 on elsewhere")
    with pytest.raises(TomevalError, match=r"another process .*\(process 12 on elsewhere, 0 s ago"):
        run_experiment(make_experiment(SMALL), folder)
    old = time.time() - writer.TOUCHED - 5
    os.utime(other, (old, old))
    assert run_experiment(make_experiment(SMALL), folder) == 80
    assert "process 12 on elsewhere did not end properly" in caplog.text
    assert not other.exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_an_address_is_no_folder() -> None:
    with pytest.raises(TomevalError, match=r"s3:/bucket/run: is an address, not a folder"):
        run_experiment(make_experiment(SMALL), Path("s3://bucket/run"))


def test_without_locks_of_files_the_holder_alone_keeps_others_out(
    tmp_path, on_nfs, monkeypatch, caplog
) -> None:
    import fcntl

    def refuse(*_) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with folders.locked(tmp_path):
        assert "the file system has no locks" in caplog.text
        (tmp_path / "run.pid").write_text("process 12 on elsewhere")
        with pytest.raises(TomevalError, match="another process"), folders.locked(tmp_path):
            pass
