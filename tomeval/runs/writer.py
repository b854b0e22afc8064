"""Who writes a run folder, and whether that process is still there: as seen from outside.

Nothing is written to tell, so it also goes for folders that can only be read.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tomeval.runs.places.filesystems import filesystem, shared_by_hosts
from tomeval.runs.places.holding import LEFT
from tomeval.runs.store import HOLDER, LIVE, LOCK

TOUCHED = 1.5 * LEFT
"""Seconds without a touch after which a process of another host is gone: the clock of this host and
that of the file system may differ."""


class Writer(NamedTuple):
    """The process that a run folder names.

    Attributes
    ----------
    who : str
        As the folder has it, such as ``process 12 on node3``; empty: it names none.
    there : bool or None
        Whether it is there; None: that cannot be said.
    sure : bool
        Whether that is certain, as of processes of this host, rather than told by touches of files.
    """

    who: str
    there: bool | None
    sure: bool


def this_process() -> str:
    """Return what this process is called in the folders that it writes."""
    return f"process {os.getpid()} on {platform.node()}"


def writer_of(folder: Path) -> Writer:
    """Return who writes a run folder.

    A process of this host is there if it exists and its lock is held. A lock need not reach from
    one host to another: on a file system that hosts share, or may share, a process of another host
    is there if it touched its files of late.
    """
    holder = folder / HOLDER
    try:
        who = holder.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Writer("", False, True)
    except (OSError, ValueError):
        return Writer("", None, False)
    found = re.fullmatch(r"process (\d+) on (.*)", who)
    if found is None:
        return Writer(who, None, False)
    locked = _locked(folder)
    if found[2] == platform.node():
        return Writer(who, _exists(int(found[1])) and locked is not False, True)
    if locked:
        return Writer(who, True, True)
    kind = filesystem(folder)
    if kind and not shared_by_hosts(kind) and locked is False:
        return Writer(who, False, True)  # the folder was copied from where it was held
    return Writer(who, _age(folder) < TOUCHED, False)


def _age(folder: Path) -> float:
    """Return how long ago a writer touched its files, in seconds, as far as the clocks agree."""
    touched = -float("inf")
    for name in (HOLDER, LIVE):
        with suppress(OSError):
            touched = max(touched, (folder / name).stat().st_mtime)
    return time.time() - touched


def _exists(process: int) -> bool:
    """Tell whether a process of this host exists."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _locked(folder: Path) -> bool | None:
    """Tell whether the lock of a folder is held, as far as this host sees; None: not known."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        with (folder / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False  # it is made before a process names itself
    except OSError:
        return None
    return False
