"""Checksums inside a store: written with every transaction, verified when a table is first read.

Table ``sums`` has a row per finished episode with the checksum of its rows in every table of
episodes; ``answered`` has one per kept reply; ``marks`` has those of the small tables, of all kept
replies together, and the number of transactions, which the seal beside the store repeats.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.runs.checksums import as_given, of_rows
from tomeval.runs.database import Database
from tomeval.runs.seal import Seal

OF_EPISODES = ("episodes", "steps", "answers", "calls")
SMALL = ("meta", "cells", "revisions", "origins")
Place = tuple[int, int]
"""Cell and episode."""

_SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
_KEYS = {"episodes": 2, "steps": 3, "answers": 5, "calls": 3}
_place = itemgetter(0, 1)


class Guard:
    """Verifies what is read from a store.

    Parameters
    ----------
    db : Database
        Open for reading: all is verified as of one moment.
    seal : Seal, optional
        As it was before `db` was opened.
    """

    def __init__(self, db: Database, seal: Seal | None, strict: bool = True) -> None:
        """Without `strict`, look at nothing yet."""
        self._db, self._seal = db, seal
        self._trusted: set[str] = set()
        self._busy = self._whole = False
        if strict:
            with self._reading("the table meta"):
                self._check_marks(("meta",))

    def trust(self, tables: frozenset[str]) -> None:
        """Verify tables that were not yet.

        Raises
        ------
        TomevalError
            Something in them is not what was written.
        """
        new = tables - self._trusted
        if self._busy or not new:
            return
        self._busy = True
        try:
            self._whole = self._whole or (
                self._seal is not None and self._seal.fits(self._db.read_from)
            )
            for table in sorted(new):
                if not self._whole:
                    with self._reading(f"the table {table}"):
                        self._check(table)
                self._trusted.add(table)
        finally:
            self._busy = False

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Turn values of a kind that tomeval never writes into the error for damage."""
        try:
            yield
        except (TypeError, ValueError):
            raise self._damaged(what) from None

    def check_all(self) -> None:
        """Verify every table."""
        self.trust(frozenset((*OF_EPISODES, *SMALL, "answered")))

    def check_small(self) -> None:
        """Verify the small tables, even in a store that is as its last session left it."""
        with self._reading("one of its small tables"):
            self._check_marks(SMALL)

    def check_replies(self) -> None:
        """Verify that all kept replies are there."""
        with self._reading("the list of kept replies"):
            self._check("answered")

    def lost(self) -> int:
        """Return how many transactions the store lacks that the seal knows of."""
        if self._seal is None:
            return 0
        return max(0, self._seal.commits - self._marks().get("commits", 0))

    def _check(self, table: str) -> None:
        if table in OF_EPISODES:
            for place in self.differing(table):
                raise self._damaged_episode(place, table)
        elif table == "answered":
            for cell, episode in self.differing_replies():
                raise self._damaged(f"a kept reply of episode {episode} of cell {cell}")
            if self._replies_lack():
                raise self._damaged("the list of kept replies")
        elif table in SMALL:
            self._check_marks((table,))

    def differing(self, table: str) -> Iterator[Place]:
        """Yield the episodes whose rows in a table are not what was written, in order."""
        sums = iter(self._db.iterate(f"SELECT cell, episode, {table} FROM sums")[1])
        rows = self._db.iterate(f"SELECT * FROM main.{table} ORDER BY {_keys(table)}")[1]
        groups = groupby(rows, key=_place)
        empty = of_rows([])
        expected, found = next(sums, None), next(groups, None)
        while expected or found:
            if found is None or (expected is not None and expected[:2] < found[0]):
                assert expected is not None
                if expected[2] != empty:
                    yield expected[0], expected[1]
                expected = next(sums, None)
            elif expected is None or found[0] < expected[:2]:
                yield found[0]
                found = next(groups, None)
            else:
                if expected[2] != of_rows(list(found[1])):
                    yield found[0]
                expected, found = next(sums, None), next(groups, None)

    def sound(self, table: str, place: Place) -> bool:
        """Tell whether one episode's rows in a table are what was written."""
        rows = self._db.query(rows_sql(table), place)
        sums = self._db.query(f"SELECT {table} FROM sums WHERE cell = ? AND episode = ?", place)
        return of_rows(rows) == sums[0][0] if sums else not rows

    def differing_replies(self) -> Iterator[Place]:
        """Yield the episodes of kept replies that are not what was written."""
        for *row, found in self._db.iterate("SELECT * FROM answered")[1]:
            if of_rows([tuple(row)]) != found:
                yield row[0], row[1]

    def _replies_lack(self) -> bool:
        """Tell whether kept replies are missing, or there are some that nobody wrote."""
        total = 0
        for (one,) in self._db.iterate("SELECT sum FROM answered")[1]:
            total ^= one
        return total != self._marks().get("answered", 0)

    def _marks(self) -> dict[str, int]:
        return dict(self._db.query("SELECT name, value FROM marks"))

    def _check_marks(self, tables: Sequence[str]) -> None:
        """Verify small tables, and with ``meta`` the schema and that nothing was lost."""
        marks = self._marks()
        if not {"commits", "answered", "schema", *SMALL} <= marks.keys():
            raise self._damaged("the table marks")
        for table in tables:
            if marks.get(table) != small_sum(self._db, table):
                raise self._damaged(f"the table {table}")
        if "meta" in tables:
            if marks.get("schema") != of_rows(self._db.query(_SCHEMA)):
                raise self._damaged("the list of its tables")
            if lost := self.lost():
                store = self._db.path.name
                raise TomevalError(
                    f"{self._db.path}: damaged, the last {lost:,} changes are lost ({store}-wal is "
                    f"missing, cut or damaged, or {store} is an older one); "
                    f"{_advice(self._db.path.parent)}"
                )

    def _damaged_episode(self, place: Place, table: str) -> TomevalError:
        cell, episode = place
        return self._damaged(f"episode {episode} of cell {cell} ({table})")

    def _damaged(self, what: str) -> TomevalError:
        return TomevalError(
            f"{self._db.path}: damaged, {what} is not what was written; "
            f"{_advice(self._db.path.parent)}"
        )


def rows_sql(table: str) -> str:
    """Return SQL for an episode's rows in a table, in the order of their checksum."""
    return f"SELECT * FROM main.{table} WHERE cell = ? AND episode = ? ORDER BY {_keys(table)}"


def _keys(table: str) -> str:
    """Return the primary key of a table, as numbers of columns."""
    return ", ".join(map(str, range(1, _KEYS[table] + 1)))


def _advice(folder: Path) -> str:
    return (
        f"tomeval verify {folder} tells what is sound, and with --drop leaves out what is not, so "
        "that tomeval run plays it again"
    )


def by_place(rows: Sequence[tuple[Any, ...]]) -> dict[Place, list[tuple[Any, ...]]]:
    """Return rows by episode, each episode's in the order of their keys."""
    found: dict[Place, list[tuple[Any, ...]]] = {}
    for place, some in groupby(rows, key=_place):
        found.setdefault(place, []).extend(some)
    for mine in found.values():
        mine.sort()
    return found


def small_sum(db: Database, table: str) -> int:
    """Return the checksum of a small table."""
    return of_rows(db.query(f"SELECT * FROM main.{table} ORDER BY 1"))


class Sums:
    """Writes the checksums of a store that is open for writing."""

    def __init__(self, db: Database) -> None:
        """Begin them in a store that is new."""
        self._db = db
        marks = dict(db.query("SELECT name, value FROM marks"))
        if not marks:
            marks = {"commits": 0, "answered": 0, "schema": of_rows(db.query(_SCHEMA))}
            marks |= {table: small_sum(db, table) for table in SMALL}
            with db.transaction() as connection:
                connection.executemany("INSERT INTO marks VALUES (?, ?)", marks.items())
        self.commits: int = marks["commits"]
        self._replies: int = marks["answered"]
        self._changed: set[str] | None = None  # small tables, in a transaction
        self._kinds = {
            table: [row[2] for row in db.query(f"PRAGMA table_info({table})")]
            for table in OF_EPISODES
        }

    @contextmanager
    def transaction(self, changed: Sequence[str]) -> Iterator[sqlite3.Connection]:
        """Do all or nothing, and mark it; inside another transaction, as a part of that.

        `changed` names the small tables that are written.
        """
        before = self._replies
        kind = self._outermost if self._changed is None else self._part
        try:
            with self._db.reporting(), kind(changed) as connection:
                yield connection
        except BaseException:
            self._replies = before
            raise

    @contextmanager
    def _outermost(self, changed: Sequence[str]) -> Iterator[sqlite3.Connection]:
        self._changed = set(changed)
        try:
            with self._db.transaction() as connection:
                yield connection
                marks = [("commits", self.commits + 1), ("answered", self._replies)]
                marks += [(table, small_sum(self._db, table)) for table in self._changed]
                connection.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?)", marks)
        finally:
            self._changed = None
        self.commits += 1

    @contextmanager
    def _part(self, changed: Sequence[str]) -> Iterator[sqlite3.Connection]:
        with self._db.part() as connection:
            yield connection
        assert self._changed is not None
        self._changed.update(changed)

    def episodes(
        self, connection: sqlite3.Connection, rows: dict[str, list[tuple[Any, ...]]]
    ) -> dict[Place, int]:
        """Write the checksums of episodes whose rows, by table, have just been written.

        Return those of their calls.
        """
        places = [_place(row) for row in rows["episodes"]]
        found: dict[Place, list[int]] = {place: [] for place in places}
        for table in OF_EPISODES:
            kept = as_given(rows[table], self._kinds[table])
            given = by_place(rows[table]) if kept else {}
            for place in places:
                mine = given.get(place, []) if kept else self._stored(connection, table, place)
                found[place].append(of_rows(mine))
        connection.executemany(
            "INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?, ?)",
            [(*place, *sums) for place, sums in found.items()],
        )
        return {place: sums[OF_EPISODES.index("calls")] for place, sums in found.items()}

    def reply(self, connection: sqlite3.Connection, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the row of a kept reply with its checksum, which may take an earlier one's place.

        The row is cell, episode, seat, request and reply.
        """
        where = "cell = ? AND episode = ? AND seat = ? AND request = ?"
        self._leave(connection, where, row[:4])
        found = of_rows([row])
        self._replies ^= found
        return (*row, found)

    def recount(self, connection: sqlite3.Connection) -> None:
        """Take note of kept replies that were written with their checksums."""
        self._replies = 0
        for (found,) in connection.execute("SELECT sum FROM answered"):
            self._replies ^= found

    def replies_leave(self, connection: sqlite3.Connection, place: Place) -> None:
        """Take note that the kept replies of an episode are about to be deleted."""
        self._leave(connection, "cell = ? AND episode = ?", place)

    def _leave(self, connection: sqlite3.Connection, where: str, key: tuple[Any, ...]) -> None:
        for (found,) in connection.execute(f"SELECT sum FROM answered WHERE {where}", key):
            self._replies ^= found

    def _stored(
        self, connection: sqlite3.Connection, table: str, place: Place
    ) -> list[tuple[Any, ...]]:
        return connection.execute(rows_sql(table), place).fetchall()
