"""Which of SQLite's journals works in a folder.

A write-ahead log (WAL) is read and written by several processes through memory that they share, in
a file beside the store. SQLite's own documentation rules it out where processes are on different
hosts (sqlite.org/wal.html), and some file systems cannot share memory at all. A rollback journal
needs nothing but locks. It is slower, and a reader keeps the writer from committing.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tomeval.core.errors import TomevalError

logger = logging.getLogger(__name__)

WAL, ROLLBACK = "wal", "truncate"
PROBE = ".probe-"
"""What the names of folders begin with in which a journal is tried."""

_told: set[Path] = set()


class Journal(NamedTuple):
    """A journal mode of SQLite; `why` says why it is not WAL, empty for WAL."""

    mode: str
    why: str = ""


def fitting_journal(folder: Path) -> Journal:
    """Return the journal that works in a folder, and say once if it is not the usual one.

    Raises
    ------
    TomevalError
        Neither does: the file system knows no locks, or cannot be written.
    """
    found = _fitting(folder)
    if found.why and folder not in _told:
        _told.add(folder)
        logger.warning(
            "%s: %s; a rollback journal is used instead, which is slower, and readers copy the "
            "store before they read it",
            *(folder, found.why),
        )
    return found


def _fitting(folder: Path) -> Journal:
    kind = filesystem(folder)
    if shared_by_hosts(kind):
        reason = f"it lies on {kind}, where SQLite's write-ahead log does not work between hosts"
    elif failed := probe(folder, WAL):
        reason = f"SQLite's write-ahead log does not work there ({failed})"
    else:
        return Journal(WAL)
    if failed := probe(folder, ROLLBACK):
        raise TomevalError(
            f"{folder}: SQLite cannot work there ({failed}); choose a folder on a local disk"
        )
    return Journal(ROLLBACK, reason)


def probe(folder: Path, mode: str) -> str:
    """Try a journal mode: write a small database and read it by a second connection.

    Returns
    -------
    str
        Why it does not work; empty if it does. Whether it also works between hosts, a probe on one
        of them cannot tell.
    """
    try:
        place = Path(tempfile.mkdtemp(prefix=PROBE, dir=folder))
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be written ({error.strerror or error})") from None
    try:
        return _tried(place / "probe.sqlite", mode)
    except sqlite3.Error as error:
        return str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _tried(path: Path, mode: str) -> str:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=1)) as writer:
        found = writer.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0]
        if found != mode:
            return f"the journal stays {found}"
        writer.execute("PRAGMA synchronous = OFF")  # nothing here needs to outlive a power cut
        writer.execute("CREATE TABLE probe (number INTEGER)")
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as reader:
            for number in range(2):
                writer.execute("INSERT INTO probe VALUES (?)", (number,))
                read = reader.execute("SELECT count(*) FROM probe").fetchone()[0]
                if read != number + 1:
                    return "a second connection does not see what was written"
    return ""


_SHARED = re.compile(
    "nfs4?|cifs|smb[23]|smbfs|lustre|beegfs|gpfs|ceph|glusterfs|orangefs|pvfs2|afs|openafs|coda|"
    r"panfs|wekafs|gfs2|ocfs2|9p|virtiofs|vboxsf|prl_fs|vmhgfs|drvfs|fuse(\..*)?"
)
"""Kinds of Linux that several hosts, or a host and its virtual machines, can mount at once."""

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def filesystem(folder: Path) -> str:
    """Return the kind of file system of a folder that exists, as Linux calls it.

    Empty where the system does not tell: it is not Linux, or ``/proc`` is hidden.

    Examples
    --------
    >>> filesystem(Path("/proc"))
    'proc'
    """
    try:
        held = os.open(folder, os.O_RDONLY)  # an automounter mounts what is opened
    except OSError:
        return ""
    try:
        mount = _mount(Path(f"/proc/self/fdinfo/{held}").read_text(encoding="utf-8"))
        return kind_of_mount(_MOUNTS.read_text(encoding="utf-8", errors="replace"), mount)
    except OSError:
        return ""
    finally:
        os.close(held)


def _mount(fdinfo: str) -> str:
    """Return the number of the mount that an open file is on."""
    found = re.search(r"^mnt_id:\s*(\d+)$", fdinfo, re.MULTILINE)
    return found[1] if found else ""


def kind_of_mount(mounts: str, number: str) -> str:
    r"""Return the kind of file system of a mount; empty if there is none of this number.

    `mounts` is in the form of ``/proc/self/mountinfo``: fields of a number that varies, a dash,
    then the kind.

    Examples
    --------
    >>> line = "36 35 98:0 / /my\\040runs rw,noatime master:1 shared:2 - nfs4 host:/runs rw"
    >>> kind_of_mount(line, "36")
    'nfs4'
    """
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split(" ", 1)[0] == number and rest:
            return _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), rest.split(" ", 1)[0])
    return ""


def shared_by_hosts(kind: str) -> bool:
    """Tell whether other hosts may have a file system of this kind mounted too.

    Every file system of a program (``fuse.sshfs``, ``fuse.glusterfs``, ``fuse.rclone``, ...) counts
    as one, for its kind does not say what is behind it; a disk of this machine that a program
    mounts (``fuseblk``) does not.

    Examples
    --------
    >>> [kind for kind in ("ext4", "nfs4", "fuse.sshfs", "fuseblk", "") if shared_by_hosts(kind)]
    ['nfs4', 'fuse.sshfs']
    """
    return _SHARED.fullmatch(kind) is not None
