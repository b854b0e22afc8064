"""The store of a run, the same for every domain: cells, episodes, steps, answers, model calls.

Analysis reads nothing else. Finished episodes are written in one transaction, so a run that is
killed keeps every episode that was finished.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tomeval.core import files
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.runs.checksums import (
    SEAL,
    SUMMED,
    Place,
    check,
    of_rows,
    read_seal,
    read_signed,
    seal,
    write_mark,
    write_sums,
)
from tomeval.runs.database import Database, NothingPlayed
from tomeval.runs.domain import Block, Domain
from tomeval.runs.rows import Rows
from tomeval.runs.schema import SCHEMA_VERSION, pack, schema_sql
from tomeval.runs.stored import Stored, own_domain

STORE = files.STORE
EXPERIMENT, SESSIONS, HOLDER = "experiment.json", "sessions.json", "run.pid"
LOCK = "run.lock"

BEGUN = (LOCK, HOLDER, EXPERIMENT, SEAL)
"""What a run writes before its store, or at the same moment."""


def strange(folder: Path, meta: Mapping[str, Any]) -> str:
    """Say that a store, which says this of itself, is of another experiment than `EXPERIMENT`.

    Empty: it is of the same one, or the file cannot tell because it is missing or damaged.
    """
    path = folder / EXPERIMENT
    try:
        with path.open("rb") as file:
            head = _HEAD.match(file.read(100))
    except OSError:
        return ""
    if head and head[1].decode() == meta.get("sha256"):
        return ""  # and thousands of cells need not be read
    beside = read_signed(path)
    if not isinstance(beside, dict) or beside.get("sha256") == meta.get("sha256"):
        return ""
    one, other = (f"{said.get('name')!r} ({said.get('domain')})" for said in (meta, beside))
    other = "another one with this name" if one == other else other
    return (
        f"{folder}: {STORE} belongs to the experiment {one}, but {EXPERIMENT} to {other}; put back "
        f"the right file. If {STORE} is right, delete {EXPERIMENT} and run its experiment into the "
        "folder again to restore it"
    )


_HEAD = re.compile(rb'\{\s*"sha256": "([0-9a-f]{64})"')


class Store(Stored):
    """The SQLite store of one run.

    Parameters
    ----------
    folder : Path
        The run folder.
    domain : Domain, optional
        Open for writing a run of this domain, in a new store if there is none. Default: open for
        reading.

    Raises
    ------
    TomevalError
        There is no run, or it is damaged, of another version or domain, or not permitted; or the
        store is of another run than the folder's `EXPERIMENT`.
    """

    def __init__(self, folder: Path, domain: Domain | None = None) -> None:
        self.path = folder / STORE
        if not self.path.is_file():
            if domain is None:
                begun = any((folder / name).exists() for name in BEGUN)
                missing = TomevalError(f"{folder}: not a run folder (no {STORE} in it)")
                raise NothingPlayed(folder) if begun else missing
        elif not self.path.stat().st_size:
            # A run that was killed at its very start may leave an empty store, but no session.
            if (folder / SESSIONS).exists():
                raise TomevalError(
                    f"{self.path}: damaged, as it is empty although {SESSIONS} lists a run; "
                    "restore it from a copy or start again in another folder"
                )
        elif domain is not None:
            _check(folder, domain)
        sealed = read_seal(folder)
        if domain is None:
            db = Database(self.path, SCHEMA_VERSION)
        else:
            db = Database(self.path, SCHEMA_VERSION, schema_sql(domain.read.schema))
        super().__init__(db)
        self.read_from = db.read_from  # a copy, where readers copy first
        self.changing = domain is not None
        with ExitStack() as unless_opened:
            unless_opened.callback(self._db.close)
            if domain is None:
                self.domain = own_domain(self._db)
                check(self._db, sealed)
            else:
                self.domain = domain
            if domain is None and (why := strange(folder, self.meta())):
                raise TomevalError(why)
            self._db.renew_views(self.domain.read.schema.views)
            unless_opened.pop_all()

    def close(self) -> None:
        """Close the store, and seal it if it was open for writing."""
        self._db.close()
        if self.changing:
            seal(self.path)

    @contextmanager
    def _writing(self, small: bool = False) -> Iterator[sqlite3.Connection]:
        """Do all or nothing; `small` tells that one of the small tables is written."""
        assert self.changing, "open for reading"
        with self._db.reporting(), self._db.transaction() as db:
            yield db
            if small:
                write_mark(db)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write all that is written in the block in one transaction, which is faster.

        An error inside undoes all of it, unless it is caught inside: then what raised it alone. The
        block must not wait for anything: what others write meanwhile would be part of it.
        """
        with self._writing():
            yield

    def begin(self, identity: Mapping[str, Any], sha256: str, **more: str) -> None:
        """Write the cells of a new run, once; `more` is noted beside its name."""
        meta = {"sha256": sha256, "name": identity["name"], "domain": self.domain.name} | more
        with self._writing(small=True) as db:
            rows = [(key, json.dumps(value)) for key, value in meta.items()]
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            for number, cell in enumerate(identity["cells"]):
                self._insert_cell(db, number, cell)

    def _insert_cell(self, db: sqlite3.Connection, number: int, cell: Mapping[str, Any]) -> None:
        row = self._cell_row(number, cell)
        db.execute(f"INSERT INTO cells VALUES ({','.join('?' * len(row))})", row)

    def _cell_row(self, number: int, cell: Mapping[str, Any]) -> tuple[Any, ...]:
        columns = {**cell, **self.domain.read.columns(cell)}
        typed = [columns[name] for name in self.domain.read.schema.cells]
        return number, cell["seed"], cell["on_invalid"], json.dumps(cell), *typed

    def add(self, cell: int, played: Block | Rows) -> None:
        """Write finished episodes of a cell, in place of earlier, failed attempts at them."""
        given = played if isinstance(played, Rows) else Rows.of(cell, played)
        assert given.cell == cell, f"rows of cell {given.cell}, not of {cell}"
        keys = {(cell, row[0]) for row in given.episodes}
        done = {(cell, row[0]) for row in given.episodes if row[1] != FAILED}
        rows = given.tables()
        with self._writing() as db:
            earlier = sorted(keys & _present(db, "episodes", keys))
            for name in reversed(SUMMED):  # an episode's own row last
                db.executemany(f"DELETE FROM {name} WHERE cell = ? AND episode = ?", earlier)
                if rows[name]:
                    marks = ",".join("?" * len(rows[name][0]))
                    db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
            write_sums(db, keys)
            # The replies to a failed episode serve the next attempt.
            served = sorted(done & _present(db, "answered", keys))
            db.executemany("DELETE FROM answered WHERE cell = ? AND episode = ?", served)

    def check_revision(self, model: str, revision: str) -> None:
        """Note the revision of a model; refuse another one, unless the first was unknown."""
        before = self.revisions().get(model)
        if before not in (None, "", revision):
            raise TomevalError(
                f"{self.path}: {model} was used at revision {before}, but is now "
                f"{revision or 'of unknown revision'}; use another folder"
            )
        if before != revision:
            with self._writing(small=True) as db:
                db.execute("INSERT OR REPLACE INTO revisions VALUES (?, ?)", (model, revision))

    def keep_reply(self, cell: int, episode: int, seat: str, request: str, reply: str) -> None:
        """Keep a reply of an episode that is not finished, so that it is never asked for again."""
        self.keep_replies([(cell, episode, seat, request, pack(reply))])

    def keep_replies(self, replies: Iterable[tuple[int, int, str, str, bytes]]) -> None:
        """Keep many replies, as cell, episode, seat, request and packed reply; see `keep_reply`."""
        last = {row[:4]: row for row in replies}
        with self._writing() as db:
            rows = [(*row, of_rows([row])) for row in last.values()]
            db.executemany("INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?, ?, ?)", rows)

    def note_stops(self, reasons: Mapping[int, str]) -> None:
        """Keep why cells play no more for now; an empty reason: the cell is tried again."""
        before = self.stops()
        noted = {cell: reason for cell, reason in {**before, **reasons}.items() if reason}
        if noted != before:
            rows = [("stopped", json.dumps(noted))] if noted else []
            with self._writing(small=True) as db:
                db.execute("DELETE FROM meta WHERE key = 'stopped'")
                db.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    def note_until(self, said: Mapping[str, Any]) -> None:
        """Keep what is known of the condition that a run stops by; empty: it has none."""
        if said != self.until():
            rows = [("until", json.dumps(said))] if said else []
            with self._writing(small=True) as db:
                db.execute("DELETE FROM meta WHERE key = 'until'")
                db.executemany("INSERT INTO meta VALUES (?, ?)", rows)


def _check(folder: Path, domain: Domain) -> None:
    """Check a store before it is opened for writing, which would blur what is damaged in it."""
    try:
        store = Store(folder)
    except NothingPlayed:
        return
    try:
        if store.domain.name != domain.name:
            raise TomevalError(
                f"{folder}: holds a run of the domain {store.domain.name!r}, but the experiment is "
                f"of {domain.name!r}; nothing was changed. Choose another folder with --out"
            )
    finally:
        store.close()


def _present(db: sqlite3.Connection, table: str, keys: set[Place]) -> set[Place]:
    """Return episodes that a table has rows of; all of these keys, which are of one cell."""
    if not keys:
        return set()
    sql = f"SELECT DISTINCT cell, episode FROM {table} WHERE cell = ? AND episode BETWEEN ? AND ?"
    (cell, first), (_, last) = min(keys), max(keys)
    return set(db.execute(sql, (cell, first, last)))
