"""Keep other hosts out of a run folder on a file system that they share.

A lock of the system keeps other processes of this host out, always. Whether it reaches other hosts
depends on how the file system is mounted (NFS with ``nolock`` or ``local_lock``, Lustre with
``localflock`` or neither, BeeGFS, programs), and nothing tells. So there the file that says who
holds the folder is also made anew or not at all, and touched again and again while it is held. One
that was not touched for a while is left over from a process that was killed.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.runs.places.filesystems import filesystem, shared_by_hosts

logger = logging.getLogger(__name__)

BEAT = 10.0
"""Seconds between two touches of the file."""

LEFT = 60.0
"""Seconds without a touch after which it is left over."""

CLOCK = ".clock-"
"""What the names of files begin with that are made to see the time of a file system."""

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


def has_locks(path: Path) -> bool:
    """Tell whether the file system of a file, which is made if needed, has locks of files.

    Some answer that they have none, such as Lustre without ``flock``.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _NO_LOCKS
    finally:
        os.close(held)
    return True


@contextmanager
def held_between_hosts(holder: Path, who: str) -> Iterator[None]:
    """Hold a folder by its file `holder`, which says `who`, against other hosts too.

    On a file system of this host alone the file is only information.

    Parameters
    ----------
    holder : Path
    who : str
        Process and host.

    Raises
    ------
    TomevalError
        A process of another host holds the folder.
    OSError
        The file cannot be written.
    """
    if not shared_by_hosts(filesystem(holder.parent)):
        write_text(holder, who)
        try:
            yield
        finally:
            with suppress(OSError):
                holder.unlink()
        return
    _take(holder, who)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(holder, who, ended), daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        with suppress(OSError):
            if holder.read_text(encoding="utf-8") == who:
                holder.unlink()


def _take(holder: Path, who: str) -> None:
    """Make the file, in place of one that is left over."""
    for last in (False, True):
        try:
            with holder.open("x", encoding="utf-8") as file:
                file.write(who)
                return
        except FileExistsError:
            _refuse_live(holder, who, last)
            with suppress(FileNotFoundError):
                holder.unlink()


def _refuse_live(holder: Path, who: str, last: bool) -> None:
    """Raise if the process that a file names is at work, as far as can be seen."""
    try:
        other, age = holder.read_text(encoding="utf-8"), _age(holder)
    except FileNotFoundError:
        return
    host = who.rpartition(" on ")[2]
    # The lock of the system has shown already that no process of this host holds the folder.
    if last or (age < LEFT and other.rpartition(" on ")[2] != host):
        raise TomevalError(
            f"{holder.parent}: another process is running in this folder ({other}, {age:.0f} s "
            "ago); wait for it, stop it, or choose another folder with --out. If it was killed: "
            f"try again in {LEFT:.0f} s"
        )
    logger.warning("%s: %s did not end there; the run goes on from what it left", holder, other)


def _age(path: Path) -> float:
    """Return how long ago a file was touched, in seconds, by the clock of its file system."""
    with tempfile.NamedTemporaryFile(prefix=CLOCK, dir=path.parent) as now:
        return max(0.0, os.stat(now.name).st_mtime - path.stat().st_mtime)


def _beat(holder: Path, who: str, ended: threading.Event) -> None:
    """Touch the file until the end, or until it is another's."""
    while not ended.wait(BEAT):
        with suppress(OSError):
            if (other := holder.read_text(encoding="utf-8")) != who:
                logger.warning(
                    "%s: %s has taken this folder, for %s did not touch its file for a while; both "
                    "write now: stop one of them, and check with tomeval verify",
                    *(holder.parent, other, who),
                )
                return
            os.utime(holder)
