"""What a run's store holds, read back: cells, episodes, steps, answers, model calls.

Domains and extensions read columns by name, with `Stored.read`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tomeval.core.outcomes import COMPLETE, FAILED, NOT_ASKED, VALID
from tomeval.runs.checksums import SUMMED, rows_of
from tomeval.runs.database import Database, NothingPlayed
from tomeval.runs.domain import Domain, get_domain
from tomeval.runs.rows import Rows
from tomeval.runs.schema import Unpackable, strange_part, unpack

Table = tuple[list[str], Iterator[tuple[Any, ...]]]
"""Names of columns, and rows."""


def identity_sha256(identity: Mapping[str, Any]) -> str:
    """Return the hash of what makes an experiment itself: its name and its cells."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


class Stored:
    """What is read of a store: a part of `tomeval.runs.store.Store`, which opens it.

    Attributes
    ----------
    domain : Domain
    changing : bool
        Whether it is open for writing; else it stays as it was at the first look.
    query, iterate, damaged : callable
        Of its `Database`.
    """

    domain: Domain
    changing = False

    def __init__(self, db: Database) -> None:
        self._db = db
        self.query, self.iterate = db.query, db.iterate
        self.damaged, self.reporting = db.damaged, db.reporting
        self._cells: list[tuple[int, dict[str, Any]]] | None = None

    def read(
        self,
        table: str,
        names: Sequence[str],
        cell: int,
        episode: int | None = None,
        complete: bool = False,
    ) -> Iterator[tuple[Any, ...]]:
        """Yield columns of a cell's episodes, steps, answers or model calls, in order.

        Parameters
        ----------
        table : {"episodes", "steps", "answers", "asked", "calls"}
            ``asked`` holds every question, that for a move included, and what became of it.
        names : sequence of str
            Columns; ``details/record/game`` is a value in the JSON of one, ``episodes.partner`` a
            column of the row's episode, and ``steps.round`` one of the step that an answer is of.
        episode : int, optional
            Of this one alone.
        complete : bool
            Of complete episodes alone.
        """
        columns = ", ".join(_column(table, name) for name in names)
        source, where, values = table, f"{table}.cell = ?", [cell, episode]
        if any(name.startswith("steps.") for name in names):
            source += " JOIN steps USING (cell, episode, step)"
        if table != "episodes" and (complete or any(n.startswith("episodes.") for n in names)):
            source += " JOIN episodes USING (cell, episode)"
        if episode is None:
            values.pop()
        else:
            where += f" AND {table}.episode = ?"
        if complete:
            where += f" AND episodes.status = '{COMPLETE}'"
        order = ", ".join(f"{table}.{name}" for name in ("episode", *_ORDER[table]))
        sql = f"SELECT {columns} FROM {source} WHERE {where} ORDER BY {order}"
        return self.iterate(sql, tuple(values))[1]

    def meta(self) -> dict[str, Any]:
        """Return what `begin` wrote besides the cells: domain, name and hash of the experiment."""
        return read_meta(self._db)

    def identity(self) -> dict[str, Any]:
        """Return what makes its experiment itself, see `Experiment.identity`."""
        cells = [definition for _, definition in self.cells()]
        return {"name": self.meta()["name"], "cells": cells}

    def revisions(self) -> dict[str, str]:
        """Return the revision of every model that was used; empty if unknown."""
        return dict(self.query("SELECT model, revision FROM revisions"))

    def played(self, cell: int, episode: int) -> Rows:
        """Return a stored episode as `add` takes it."""
        ((_, *own),), *others = (rows_of(self.query, name, (cell, episode)) for name in SUMMED)
        return Rows(cell, [tuple(own)], *others)

    def kept_replies(self, cell: int, episode: int, seat: str) -> dict[str, str]:
        """Return the kept replies to a seat of an unfinished episode, by request."""
        sql = "SELECT request, reply FROM answered WHERE cell = ? AND episode = ? AND seat = ?"
        rows = self.query(sql, (cell, episode, seat))
        return {request: self._unpack(reply) for request, reply in rows}

    def all_replies(self) -> Iterator[tuple[int, int, str, str, bytes]]:
        """Yield all kept replies: cell, episode, seat, request, and the packed reply."""
        keys = "cell, episode, seat, request"
        _, rows = self.iterate(f"SELECT {keys}, reply FROM answered ORDER BY {keys}")
        yield from rows

    def statuses(self, cell: int) -> dict[int, str]:
        """Return how the episodes of a cell ended, by episode, in order."""
        sql = "SELECT episode, status FROM episodes WHERE cell = ? ORDER BY episode"
        return dict(self.query(sql, (cell,)))

    def episodes(self, cell: int, status: str = "") -> list[int]:
        """Return the stored episodes of a cell, in order; with a status those that have it."""
        where, more = ("AND status = ?", (status,)) if status else ("", ())
        sql = f"SELECT episode FROM episodes WHERE cell = ? {where} ORDER BY episode"
        return [episode for (episode,) in self.query(sql, (cell, *more))]

    def status(self, cell: int, episode: int) -> str | None:
        """Return how an episode ended; None if it is not stored."""
        sql = "SELECT status FROM episodes WHERE cell = ? AND episode = ?"
        return next((str(status) for (status,) in self.query(sql, (cell, episode))), None)

    def steps(self, cell: int, episode: int) -> dict[str, list[Any]]:
        """Return the domain's columns of an episode's steps, in order."""
        names = list(self.domain.read.schema.steps)
        sql = f"SELECT {', '.join(names)} FROM steps WHERE cell = ? AND episode = ? ORDER BY step"
        rows = self.query(sql, (cell, episode))
        return {name: [row[number] for row in rows] for number, name in enumerate(names)}

    def last_unread(self, cell: int, episode: int) -> str:
        """Return the outcome of an episode's last answer that is not valid; empty: none."""
        sql = (
            "SELECT outcome FROM asked WHERE cell = ? AND episode = ? AND outcome NOT IN (?, ?) "
            "ORDER BY step DESC LIMIT 1"
        )
        rows = self.query(sql, (cell, episode, VALID, NOT_ASKED))
        return str(rows[0][0]) if rows else ""

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

    def stops(self) -> dict[int, str]:
        """Return why cells were stopped, by number; see `note_stops`."""
        return {int(cell): str(reason) for cell, reason in self.meta().get("stopped", {}).items()}

    def until(self) -> dict[str, Any]:
        """Return what is known of the condition that the run stops by; empty: it has none.

        ``condition``, and by number ``cells`` with ``episodes``, how many each is to have, and why
        it was ``stopped``; see `tomeval.runs.until.Looks`.
        """
        return dict(self.meta().get("until", {}))

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
            cells = [(cell, json.loads(definition)) for cell, definition in rows]
        except (TypeError, ValueError, RecursionError) as error:
            raise self.damaged(error) from None
        meta = self.meta()
        identity = {"name": meta.get("name"), "cells": [definition for _, definition in cells]}
        if meta and meta.get("sha256") != identity_sha256(identity):
            raise self.damaged("its cells differ from those it was started with")
        return cells

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

    def step_records(self, cells: Sequence[int]) -> Table:
        """Return all of every step of some cells."""
        return self.iterate(
            f"SELECT * FROM step_records WHERE cell IN ({_numbers(cells)}) "
            "ORDER BY cell, episode, step"
        )

    def asked(self, cells: Sequence[int]) -> Table:
        """Return every question of some cells and what became of it."""
        order = "cell, episode, step, seat, question"
        return self.iterate(
            f"SELECT * FROM asked WHERE cell IN ({_numbers(cells)}) ORDER BY {order}"
        )


_ORDER: dict[str, tuple[str, ...]] = {
    "episodes": (),
    "steps": ("step",),
    "answers": ("step", "seat", "question"),
    "asked": ("step", "seat", "question"),
    "calls": ("call",),
}
"""In which order the rows of an episode are read, by table."""


def _column(table: str, name: str) -> str:
    column, *path = name.split("/")
    column = column if "." in column else f"{table}.{column}"
    return f"json_extract({column}, '$.{'.'.join(path)}')" if path else column


def _numbers(cells: Sequence[int]) -> str:
    return ", ".join(map(str, cells))


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
            if db.query("SELECT 1 FROM cells LIMIT 1"):
                raise db.damaged("the table meta is empty")
            raise NothingPlayed(db.path.parent)
        name = str(meta.get("domain"))
    domain = get_domain(name, str(db.path))
    _refuse_strange(db, strange_part(there, domain.read.schema))
    return domain


def _refuse_strange(db: Database, part: str) -> None:
    if part:
        raise db.damaged(f"{part} was not made by this version of tomeval")


def read_meta(db: Database) -> dict[str, Any]:
    """Return what a store says of itself: domain, name and hash of its experiment."""
    rows = db.query("SELECT key, value FROM meta")
    try:
        return {key: json.loads(value) for key, value in rows}
    except (TypeError, ValueError, RecursionError) as error:
        raise db.damaged(error) from None
