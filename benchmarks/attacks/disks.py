"""Disks that are full or read-only, a second process, and reading while a run writes.

A served run on a disk that is full at a random moment (a small tmpfs, and a limit on the size of
files), resumed once there is room; a finished run on a read-only disk; a second process in a folder
that is in use; `table` and `status` while a run writes. Survived: one clear error and no traceback,
the resumed run has the rows of an undisturbed one, the second process was told which one holds the
folder, and every reading worked.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from attacks.base import Row, judged, scaled
from attacks.damage import read
from attacks.kills import SlowServer, rows_of, write_experiment

FULL = 30
WRITING = 20
KIND = "served"


def _start(file: Path, folder: Path, model: str, limit: int = 0) -> subprocess.Popen[str]:
    """Start a run; `limit` is the largest file that it may write, as a full disk has it."""

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "tomeval", "run", str(file), "--out", str(folder)]
    return subprocess.Popen(
        [*command, "--model", model],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare if limit else None,
        env={**os.environ, "OPENAI_API_KEY": "none"},
    )


def _finish(file: Path, folder: Path, model: str) -> tuple[int, str]:
    process = _start(file, folder, model)
    _, errors = process.communicate(timeout=900)
    return process.returncode, errors


@contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[None]:
    """Mount a disk of so many bytes; it takes root on Linux."""
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)],
        check=True,
        capture_output=True,
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def _stored(folder: Path) -> int:
    """Return how many episodes a folder holds."""
    found = re.search(r"episodes: ([\d,]+) complete", read(["status", str(folder)])[1])
    return int(found[1].replace(",", "")) if found else 0


class _Disks:
    """Plays one experiment, whole and under attack."""

    def __init__(self, server: SlowServer, work: Path) -> None:
        self.work, self.server = work, server
        self.file = write_experiment(KIND, work)
        start = time.monotonic()
        assert _finish(self.file, work / "whole", server.model)[0] == 0
        self.seconds = time.monotonic() - start
        self.truth = rows_of(work / "whole")
        self.bytes = sum(path.stat().st_size for path in (work / "whole").iterdir())

    def full(self, size: int, limited: bool) -> str:
        """Run on a disk of so many bytes, then with room; return what went wrong."""
        disk, folder = self.work / "disk", self.work / "disk" / "run"
        if limited:
            shutil.rmtree(disk, ignore_errors=True)
            disk.mkdir()
            wrong = self._fill(folder, size)
            return wrong or self._resume(folder)
        with _small_disk(disk, size):
            wrong = self._fill(folder, 0)
            if not wrong:
                grown = f"remount,size={size + 100 * self.bytes}"
                subprocess.run(["mount", "-o", grown, str(disk)], check=True)
                wrong = self._resume(folder)
        return wrong

    def _fill(self, folder: Path, limit: int) -> str:
        process = _start(self.file, folder, self.server.model, limit)
        _, errors = process.communicate(timeout=900)
        if process.returncode == 0:
            return ""
        one = [line for line in errors.splitlines() if line.startswith("tomeval: ")]
        if process.returncode != 2 or len(one) != 1 or "Traceback" in errors:
            return f"exit code {process.returncode}: {errors[-1500:]}"
        return ""

    def _resume(self, folder: Path) -> str:
        before = _stored(folder) if (folder / "run.sqlite").exists() else 0
        code, _ = _finish(self.file, folder, self.server.model)
        equal = code == 0 and rows_of(folder) == self.truth
        shutil.rmtree(folder)
        if folder.parent.name == "disk" and not os.path.ismount(folder.parent):
            folder.parent.rmdir()
        return "" if equal else f"not resumed ({code}, {before} episodes before)"

    def read_only(self) -> tuple[str, float]:
        """Read a finished run on a read-only disk, and try to resume it."""
        disk, whole = self.work / "disk", self.work / "whole"
        with _small_disk(disk, 50 * self.bytes + (1 << 22)):
            shutil.copytree(whole, disk / "run")
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            start = time.monotonic()
            texts = [
                read([command, str(disk / "run")])[:2]
                == read([command, str(self.work / "whole")])[:2]
                for command in ("table", "status")
            ]
            process = _start(self.file, disk / "run", self.server.model)
            _, errors = process.communicate(timeout=300)
            good = all(texts) and process.returncode == 2 and "cannot be written" in errors
            return (
                "" if good else f"{texts}, {process.returncode}: {errors}",
                time.monotonic() - start,
            )

    def two(self) -> tuple[str, float]:
        """Start a second process in a folder that is in use."""
        folder = self.work / "two"
        first = _start(self.file, folder, self.server.model)
        while not (folder / "run.pid").exists() and first.poll() is None:
            time.sleep(0.01)
        start = time.monotonic()
        second = _start(self.file, folder, self.server.model)
        _, errors = second.communicate(timeout=300)
        told = time.monotonic() - start
        first.communicate(timeout=900)
        named = f"process {first.pid} on " in errors
        good = second.returncode == 2 and named and first.returncode == 0
        equal = good and rows_of(folder) == self.truth
        shutil.rmtree(folder)
        return "" if equal else f"{first.returncode} {second.returncode}: {errors}", told

    def while_writing(self, times: int) -> Iterator[str]:
        """Read a folder again and again while a run writes into it; yield what went wrong."""
        tried = 0
        while tried < times:
            folder = self.work / "writing"
            process = _start(self.file, folder, self.server.model)
            while process.poll() is None and tried < times:
                if not (folder / "sessions.json").exists():
                    time.sleep(0.01)
                    continue
                tried += 1
                wrong = [
                    f"{command}: {code} {errors}"
                    for command in ("table", "status")
                    for code, _, errors in [read([command, str(folder)])]
                    if code != 0
                ]
                yield "; ".join(wrong)
            _, errors = process.communicate(timeout=900)
            if process.returncode or rows_of(folder) != self.truth:
                yield f"the run itself: {process.returncode} {errors}"
            shutil.rmtree(folder)


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Fill disks, write-protect them, share folders, and read what is being written."""
    rng = np.random.default_rng(seed)
    rows = []
    with SlowServer() as server:
        disks = _Disks(server, work)
        mounts = os.geteuid() == 0 and _can_mount(work)
        count = scaled(FULL, size)

        def fill(case: str, limited: bool, smallest: int, largest: int) -> None:
            start = time.monotonic()
            sizes = rng.integers(smallest, largest, count)
            found = [disks.full(int(one), limited) for one in sizes]
            told = (time.monotonic() - start) / count
            rows.append(judged(case, found, None, f"{told:.0f} s each, with the resumed run"))

        if mounts:
            fill("full disk (tmpfs)", False, 8192, max(16384, disks.bytes))
        fill("no file may grow (RLIMIT_FSIZE)", True, 1024, max(2048, disks.bytes))
        checks: list[tuple[str, Callable[[], tuple[str, float]], bool]] = [
            ("read-only disk", disks.read_only, mounts),
            ("two processes in one folder", disks.two, True),
        ]
        for case, check, possible in checks:
            if possible:
                results = [check() for _ in range(scaled(5, size))]
                rows.append(judged(case, [one for one, _ in results], max(t for _, t in results)))
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
