"""One process at a time writes a run folder, or a part of it: by a lock of the file system.

The file that is locked names the process that holds it. Whether a lock reaches other hosts depends
on how a file system is mounted, and nothing tells; so `tomeval.runs.lines.Appended` also notices
when a file grows that it alone should write.
"""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tomeval.core.errors import TomevalError


@contextmanager
def locked(folder: Path, part: str = "") -> Iterator[None]:
    """Hold a run folder, or a part of it, inside the block.

    Parts, such as ``.3-of-16``, are held beside each other, but not beside the whole.

    Raises
    ------
    TomevalError
        Another process holds it, it cannot be written, or its file system has no locks.
    """
    own = folder / f"run{part}.lock"
    file = _take(own)
    try:
        for other in folder.glob("run*.lock"):
            if other != own and (not part or other.name == "run.lock"):
                _release(_take(other))
        os.ftruncate(file, 0)
        os.write(file, f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        _release(file)


def _take(path: Path) -> int:
    """Return the open file, locked."""
    folder = path.parent
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be written ({error.strerror or error})") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        who = path.read_text(encoding="utf-8", errors="replace")
        raise TomevalError(
            f"{folder}: another process is running in this folder{f' ({who})' if who else ''}; "
            "wait for it, stop it, or choose another folder with --out"
        ) from None
    except OSError as error:
        os.close(file)
        raise TomevalError(
            f"{folder}: the file system has no locks ({error.strerror or error}), so that two "
            "processes could write there at once; play on another disk with --out, and copy the "
            "folder when it is done"
        ) from None
    return file


def _release(file: int) -> None:
    with suppress(OSError):
        # Closing is not enough where a forked process has the file too.
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)
