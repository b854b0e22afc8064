"""Copies of a store for readers, where a reader would keep the writer from committing.

With a rollback journal SQLite commits only while nobody reads, and a report may read for minutes.
So a reader holds its lock for as long as it takes to copy the file, and reads the copy. A writer
that was killed leaves a journal which a reader must not roll back in the run folder; it is copied
too and rolled back in the copy.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.runs.journal import filesystem, shared_by_hosts

TRIES = 8
"""How often a copy is begun anew if the store changes meanwhile, with growing pauses."""

IN_PLACE = threading.RLock()
"""Held while a store is written with a rollback journal, and while its file is copied.

A process that closes a file loses all its locks on it (POSIX), also those of a writer in another
thread.
"""

_WAL_FORMAT = b"\x02"
_UNDONE = ("SQLITE_READONLY", "SQLITE_CANTOPEN")
"""What SQLite says if a journal would have to be rolled back, and may not be."""
_PARTS = ("", "-journal", "-wal")


def needs_copy(store: Path) -> bool:
    """Tell whether a store is to be copied before it is read.

    One with a write-ahead log on a file system of one host is not: there a reader does not keep the
    writer from anything.
    """
    return shared_by_hosts(filesystem(store.parent)) or _format(store) not in (b"", _WAL_FORMAT)


def has_log(store: Path) -> bool:
    """Tell whether a store that exists is written with a write-ahead log."""
    return _format(store) == _WAL_FORMAT


def _format(store: Path) -> bytes:
    """Return the byte of a database's header that says which journal it is written with."""
    with IN_PLACE, store.open("rb") as file:
        return file.read(19)[18:]


def take_back(store: Path) -> None:
    """Take back what a writer that was killed had half written; nobody may write meanwhile.

    It is SQLite that does so, by the journal that lies beside the store; nothing else changes.

    Raises
    ------
    TomevalError
        The folder cannot be written.
    """
    journal = store.with_name(f"{store.name}-journal")
    if not journal.exists() or not journal.stat().st_size:
        return
    try:
        uri = f"{store.resolve().as_uri()}?mode=rw"
        with IN_PLACE, closing(sqlite3.connect(uri, uri=True)) as db:
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        raise TomevalError(
            f"{store}: its writer was killed, and what it had half written cannot be taken back "
            f"({error}); copy the folder to where it can be written"
        ) from None


class Copy:
    """A copy of a store in a folder of its own, which goes when it is closed.

    Parameters
    ----------
    store : Path

    Raises
    ------
    TomevalError
        The store changes faster than it can be copied, and no lock can keep it from that; or it
        cannot be read, or there is no room for a copy.
    sqlite3.Error
        It is no database, or its lock cannot be had.
    """

    def __init__(self, store: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tomeval-reading-")
        self.path = Path(self._folder.name) / store.name
        try:
            for number in range(TRIES):
                if self._made(store):
                    return
                time.sleep(0.05 * 2**number)
        except OSError as error:
            self.close()
            raise TomevalError(
                f"{store}: cannot be copied to {self.path.parent}, which it is read from "
                f"({error.strerror or error}); TMPDIR names another folder for that"
            ) from None
        except BaseException:
            self.close()
            raise
        self.close()
        raise TomevalError(
            f"{store}: is written while it is copied, and this file system does not show the "
            "writer's locks; try again, or read it on the host that writes it"
        )

    def close(self) -> None:
        """Delete the copy."""
        self._folder.cleanup()

    def _made(self, store: Path) -> bool:
        """Copy; tell whether the store was the same before and after."""
        with IN_PLACE, _held(store) as held:
            parts = _PARTS[:1] if held else _PARTS  # nobody rolls back what a writer has begun
            before = _state(store, parts)
            for part in parts:
                source, target = (p.with_name(f"{p.name}{part}") for p in (store, self.path))
                target.unlink(missing_ok=True)
                with suppress(FileNotFoundError):  # a journal that is gone shows in the state
                    shutil.copyfile(source, target)
            return _state(store, parts) == before


def _state(store: Path, parts: Sequence[str]) -> list[tuple[int, int, int] | None]:
    """Return what changes if a store is written."""
    found: list[tuple[int, int, int] | None] = []
    for part in parts:
        try:
            seen = store.with_name(f"{store.name}{part}").stat()
        except FileNotFoundError:
            found.append(None)
        else:
            found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return found


@contextmanager
def _held(store: Path) -> Iterator[bool]:
    """Keep a writer with a rollback journal from committing; tell whether that could be done.

    It cannot if there is a journal to roll back, of a writer that was killed.
    """
    if has_log(store):
        yield False
        return
    uri = f"{store.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=60)) as db:
        try:
            db.execute("BEGIN")
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
            held = True
        except sqlite3.OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(_UNDONE):
                raise
            held = False
        yield held
