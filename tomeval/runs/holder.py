"""Who writes a run folder: one process at a time, which names itself there while it does.

A lock of the system keeps other processes of this host out, always. Whether it reaches other hosts
depends on how the file system is mounted (NFS with ``nolock`` or ``local_lock``, Lustre with
``localflock`` or neither, BeeGFS, programs), and nothing tells. So on a file system that hosts
share, the file that names the process is also made anew or not at all, and touched again and again.
"""

from __future__ import annotations

import errno
import logging
import os
import platform
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.runs.mounts import filesystem, shared_by_hosts

logger = logging.getLogger(__name__)

LOCK, HOLDER = "run.lock", "run.pid"
"""The file that is locked, and the one that names the process; see `of_part`."""

BEAT = 10.0
"""Seconds between two touches of the file."""

TOUCHED = 90.0
"""Seconds without a touch after which a process of another host is gone; clocks may differ."""

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class Holder(NamedTuple):
    """The process that a run folder names.

    Attributes
    ----------
    who : str
        As the folder has it, such as ``process 12 on node3``; empty: it names none.
    there : bool or None
        Whether it is there; None: that cannot be said.
    """

    who: str
    there: bool | None


def of_part(name: str, part: str) -> str:
    """Return what a file is called for a part of a run.

    Examples
    --------
    >>> of_part("run.lock", ".3-of-16"), of_part("run.lock", "")
    ('run.3-of-16.lock', 'run.lock')
    """
    stem, _, ending = name.partition(".")
    return f"{stem}{part}.{ending}"


def this_process() -> str:
    """Return what this process is called in the folders that it writes."""
    return f"process {os.getpid()} on {platform.node()}"


def has_locks(path: Path) -> bool:
    """Tell whether the file system of a file, which is made if needed, has locks of files.

    Some answer that they have none, such as Lustre without ``flock``.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _NO_LOCKS
    finally:
        os.close(opened)
    return True


@contextmanager
def named(folder: Path, part: str = "", locks: bool = True) -> Iterator[None]:
    """Name this process in a folder; keep other hosts out that share it.

    Without `locks`, which it has not taken there, also other processes of this host.

    Raises
    ------
    TomevalError
        Another process is at work there, as far as can be seen.
    OSError
        The file cannot be written.
    """
    holder, who, ended = folder / of_part(HOLDER, part), this_process(), threading.Event()
    touching = threading.Thread(target=_touch, args=(holder, who, ended), daemon=True)
    if not locks or shared_by_hosts(filesystem(folder)):
        _take(holder, who, locks)
        touching.start()
    else:
        write_text(holder, who, own=True)
    try:
        yield
    finally:
        ended.set()
        if touching.is_alive():
            touching.join()
        with suppress(OSError):
            if holder.read_text(encoding="utf-8") == who:
                holder.unlink()


def _take(holder: Path, who: str, locks: bool) -> None:
    """Create the PID file, replacing a stale one."""
    other, age = "", 0.0
    for _ in range(2):
        try:
            with holder.open("x", encoding="utf-8") as file:
                file.write(who)
                return
        except FileExistsError:
            with suppress(FileNotFoundError):
                other, age = holder.read_text(encoding="utf-8"), _age(holder)
                if age < TOUCHED and _may_be_there(other, locks):
                    break
                logger.warning("%s: %s did not end properly; the run continues", holder, other)
                holder.unlink()
    raise TomevalError(
        f"{holder.parent}: another process is running in this folder ({other}, {age:.0f} s ago); "
        "wait for it, stop it, or choose another folder with --out. If it was killed: try again in "
        f"{TOUCHED:.0f} s"
    )


def _may_be_there(who: str, locks: bool) -> bool:
    """Tell whether a process may be at work that touched its file of late."""
    number, _, host = who.removeprefix("process ").rpartition(" on ")
    if host != platform.node():
        return True
    # The lock of the system, where there is one, has shown that it is not there.
    return not locks and number.isdecimal() and int(number) != os.getpid() and _exists(int(number))


def _touch(holder: Path, who: str, ended: threading.Event) -> None:
    """Touch the file until the end, or until it is another's."""
    while not ended.wait(BEAT):
        with suppress(OSError):
            if (other := holder.read_text(encoding="utf-8")) != who:
                logger.warning(
                    "%s: %s has taken this folder, because %s did not update its file for a "
                    "while; both are writing: stop one of them, and check with tomeval status",
                    *(holder.parent, other, who),
                )
                return
            os.utime(holder)


def holder_of(folder: Path, part: str = "") -> Holder:
    """Return who writes a run folder.

    A process of this host is there if it exists and its lock is held. A lock need not reach from
    one host to another: on a file system that hosts share, or may share, a process of another host
    is there if it touched its files of late.
    """
    holder = folder / of_part(HOLDER, part)
    try:
        who = holder.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Holder("", False)
    except (OSError, ValueError):
        return Holder("", None)
    process = re.fullmatch(r"process (\d+) on (.*)", who)
    if process is None:
        return Holder(who, None)
    locked = _locked(folder / of_part(LOCK, part))
    if process[2] == platform.node():
        return Holder(who, _exists(int(process[1])) and locked is not False)
    if locked:
        return Holder(who, True)
    kind = filesystem(folder)
    if kind and not shared_by_hosts(kind) and locked is False:
        return Holder(who, False)  # the folder was copied from where it was held
    return Holder(who, _age(holder) < TOUCHED)


def _age(holder: Path) -> float:
    """Return how long ago a writer touched its file, in seconds, as far as the clocks agree."""
    try:
        return time.time() - holder.stat().st_mtime
    except OSError:
        return float("inf")


def _exists(process: int) -> bool:
    """Tell whether a process of this host exists."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _locked(lock: Path) -> bool | None:
    """Tell whether a lock is held, as far as this host sees; None: not known."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False  # it is made before a process names itself
    except OSError:
        return None
    return False
