"""The checksums inside a store: one for every episode and kept reply, one for the experiment.

An episode's is the sum over its tables of the checksum of its rows there (table ``sums``); a kept
reply has its own. The experiment's covers the small tables, the number of transactions, and the
total of all others, so that none can be missing (table ``marks``). A store is verified when it is
opened to be read: by its seal, or else row by row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tomeval.runs.checksums import Seal, of_rows
from tomeval.runs.database import Damaged, Database

OF_EPISODES = ("episodes", "steps", "answers", "calls")
SUMMED = (*OF_EPISODES, "spent")
SMALL = ("meta", "cells", "revisions", "origins")
Place = tuple[int, int]
"""Cell and episode."""

_KEYS = {"episodes": 2, "steps": 3, "answers": 5, "calls": 3, "spent": 2}
_ROWS = {
    table: f"SELECT * FROM main.{table} WHERE cell = ? AND episode = ? "
    f"ORDER BY {', '.join(map(str, range(1, keys + 1)))}"
    for table, keys in _KEYS.items()
}
Query = Callable[[str, Place], list[Any]]


def rows_of(query: Query, table: str, place: Place) -> list[tuple[Any, ...]]:
    """Return an episode's rows in a table, in the order of their checksum."""
    return query(_ROWS[table], place)


def episode_sum(query: Query, place: Place) -> int:
    """Return the checksum of what is stored of an episode."""
    return sum(of_rows(query(sql, place)) for sql in _ROWS.values())


def is_sound(db: Database, place: Place, known: int | None) -> bool:
    """Tell whether an episode is what its checksum was taken of; not so without one."""
    try:
        return episode_sum(db.query, place) == known
    except Damaged:
        return False


def damaged_replies(db: Database) -> Iterator[Place]:
    """Yield the episodes of kept replies that are not what was written."""
    for *row, known in db.iterate("SELECT * FROM answered")[1]:
        if of_rows([tuple(row)]) != known:
            yield row[0], row[1]


def check(db: Database, seal: Seal | None) -> None:
    """Verify all that a store holds.

    Parameters
    ----------
    db : Database
        Open for reading: all is verified as of one moment.
    seal : Seal, optional
        As it was before `db` was opened.

    Raises
    ------
    Damaged
        Something is not what was written.
    """
    check_whole(db, seal)
    if seal is not None and seal.fits(db.read_from):
        return
    for cell, episode, known in db.iterate("SELECT cell, episode, sum FROM sums")[1]:
        if not is_sound(db, (cell, episode), known):
            raise _damaged(db, f"episode {episode} of cell {cell}")
    if orphaned := rows_of_no_episode(db):
        raise _damaged(db, f"the table {orphaned}")
    for cell, episode in damaged_replies(db):
        raise _damaged(db, f"a kept reply of episode {episode} of cell {cell}")


def check_whole(db: Database, seal: Seal | None) -> None:
    """Verify the experiment's checksum, and that no transaction is lost.

    Raises
    ------
    Damaged
        It does not hold.
    """
    marks = dict(db.query("SELECT name, value FROM marks"))
    if seal is not None and (lost := seal.commits - marks.get("commits", 0)) > 0:
        store = db.path.name
        raise Damaged(
            f"{db.path}: damaged, the last {lost:,} changes are lost ({store}-wal is missing, cut "
            f"or damaged, or {store} is an older one); {_advice(db.path.parent)}"
        )
    try:
        known = _experiment(marks["commits"], _total(db), [small_sum(db, name) for name in SMALL])
    except (KeyError, TypeError):  # values that tomeval never writes
        known = None
    if marks.get("experiment") != known or known is None:
        raise _damaged(db, f"its list of episodes or one of the tables {', '.join(SMALL)}")


def rows_of_no_episode(db: Database) -> str:
    """Return the first table with rows of an episode that has no checksum; empty: there is none."""
    for table in SUMMED:
        known = "SELECT cell, episode FROM sums"
        if db.query(f"SELECT 1 FROM {table} WHERE (cell, episode) NOT IN ({known}) LIMIT 1"):
            return table
    return ""


def _damaged(db: Database, what: str) -> Damaged:
    return Damaged(f"{db.path}: damaged, {what} is not what was written; {_advice(db.path.parent)}")


def _advice(folder: Path) -> str:
    return (
        f"tomeval verify {folder} tells what is sound, and with --drop leaves out what is not, so "
        "that tomeval run plays it again"
    )


def _experiment(commits: int, total: int, small: Collection[int]) -> int:
    return of_rows([(commits, total, *small)])


def _total(db: Database) -> int:
    """Return the total of the checksums of all episodes and kept replies."""
    rows = db.iterate("SELECT sum FROM sums UNION ALL SELECT sum FROM answered")[1]
    return sum(one for (one,) in rows)


def small_sum(db: Database, table: str) -> int:
    """Return the checksum of a small table."""
    return of_rows(db.query(f"SELECT * FROM main.{table} ORDER BY 1"))


class Sums:
    """Writes the checksums of a store that is open for writing."""

    def __init__(self, db: Database) -> None:
        self._db = db
        marks = dict(db.query("SELECT name, value FROM marks"))
        self.commits: int = marks.get("commits", -1)
        self._within = False
        self._small: dict[str, int] = {}
        self._changed = set(SMALL)
        self.recount()
        if not marks:
            with self.transaction():
                pass

    def recount(self) -> None:
        """Take note of episodes and replies that were written with their checksums."""
        self._total = _total(self._db)

    @contextmanager
    def transaction(self, *changed: str) -> Iterator[sqlite3.Connection]:
        """Do all or nothing, and mark it; inside another transaction, as a part of that.

        `changed` names the small tables that are written.
        """
        before, outermost = self._total, not self._within
        self._within = True
        self._changed.update(changed)
        try:
            kind = self._db.transaction if outermost else self._db.part
            with self._db.reporting(), kind() as connection:
                yield connection
                if outermost:
                    self._mark(connection)
        except BaseException:
            self._total = before
            raise
        finally:
            self._within = not outermost
        if outermost:
            self._changed.clear()
            self.commits += 1

    def _mark(self, connection: sqlite3.Connection) -> None:
        self._small |= {table: small_sum(self._db, table) for table in self._changed}
        small = [self._small[table] for table in SMALL]
        experiment = _experiment(self.commits + 1, self._total, small)
        marks = [("commits", self.commits + 1), ("experiment", experiment)]
        connection.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?)", marks)

    def episodes(self, connection: sqlite3.Connection, places: Collection[Place]) -> None:
        """Write the checksums of episodes that have just been written."""

        def query(sql: str, place: Place) -> list[Any]:
            return connection.execute(sql, place).fetchall()

        for place in places:
            self._leave(connection, "sums", "cell = ? AND episode = ?", place)
            found = episode_sum(query, place)
            self._total += found
            connection.execute("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", (*place, found))

    def reply(self, connection: sqlite3.Connection, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the row of a kept reply with its checksum, which may take an earlier one's place.

        The row is cell, episode, seat, request and reply.
        """
        where = "cell = ? AND episode = ? AND seat = ? AND request = ?"
        self._leave(connection, "answered", where, row[:4])
        found = of_rows([row])
        self._total += found
        return (*row, found)

    def replies_leave(self, connection: sqlite3.Connection, place: Place) -> None:
        """Take note that the kept replies of an episode are about to be deleted."""
        self._leave(connection, "answered", "cell = ? AND episode = ?", place)

    def _leave(
        self, connection: sqlite3.Connection, table: str, where: str, key: tuple[Any, ...]
    ) -> None:
        for (one,) in connection.execute(f"SELECT sum FROM {table} WHERE {where}", key):
            self._total -= one
