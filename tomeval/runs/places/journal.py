"""Which of SQLite's journals works in a folder.

A write-ahead log (WAL) is read and written by several processes through memory that they share, in
a file beside the store. SQLite's own documentation rules it out where processes are on different
hosts (sqlite.org/wal.html), and some file systems cannot share memory at all. A rollback journal
needs nothing but locks. It is slower, and a reader keeps the writer from committing.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.runs.places.filesystems import filesystem, shared_by_hosts

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
