"""The store of a run, the same for every domain: cells, episodes, steps, answers, model calls.

Analysis reads nothing else. Finished episodes are written in one transaction, so a run that is
killed keeps every episode that was finished.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.models.naming import renamed
from tomeval.runs.database import Database, NothingPlayed, old_version
from tomeval.runs.domain import Block, Domain, Schema, get_domain
from tomeval.runs.guard import OF_EPISODES, Guard, Place, Sums
from tomeval.runs.seal import NAME, SealFile, read_seal

SCHEMA_VERSION = 2
STORE = "run.sqlite"
EXPERIMENT, SESSIONS, HOLDER = "experiment.json", "sessions.json", "run.pid"
OLD_STORES = ("decrypto.sqlite",)
"""Names that stores had in version 1 only."""

_EPISODE = "cell INTEGER NOT NULL, episode INTEGER NOT NULL"
_TABLES = {
    "meta": "key TEXT PRIMARY KEY, value TEXT NOT NULL",
    "revisions": "model TEXT PRIMARY KEY, revision TEXT NOT NULL",
    "cells": "cell INTEGER PRIMARY KEY, seed INTEGER NOT NULL, on_invalid TEXT NOT NULL, "
    "definition TEXT NOT NULL{cells}",
    "episodes": f"{_EPISODE}, status TEXT NOT NULL, steps INTEGER NOT NULL{{episodes}}, "
    "PRIMARY KEY (cell, episode), FOREIGN KEY (cell) REFERENCES cells",
    "steps": f"{_EPISODE}, step INTEGER NOT NULL{{steps}}, PRIMARY KEY (cell, episode, step)",
    "answers": f"{_EPISODE}, step INTEGER NOT NULL, seat TEXT NOT NULL, question TEXT NOT NULL, "
    "outcome TEXT NOT NULL, attempts INTEGER NOT NULL, value TEXT, raw TEXT NOT NULL, "
    "PRIMARY KEY (cell, episode, step, seat, question)",
    "calls": f"{_EPISODE}, call INTEGER NOT NULL, step INTEGER NOT NULL, seat TEXT NOT NULL, "
    "form TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (cell, episode, call)",
    "answered": f"{_EPISODE}, seat TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL, "
    "PRIMARY KEY (cell, episode, seat, request)",
}

BEGUN = ("run.lock", HOLDER, EXPERIMENT, NAME)
"""What a run writes before its store, or at the same moment."""


def schema_sql(schema: Schema) -> str:
    """Return the statements that make the tables of a domain's store."""

    def columns(typed: Mapping[str, str]) -> str:
        return "".join(f", {name} {kind}" for name, kind in typed.items())

    typed = {name: columns(getattr(schema, name)) for name in ("cells", "episodes", "steps")}
    tables = [
        f"CREATE TABLE {name} ({text.format(**typed)})" + " WITHOUT ROWID" * (name != "cells")
        for name, text in _TABLES.items()
    ]
    return ";\n".join([*tables, schema.views.strip()])


def identity_sha256(identity: Mapping[str, Any]) -> str:
    """Return the hash of what makes an experiment itself: its name and its cells."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


class Store:
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
        There is no run, or it is damaged, of another version or domain, or not permitted.
    """

    def __init__(self, folder: Path, domain: Domain | None = None) -> None:
        self.path = folder / STORE
        if not self.path.is_file():
            if any((folder / old).is_file() for old in OLD_STORES):
                raise old_version(folder)
            if domain is None:
                begun = any((folder / name).exists() for name in BEGUN)
                missing = TomevalError(f"{folder}: not a run folder (no {STORE} in it)")
                raise NothingPlayed(folder) if begun else missing
        elif not self.path.stat().st_size:
            # A run that was killed at its very start may leave an empty store, but no session.
            if (folder / SESSIONS).exists():
                raise TomevalError(
                    f"{self.path}: damaged, it is empty although {SESSIONS} tells of a run; "
                    "restore it from a copy or start over in another folder"
                )
        elif domain is not None:
            _check(folder, domain)
        seal = read_seal(folder)
        self._db = Database(
            self.path, SCHEMA_VERSION, None if domain is None else schema_sql(domain.schema)
        )
        self.query, self.iterate = self._db.query, self._db.iterate
        self.damaged = self._db.damaged
        self._sums: Sums | None = None
        self._seal: SealFile | None = None
        with ExitStack() as unless_opened:
            unless_opened.callback(self._db.close)
            if domain is None:
                self.guard = Guard(self._db, seal)
                self._db.watch(self.guard.trust)
            else:
                with self._db.reporting():
                    self._sums = Sums(self._db)
                self._seal = SealFile(self.path)
                self._seal.note(self._sums.commits)
            self.domain = domain or self._own_domain()
            self._db.renew_views(self.domain.schema.views)
            unless_opened.pop_all()

    def close(self) -> None:
        """Close the store, and seal it if it was open for writing."""
        self._db.close()
        if self._seal is not None and self._sums is not None:
            self._seal.close(self._sums.commits)

    def _own_domain(self) -> Domain:
        meta = self.meta()
        name = meta.get("domain")
        if not meta:
            raise NothingPlayed(self.path.parent)
        if not isinstance(name, str):
            raise self.damaged("it does not say which domain it is of")
        return get_domain(name, str(self.path))

    @contextmanager
    def _writing(self, *changed: str) -> Iterator[tuple[sqlite3.Connection, Sums]]:
        """Do all or nothing, with checksums; `changed` names the small tables that are written."""
        assert self._sums is not None, "open for reading"
        assert self._seal is not None, "open for reading"
        with self._sums.transaction(changed) as db:
            yield db, self._sums
        self._seal.note(self._sums.commits)

    def meta(self) -> dict[str, Any]:
        """Return what `begin` wrote besides the cells: domain, name and hash of the experiment."""
        rows = self.query("SELECT key, value FROM meta")
        try:
            return {key: json.loads(value) for key, value in rows}
        except (TypeError, ValueError) as error:
            raise self.damaged(error) from None

    def begin(self, identity: Mapping[str, Any], sha256: str, **more: str) -> None:
        """Write the cells of a new run, once; `more` is noted beside its name."""
        meta = {"sha256": sha256, "name": identity["name"], "domain": self.domain.name} | more
        with self._writing("meta", "cells") as (db, _):
            rows = [(key, json.dumps(value)) for key, value in meta.items()]
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            for number, cell in enumerate(identity["cells"]):
                self._insert_cell(db, number, cell)

    def _insert_cell(self, db: sqlite3.Connection, number: int, cell: Mapping[str, Any]) -> None:
        columns = {**cell, **self.domain.columns(cell)}
        typed = [columns[name] for name in self.domain.schema.cells]
        row = (number, cell["seed"], cell["on_invalid"], json.dumps(cell), *typed)
        db.execute(f"INSERT INTO cells VALUES ({','.join('?' * len(row))})", row)

    def rename(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Call models otherwise, for a copy that others will read; return its identity."""
        cells, revisions = self.cells(), self.revisions()
        identity = {
            "name": self.meta()["name"],
            "cells": [renamed(definition, names) for _, definition in cells],
        }
        with self._writing("meta", "cells", "revisions") as (db, _):
            db.execute("PRAGMA defer_foreign_keys = ON")  # episodes miss their cells for a moment
            db.execute("DELETE FROM cells")
            for (number, _), cell in zip(cells, identity["cells"], strict=True):
                self._insert_cell(db, number, cell)
            db.execute("DELETE FROM revisions")
            for model, revision in revisions.items():
                db.execute(
                    "INSERT INTO revisions VALUES (?, ?)", (names.get(model, model), revision)
                )
            sha256 = json.dumps(identity_sha256(identity))
            db.execute("UPDATE meta SET value = ? WHERE key = 'sha256'", (sha256,))
        return identity

    def add(self, cell: int, block: Block) -> None:
        """Write finished episodes of a cell, in place of earlier, failed attempts at them."""
        keys = {(cell, row[0]) for row in block.episodes}
        done = {(cell, row[0]) for row in block.episodes if row[1] != FAILED}
        rows: dict[str, list[tuple[Any, ...]]] = {
            "episodes": [(cell, *row) for row in block.episodes],
            "steps": [(cell, *row) for row in block.steps],
            "answers": [(cell, *row) for row in block.answers],
            "calls": list(_numbered(cell, block)),
        }
        with self._writing() as (db, sums):
            earlier = sorted(keys & _present(db, "episodes", keys))
            for name in reversed(OF_EPISODES):  # an episode's own row last
                db.executemany(f"DELETE FROM {name} WHERE cell = ? AND episode = ?", earlier)
                marks = ",".join("?" * self._width(name))
                db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
            sums.episodes(db, rows)
            # The replies to a failed episode serve the next attempt.
            served = sorted(done & _present(db, "answered", keys))
            for place in served:
                sums.replies_leave(db, place)
            db.executemany("DELETE FROM answered WHERE cell = ? AND episode = ?", served)

    def _width(self, table: str) -> int:
        """Return how many columns a table of episodes has."""
        schema = self.domain.schema
        own = {"steps": len(schema.steps), "episodes": len(schema.episodes)}
        return {"steps": 3, "episodes": 4, "answers": 9, "calls": 7}[table] + own.get(table, 0)

    def check_revision(self, model: str, revision: str) -> None:
        """Note the revision of a model; refuse another one, unless the first was unknown."""
        with self._writing("revisions") as (db, _):
            row = db.execute("SELECT revision FROM revisions WHERE model = ?", (model,)).fetchone()
            if row is not None and row[0] not in ("", revision):
                raise TomevalError(
                    f"{self.path}: {model} was used at revision {row[0]}, it now is "
                    f"{revision or 'of unknown revision'}; use another folder"
                )
            db.execute("INSERT OR REPLACE INTO revisions VALUES (?, ?)", (model, revision))

    def revisions(self) -> dict[str, str]:
        """Return the revision of every model that was used; empty if unknown."""
        return dict(self.query("SELECT model, revision FROM revisions"))

    def keep_reply(self, cell: int, episode: int, seat: str, request: str, reply: str) -> None:
        """Keep a reply of an episode that is not finished, so that it is never asked for again."""
        with self._writing() as (db, sums):
            row = sums.reply(db, (cell, episode, seat, request, reply))
            db.execute("INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?, ?, ?)", row)

    def kept_replies(self, cell: int, episode: int, seat: str) -> dict[str, str]:
        """Return the kept replies to a seat of an unfinished episode, by request."""
        sql = "SELECT request, reply FROM answered WHERE cell = ? AND episode = ? AND seat = ?"
        return dict(self.query(sql, (cell, episode, seat)))

    def finished(self) -> dict[int, set[int]]:
        """Return by cell the episodes that need not be played, void ones included."""
        done: dict[int, set[int]] = {}
        sql = "SELECT cell, episode FROM episodes WHERE status != ?"
        for cell, episode in self.query(sql, (FAILED,)):
            done.setdefault(cell, set()).add(episode)
        return done

    def failed(self) -> set[tuple[int, int]]:
        """Return cell and episode of those that got no reply and will be played again."""
        return set(self.query("SELECT cell, episode FROM episodes WHERE status = ?", (FAILED,)))

    def note_stops(self, reasons: Mapping[int, str]) -> None:
        """Keep why cells play no more for now; an empty reason: the cell is tried again."""
        before = self.stops()
        noted = {cell: reason for cell, reason in {**before, **reasons}.items() if reason}
        if noted != before:
            rows = [("stopped", json.dumps(noted))] if noted else []
            with self._writing("meta") as (db, _):
                db.execute("DELETE FROM meta WHERE key = 'stopped'")
                db.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    def stops(self) -> dict[int, str]:
        """Return why cells were stopped, by number; see `note_stops`."""
        return {int(cell): str(reason) for cell, reason in self.meta().get("stopped", {}).items()}

    def cells(self) -> list[tuple[int, dict[str, Any]]]:
        """Return number and definition of every cell."""
        rows = self.query("SELECT cell, definition FROM cells ORDER BY cell")
        try:
            found = [(cell, json.loads(definition)) for cell, definition in rows]
        except (TypeError, ValueError) as error:
            raise self.damaged(error) from None
        meta = self.meta()
        identity = {"name": meta.get("name"), "cells": [definition for _, definition in found]}
        if meta and meta.get("sha256") != identity_sha256(identity):
            raise self.damaged("its cells are not those it was begun with")
        return found

    def calls(self, cell: int, episode: int) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
        """Yield step, seat, form and record of every model call of an episode, in order."""
        sql = "SELECT step, seat, form, record FROM calls WHERE cell = ? AND episode = ?"
        for step, seat, form, record in self.query(f"{sql} ORDER BY call", (cell, episode)):
            yield step, seat, form, json.loads(record)


def _check(folder: Path, domain: Domain) -> None:
    """Check a store before it is opened for writing, which would blur what is damaged in it."""
    try:
        store = Store(folder)
    except NothingPlayed:
        return
    try:
        if store.domain.name != domain.name:
            raise TomevalError(
                f"{folder}: holds a run of the domain {store.domain.name!r}, the experiment is of "
                f"{domain.name!r}; nothing was changed. Choose another folder with --out"
            )
        store.guard.check_all()
    finally:
        store.close()


def _present(db: sqlite3.Connection, table: str, keys: set[Place]) -> set[Place]:
    """Return episodes that a table has rows of; all of these keys, which are of one cell."""
    if not keys:
        return set()
    sql = f"SELECT DISTINCT cell, episode FROM {table} WHERE cell = ? AND episode BETWEEN ? AND ?"
    (cell, first), (_, last) = min(keys), max(keys)
    return set(db.execute(sql, (cell, first, last)))


def _numbered(cell: int, block: Block) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the call log, numbered within each episode."""
    numbers: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)
    for episode, *place, record in block.calls:
        yield cell, episode, next(numbers[episode]), *place, json.dumps(record)
