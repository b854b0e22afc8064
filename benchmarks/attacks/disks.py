"""Disks that are full or read-only, a second writer, folders without locks, reading while written.

A served run on a disk that is full at a random moment (a small tmpfs, where one can be mounted),
resumed once there is room; a finished run on a read-only disk; a
second process in a folder that is in use, on a file system with locks and on one without; `table`
and `status` while a run writes. Survived: one clear error that names the
file and no traceback, the resumed run has the rows of an undisturbed one, the second process was
told which one holds the folder or that there are no locks, and every reading worked.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import numpy as np

from attacks.base import Row, contents, judged, scaled
from attacks.commands import Called, call
from attacks.kills import KINDS, PATIENCE, Command, SlowServer, write_experiment

DISKS, WRITING = 60, 40
"""Full disks of each kind, and readings, at full size."""

READ = (("table",), ("status",))


@contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[None]:
    """Mount a disk of so many bytes; it takes root on Linux."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


@contextmanager
def _without_locks() -> Iterator[None]:
    """Be on a file system without locks, as NFS mounted so and Lustre are."""
    none = OSError(errno.ENOSYS, "Function not implemented")
    with mock.patch("fcntl.flock", side_effect=none):
        yield


class _Disks:
    """Plays one experiment, whole and under attack."""

    def __init__(self, server: SlowServer, work: Path) -> None:
        self.work, self.disk, self.whole = work, work / "disk", work / "whole"
        self._model = ["--model", server.model]
        self.file = write_experiment(KINDS["served"].data, work / "served.toml")
        assert self._run(self.whole).code == 0
        self.truth = contents(self.whole, calls=True)
        self.bytes = sum(path.stat().st_size for path in self.whole.iterdir())

    def _run(self, folder: Path) -> Called:
        with mock.patch.dict(os.environ, OPENAI_API_KEY="none"):
            return call("run", self.file, "--out", folder, *self._model)

    def full(self, size: int) -> str:
        """Run on a disk of so many bytes, then with room; return what went wrong."""
        folder = self.disk / "run"
        with _small_disk(self.disk, size):
            wrong = self._filled(folder, self._run(folder))
            grown = f"remount,size={size + 100 * self.bytes}"
            subprocess.run(["mount", "-o", grown, str(self.disk)], check=True)
            return wrong or self._resume(folder)

    def _filled(self, folder: Path, played: Called) -> str:
        """Return what is wrong with how a run ended whose disk was full, and with its folder."""
        if played.code == 0:
            return ""
        named = str(folder) in played.errors or not any(folder.glob("*"))
        if not (played.is_one_error and named):
            return f"exit code {played.code}: {played.errors[-800:]} {played.crash[-1500:]}"
        for command in READ:
            called = call(*command, folder)
            begun = any(text in called.errors for text in ("nothing was played", "not a run"))
            if called.crash or "not what was written" in called.errors:
                return f"{command}: {called.errors} {called.crash[-1500:]}"
            if called.code and not begun:
                return f"{command}: {called.code} {called.errors}"
        return ""

    def _resume(self, folder: Path) -> str:
        again = self._run(folder)
        if again.code:
            return f"not resumed: {again.errors[-800:]} {again.crash[-1500:]}"
        return "" if contents(folder, calls=True) == self.truth else "resumed, and rows differ"

    def read_only(self) -> str:
        """Read a finished run on a read-only disk, and try to extend it."""
        run = self.disk / "run"
        with _small_disk(self.disk, 50 * self.bytes + (1 << 22)):
            shutil.copytree(self.whole, run)
            subprocess.run(["mount", "-o", "remount,ro", str(self.disk)], check=True)
            alike = [call(*c, run)[:2] == call(*c, self.whole)[:2] for c in READ]
            played = self._run(run)
            named = str(run) in played.errors and "cannot be written" in played.errors
            good = all(alike) and played.is_one_error and named
            return "" if good else f"{alike}, {played.code}: {played.errors} {played.crash}"

    def two(
        self, where: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> tuple[str, float]:
        """Start a second process in a folder that is in use; it may see another file system."""
        folder = self.work / "two"
        with where():
            first = self._apart(folder)
            while not (folder / "episodes.jsonl").exists() and first.alive:
                time.sleep(0.01)
            start = time.monotonic()
            second = self._run(folder)
            told = time.monotonic() - start
        code, said = first.end(PATIENCE)
        why = "has no locks" if where is _without_locks else f"(process {first.process.pid} on "
        named = why in second.errors
        good = (
            second.is_one_error
            and named
            and code == 0
            and contents(folder, calls=True) == self.truth
        )
        shutil.rmtree(folder)
        return "" if good else f"{code} {second.code}: {second.errors} {said[-500:]}", told

    def _apart(self, folder: Path) -> Command:
        return Command(self.file, folder, self._model)

    def while_writing(self, times: int) -> Iterator[str]:
        """Read a folder again and again while a run writes into it; yield what went wrong."""
        tried = 0
        while tried < times:
            folder = self.work / "writing"
            command = self._apart(folder)
            while command.alive and tried < times:
                if not (folder / "experiment.json").exists():
                    time.sleep(0.01)
                    continue
                tried += 1
                called = [call(*c, folder) for c in READ]
                yield "; ".join(
                    f"{c.code} {c.errors} {c.crash}"
                    for c in called
                    if (c.code or "not what" in c.errors) and "nothing was played" not in c.errors
                )
            code, errors = command.end(PATIENCE)
            if code or contents(folder, calls=True) != self.truth:
                yield f"the run itself: {code} {errors}"
            shutil.rmtree(folder)


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Fill disks, write-protect them, share folders, and read what is being written."""
    rng = np.random.default_rng(seed)
    rows = []
    with SlowServer() as server:
        disks = _Disks(server, work)
        count, largest = scaled(DISKS, size), max(16384, disks.bytes)
        if os.geteuid() == 0 and _can_mount(work):
            sizes = rng.integers(8192, largest, count)
            rows.append(judged("full disk (tmpfs)", [disks.full(int(one)) for one in sizes]))
            again = [disks.read_only() for _ in range(scaled(5, size))]
            rows.append(judged("read-only disk", again))
        places: dict[str, Callable[[], AbstractContextManager[object]]] = {
            "": nullcontext,
            ", no locks": _without_locks,
        }
        for name, where in places.items():
            tried = [disks.two(where) for _ in range(scaled(5, size))]
            case = f"two processes in one folder{name}"
            rows.append(judged(case, [wrong for wrong, _ in tried], max(t for _, t in tried)))
        reading = list(disks.while_writing(scaled(WRITING, size)))
        rows.append(judged("reading while a run writes", reading))
    return rows


def _can_mount(work: Path) -> bool:
    try:
        with _small_disk(work / "probe", 1 << 20):
            return True
    except (OSError, subprocess.CalledProcessError):
        shutil.rmtree(work / "probe", ignore_errors=True)
        return False
