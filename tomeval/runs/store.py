"""The store of a run, the same for every domain: cells, episodes, steps, answers, model calls.

Analysis reads nothing else. Finished episodes are written in one transaction, so a run that is
killed keeps every episode that was finished.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.models.naming import renamed
from tomeval.runs.checksums import SEAL, Seal, SealFile, read_seal, read_signed
from tomeval.runs.database import Database, NothingPlayed
from tomeval.runs.domain import Block, Domain, get_domain
from tomeval.runs.origins import Origin
from tomeval.runs.packing import Unpackable, pack, unpack
from tomeval.runs.rows import Differing, Rows, difference
from tomeval.runs.schema import SCHEMA_VERSION, UNKNOWN, schema_sql, strange_part
from tomeval.runs.spent import MADE, by_episode, kept
from tomeval.runs.sums import SUMMED, Place, Sums, check

STORE = "run.sqlite"
EXPERIMENT, SESSIONS, HOLDER = "experiment.json", "sessions.json", "run.pid"
LOCK, LIVE = "run.lock", "live.json"

BEGUN = (LOCK, HOLDER, EXPERIMENT, LIVE, SEAL)
"""What a run writes before its store, or at the same moment."""


def identity_sha256(identity: Mapping[str, Any]) -> str:
    """Return the hash of what makes an experiment itself: its name and its cells."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


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
        f"{folder}: {STORE} is of the experiment {one}, {EXPERIMENT} is of {other}; one of the two "
        f"belongs elsewhere: put back the right one. If that is {STORE}, delete {EXPERIMENT} and "
        "run the same experiment into the folder again, which writes it anew"
    )


_HEAD = re.compile(rb'\{\s*"sha256": "([0-9a-f]{64})"')


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
                    f"{self.path}: damaged, it is empty although {SESSIONS} tells of a run; "
                    "restore it from a copy or start over in another folder"
                )
        elif domain is not None:
            _check(folder, domain)
        seal = read_seal(folder)
        if domain is None:
            self._db = Database(self.path, SCHEMA_VERSION)
        else:
            self._db = Database(self.path, SCHEMA_VERSION, schema_sql(domain.schema))
        self.query, self.iterate = self._db.query, self._db.iterate
        self.read_from = self._db.read_from  # a copy, where readers copy first
        self.damaged, self.reporting = self._db.damaged, self._db.reporting
        self._sums: Sums | None = None
        self._cells: list[tuple[int, dict[str, Any]]] | None = None
        self._seal: SealFile | None = None
        with ExitStack() as unless_opened:
            unless_opened.callback(self._db.close)
            if domain is None:
                self.domain = own_domain(self._db)
                check(self._db, seal)
            else:
                self.domain = domain
                with self._db.reporting():
                    self._sums = Sums(self._db)
                self._seal = SealFile(self.path)
                self._seal.note(Seal(self._sums.commits))
            if domain is None and (why := strange(folder, self.meta())):
                raise TomevalError(why)
            self._db.renew_views(self.domain.schema.views)
            unless_opened.pop_all()

    def close(self) -> None:
        """Close the store, and seal it if it was open for writing."""
        self._db.close()
        if self._seal is not None and self._sums is not None:
            self._seal.close(self._sums.commits)

    @contextmanager
    def _writing(self, *changed: str) -> Iterator[tuple[sqlite3.Connection, Sums]]:
        """Do all or nothing, with checksums; `changed` names the small tables that are written."""
        assert self._sums is not None, "open for reading"
        assert self._seal is not None, "open for reading"
        before = self._sums.commits
        with self._sums.transaction(*changed) as db:
            yield db, self._sums
        if self._sums.commits != before:  # else it is part of a larger one
            self._seal.note(Seal(self._sums.commits))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write all that is written in the block in one transaction, which is faster.

        An error inside undoes all of it, unless it is caught inside: then what raised it alone. The
        block must not wait for anything: what others write meanwhile would be part of it.
        """
        with self._writing():
            yield

    @property
    def connection(self) -> sqlite3.Connection:
        """SQLite's own, for what is done inside of `taking`."""
        return self._db.connection

    @contextmanager
    def taking(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to rows of other stores, which come with their checksums."""
        with self._writing() as (db, sums):
            yield db
            sums.recount()

    def meta(self) -> dict[str, Any]:
        """Return what `begin` wrote besides the cells: domain, name and hash of the experiment."""
        return read_meta(self._db)

    def begin(self, identity: Mapping[str, Any], sha256: str, **more: str) -> None:
        """Write the cells of a new run, once; `more` is noted beside its name."""
        meta = {"sha256": sha256, "name": identity["name"], "domain": self.domain.name} | more
        with self._writing("meta", "cells", "origins") as (db, _):
            db.execute("INSERT INTO origins VALUES (?, ?, ?, ?, ?)", (UNKNOWN, *Origin().row))
            rows = [(key, json.dumps(value)) for key, value in meta.items()]
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            for number, cell in enumerate(identity["cells"]):
                self._insert_cell(db, number, cell)

    def identity(self) -> dict[str, Any]:
        """Return what makes its experiment itself, see `Experiment.identity`."""
        cells = [definition for _, definition in self.cells()]
        return {"name": self.meta()["name"], "cells": cells}

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

    def add(self, cell: int, played: Block | Rows, origin: int = UNKNOWN) -> None:
        """Write finished episodes of a cell, in place of earlier, failed attempts at them.

        `origin` is where they were played, a number that `origin` gave; default: not recorded.
        """
        given = played if isinstance(played, Rows) else Rows.of(cell, played)
        assert given.cell == cell, f"rows of cell {given.cell}, not of {cell}"
        keys = {(cell, row[0]) for row in given.episodes}
        done = {(cell, row[0]) for row in given.episodes if row[1] != FAILED}
        spent = [
            (cell, episode, MADE, said)
            for episode, said in given.spent.items()
            if (cell, episode) in keys
        ]
        rows = given.tables(origin) | {"spent": spent}
        with self._writing() as (db, sums):
            earlier = sorted(keys & _present(db, "episodes", keys))
            for name in reversed(SUMMED):  # an episode's own row last
                db.executemany(f"DELETE FROM {name} WHERE cell = ? AND episode = ?", earlier)
                if rows[name]:
                    marks = ",".join("?" * len(rows[name][0]))
                    db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
            sums.episodes(db, keys)
            # The replies to a failed episode serve the next attempt.
            served = sorted(done & _present(db, "answered", keys))
            for place in served:
                sums.replies_leave(db, place)
            db.executemany("DELETE FROM answered WHERE cell = ? AND episode = ?", served)

    def count_spent(self) -> None:
        """Write what calls came to for episodes that lack it, as those copied by SQL do."""
        left = kept(self).left or []
        for start in range(0, len(left), 1000):
            with self._writing() as (db, sums):
                for place in left[start : start + 1000]:
                    db.execute("DELETE FROM spent WHERE cell = ? AND episode = ?", place)
                    told = ((place[1], *call) for call in self.calls(*place))
                    if said := by_episode(told).get(place[1]):
                        db.execute("INSERT INTO spent VALUES (?, ?, ?, ?)", (*place, MADE, said))
                sums.episodes(db, left[start : start + 1000])

    def differs(self, cell: int, played: Block | Rows) -> Differing:
        """Return how episodes differ from what is stored of them.

        Where they were played does not count, nor what records say of the time it took and of
        tokens that were read before. Episodes that are not stored differ in ``episodes``.
        """
        assert self._sums is not None, "open for reading"
        given = played if isinstance(played, Rows) else Rows.of(cell, played)
        with self._db.reporting():
            return difference(self._db.connection, given)

    def origin(self, replica: str, host: str, device: str, versions: Mapping[str, str]) -> int:
        """Return the number of an origin, a new one if there is none like it; see `Origin`."""
        row = Origin(replica, host, device, versions).row
        where = "replica = ? AND host = ? AND device = ? AND versions = ?"
        if found := self.query(f"SELECT origin FROM origins WHERE {where}", row):
            return int(found[0][0])
        with self._writing("origins") as (db, _):
            number = db.execute("SELECT MAX(origin) + 1 FROM origins").fetchone()[0]
            db.execute("INSERT INTO origins VALUES (?, ?, ?, ?, ?)", (number, *row))
        return int(number)

    def origins(self) -> dict[int, Origin]:
        """Return all origins by number, those that no episode has included."""
        rows = self.query("SELECT origin, replica, host, device, versions FROM origins ORDER BY 1")
        try:
            return {number: Origin.of(row) for number, *row in rows}
        except (TypeError, ValueError, RecursionError) as error:
            raise self.damaged(error) from None

    def leave_out_hosts(self) -> None:
        """Forget on which hosts episodes were played, in a copy that others will read."""
        with self._writing("origins") as (db, _):
            db.execute("UPDATE origins SET host = ''")

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
        self.keep_replies([(cell, episode, seat, request, pack(reply))])

    def keep_replies(self, replies: Iterable[tuple[int, int, str, str, bytes]]) -> None:
        """Keep many replies, as cell, episode, seat, request and packed reply; see `keep_reply`."""
        last = {row[:4]: row for row in replies}
        with self._writing() as (db, sums):
            rows = [sums.reply(db, row) for row in last.values()]
            db.executemany("INSERT OR REPLACE INTO answered VALUES (?, ?, ?, ?, ?, ?)", rows)

    def kept_replies(self, cell: int, episode: int, seat: str) -> dict[str, str]:
        """Return the kept replies to a seat of an unfinished episode, by request."""
        sql = "SELECT request, reply FROM answered WHERE cell = ? AND episode = ? AND seat = ?"
        rows = self.query(sql, (cell, episode, seat))
        return {request: self._unpack(reply) for request, reply in rows}

    def finished(self) -> dict[int, set[int]]:
        """Return by cell the episodes that need not be played, void ones included."""
        done: dict[int, set[int]] = {}
        sql = "SELECT cell, episode FROM episodes WHERE status != ?"
        for cell, episode in self.query(sql, (FAILED,)):
            done.setdefault(cell, set()).add(episode)
        return done

    def finished_of(self, cell: int) -> Iterator[int]:
        """Yield the episodes of a cell that need not be played, in order."""
        sql = "SELECT episode FROM episodes WHERE cell = ? AND status != ? ORDER BY episode"
        _, rows = self.iterate(sql, (cell, FAILED))
        return (episode for (episode,) in rows)

    def most_finished(self) -> dict[int, tuple[int, int]]:
        """Return by cell how many episodes need not be played, and the last of them."""
        sql = "SELECT cell, COUNT(*), MAX(episode) FROM episodes WHERE status != ? GROUP BY cell"
        return {cell: (count, last) for cell, count, last in self.query(sql, (FAILED,))}

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

    @property
    def changing(self) -> bool:
        """Whether it is open for writing; else it stays as it was at the first look."""
        return self._sums is not None

    def cells(self) -> list[tuple[int, dict[str, Any]]]:
        """Return number and definition of every cell; definitions must not be changed."""
        if self.changing:
            return self._read_cells()
        if self._cells is None:
            self._cells = self._read_cells()
        return list(self._cells)

    def _read_cells(self) -> list[tuple[int, dict[str, Any]]]:
        rows = self.query("SELECT cell, definition FROM cells ORDER BY cell")
        try:
            found = [(cell, json.loads(definition)) for cell, definition in rows]
        except (TypeError, ValueError, RecursionError) as error:
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
            yield step, seat, form, json.loads(self._unpack(record))

    def _unpack(self, packed: bytes) -> str:
        try:
            return unpack(packed)
        except Unpackable as error:
            raise self.damaged(error) from None


def own_domain(db: Database, name: str = "") -> Domain:
    """Return the domain that a store is of, once its tables are known to be those of a run.

    `name` is that of the domain where the store's own word is not to be trusted.

    Raises
    ------
    TomevalError
        It has other tables, or views, or does not say which domain it is of.
    """
    there = db.query("SELECT type, name, sql FROM sqlite_master")
    _refuse_strange(db, strange_part(there, None))
    if not name:
        if not (meta := read_meta(db)):
            if db.query("SELECT 1 FROM marks WHERE name = 'commits' AND value > 0"):
                raise db.damaged("the table meta is empty")
            raise NothingPlayed(db.path.parent)
        name = str(meta.get("domain"))
    domain = get_domain(name, str(db.path))
    _refuse_strange(db, strange_part(there, domain.schema))
    return domain


def _refuse_strange(db: Database, part: str) -> None:
    if part:
        raise db.damaged(f"{part} is not one that tomeval makes, or of another version")


def read_meta(db: Database) -> dict[str, Any]:
    """Return what a store says of itself: domain, name and hash of its experiment."""
    rows = db.query("SELECT key, value FROM meta")
    try:
        return {key: json.loads(value) for key, value in rows}
    except (TypeError, ValueError, RecursionError) as error:
        raise db.damaged(error) from None


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
    finally:
        store.close()


def _present(db: sqlite3.Connection, table: str, keys: set[Place]) -> set[Place]:
    """Return episodes that a table has rows of; all of these keys, which are of one cell."""
    if not keys:
        return set()
    sql = f"SELECT DISTINCT cell, episode FROM {table} WHERE cell = ? AND episode BETWEEN ? AND ?"
    (cell, first), (_, last) = min(keys), max(keys)
    return set(db.execute(sql, (cell, first, last)))
