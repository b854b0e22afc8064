"""One SQLite file: opened and versioned, with errors worded for the user."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.runs.journal import IN_PLACE, ROLLBACK, WAL, Copy, fitting_journal, has_log, needs_copy
from tomeval.runs.schema import readable, unpacked

PATIENCE = {WAL: 60.0, ROLLBACK: 600.0}
"""Seconds for which a lock is waited for, by journal: readers of a rollback journal hold it up for
as long as they copy."""

ROWS_AT_A_TIME = 1000

# What SQLite says of content that tomeval cannot have written.
_OF_DAMAGE = (
    *("no such table", "no such column", "Could not decode", "malformed JSON", "bad JSON"),
    "user-defined function raised exception",  # `unpacked`
)


RESTORE = "restore the folder from a copy, or play the experiment into another one"


class Damaged(TomevalError):
    """Something in a store is not what was written."""


class NothingPlayed(TomevalError):
    """A folder's run was stopped before it had begun."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder}: nothing was played yet, as the run was stopped at its start; run the same "
            "experiment again"
        )


class Database:
    """A SQLite database of one version.

    One that is open for reading shows what it held at the first look, whatever is written later.

    Parameters
    ----------
    path : Path
    version : int
        The version that it must have.
    schema : str, optional
        Open for writing, and make the tables if there are none.

    Raises
    ------
    TomevalError
        The database is damaged, of another program or version, or not permitted.
    """

    def __init__(self, path: Path, version: int, schema: str | None = None) -> None:
        self.path = self.read_from = path
        self._journal = WAL if schema is None else fitting_journal(path.parent)
        self._copy: Copy | None = None
        with ExitStack() as unless_opened, self.reporting():
            mode = "mode=rwc" if schema is not None else _reading_mode(path)
            if schema is None and needs_copy(path):
                self._copy = Copy(path)
                unless_opened.callback(self._copy.close)
                self.read_from, mode = self._copy.path, "mode=rw"  # may have to be rolled back
            uri = f"{self.read_from.resolve().as_uri()}?{mode}"
            self._db = sqlite3.connect(
                uri,
                uri=True,
                isolation_level=None,
                timeout=PATIENCE[self._journal],
                check_same_thread=False,
            )
            unless_opened.callback(self._db.close)
            if self._journal != WAL and has_log(path):  # is opened without memory to share
                self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            for function in (unpacked, readable):
                self._db.create_function(function.__name__, 1, function, deterministic=True)
            self._db.execute("PRAGMA foreign_keys = ON")
            stored = self._db.execute("PRAGMA user_version").fetchone()[0]
            filled = self._db.execute("SELECT 1 FROM sqlite_master").fetchone()
            if stored == 0 and filled:
                raise TomevalError(f"{path}: is a database of another program, not a tomeval run")
            if stored == 0 and schema is None:
                raise NothingPlayed(path.parent)
            if schema is not None:
                self._begin_journal()
            if schema is not None and stored == 0:
                self.execute_all(f"{schema};\nPRAGMA user_version = {version}")
                stored = version
            if stored != version:
                raise _wrong_version(path, stored, version)
            if schema is None:
                self._db.execute("BEGIN")
            unless_opened.pop_all()

    def _begin_journal(self) -> None:
        """Have the journal that works in the folder, whatever was used before it was moved."""
        mode = self._db.execute(f"PRAGMA journal_mode = {self._journal}").fetchone()[0]
        if mode != self._journal:
            raise TomevalError(f"{self.path}: its journal stays {mode}, not {self._journal}")
        if self._journal == WAL:
            self._db.execute("PRAGMA synchronous = NORMAL")
        else:
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA locking_mode = NORMAL")
            self._db.execute("SELECT 1 FROM sqlite_master").fetchone()  # gives the lock back

    def close(self) -> None:
        """Close the database."""
        self._db.close()
        if self._copy is not None:
            self._copy.close()

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Word SQLite's errors for the user."""
        try:
            yield
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorname", "")
            if str(error).startswith(_OF_DAMAGE):
                raise self.damaged(error) from None
            if code.startswith("SQLITE_FULL"):
                why = "the disk is full; free some space and run the same command again"
            elif code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
                why = "cannot be opened for writing; is the folder read-only?"
            else:
                why = str(error)
            raise TomevalError(f"{self.path}: {why} ({code or 'sqlite'})") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self.damaged(error) from None

    def damaged(self, why: object) -> Damaged:
        """Return the error for a store whose content cannot be trusted."""
        return Damaged(f"{self.path}: damaged, not readable as a tomeval run ({why}); {RESTORE}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Do all or nothing; inside another transaction, all or nothing of this part of it."""
        if self._db.in_transaction:
            begin, commit, undo = "SAVEPOINT part", "RELEASE part", "ROLLBACK TO part"
        else:
            begin, commit, undo = "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"
        with nullcontext() if self._journal == WAL else IN_PLACE:
            self._db.execute(begin)
            try:
                yield self._db
                self._db.execute(commit)
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute(undo)
                    if undo.endswith("part"):
                        self._db.execute(commit)
                raise

    def renew_views(self, views: str) -> None:
        """Have views as this version words them, whatever the file says; it is not changed."""
        with self.reporting():
            for statement in filter(None, views.strip().split(";\n")):
                self._db.execute(statement.replace("CREATE VIEW", "CREATE TEMP VIEW", 1))

    def execute_all(self, statements: str) -> None:
        """Execute statements, separated by semicolons at line ends, in one transaction."""
        with self.transaction() as db:
            for statement in statements.split(";\n"):
                db.execute(statement)

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        """Return all rows of a query."""
        with self.reporting():
            return self._db.execute(sql, parameters).fetchall()

    def iterate(
        self, sql: str, parameters: tuple[Any, ...] = ()
    ) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Return a query's column names and its rows, one by one."""
        with self.reporting():
            cursor = self._db.execute(sql, parameters)

        def parts() -> Iterator[list[tuple[Any, ...]]]:
            with self.reporting():
                while rows := cursor.fetchmany(ROWS_AT_A_TIME):
                    yield rows

        return [column[0] for column in cursor.description], chain.from_iterable(parts())


def _reading_mode(path: Path) -> str:
    """Return how to open a store for reading.

    While a store in WAL mode is open, it needs files beside it, which a read-only folder refuses; a
    finished store without a log can be read as it is. SQLite takes those files away when they are
    closed, but not from who may only read.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        return "mode=ro"
    if os.access(path.parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if log.exists() else "mode=ro&immutable=1"


def _wrong_version(path: Path, found: int, version: int) -> TomevalError:
    older = "an earlier" if 0 < found < version else "a newer"
    return TomevalError(
        f"{path}: written by {older} version of tomeval (store version {found}, this one has "
        f"{version}); read it with that version, or play the experiment into another folder"
    )
