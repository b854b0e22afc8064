"""Checksums (CRC-32) of a run: of every episode and kept reply, of the experiment, of files.

An episode's is the sum over its tables of the checksum of its rows there (table ``sums``); a kept
reply has its own. The experiment's covers the small tables (table ``marks``). All are checked when
a store is opened to be read: at once if its file is the one that the last session sealed, else row
by row. Episodes that are missing with their checksums, as those of a log that was lost, are no
damage: they are played again.
"""

from __future__ import annotations

import json
import marshal
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.resources import read_text
from tomeval.runs.database import RESTORE, Damaged, Database

SEAL = "run.seal"
"""Size and checksum of a store that was closed."""

SUMMED = ("episodes", "steps", "answers", "calls", "spent")
SMALL = ("meta", "cells", "revisions")
Place = tuple[int, int]
"""Cell and episode."""

_KEY = "crc32"
_KEYS = {"episodes": 2, "steps": 3, "answers": 5, "calls": 3, "spent": 2}
_ROWS = {
    table: f"SELECT * FROM main.{table} WHERE cell = ? AND episode = ? "
    f"ORDER BY {', '.join(map(str, range(1, keys + 1)))}"
    for table, keys in _KEYS.items()
}
Query = Callable[..., list[Any]]


def of_rows(rows: Sequence[tuple[Any, ...]]) -> int:
    """Return the checksum of rows as SQLite gives them, in order: numbers, texts, bytes, None.

    It is taken over their form in version 2 of `marshal`, which writes nothing but type, length and
    value and has been the same since Python 2.5; a test holds it to the byte.
    """
    return zlib.crc32(marshal.dumps(rows if isinstance(rows, list) else list(rows), 2))


# Files beside the store


def signed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object for a JSON file with its checksum, under the key ``crc32``."""
    bare = {name: value for name, value in data.items() if name != _KEY}
    return {**bare, _KEY: f"{zlib.crc32(json.dumps(bare, sort_keys=True).encode()):08x}"}


def holds(data: Mapping[str, Any]) -> bool:
    """Tell whether an object read from a JSON file is what was written; it has a checksum."""
    return bool(data.get(_KEY) == signed(data)[_KEY])


def read_signed(path: Path) -> Any:
    """Return what a JSON file holds; None if it cannot be read or is not what was written."""
    try:
        data = json.loads(read_text(path))
    except (TomevalError, ValueError, RecursionError):
        return None
    parts = data if isinstance(data, list) else [data]
    return data if all(isinstance(part, dict) and holds(part) for part in parts) else None


def seal(store: Path) -> None:
    """Seal a store that has just been closed, unless a reader still holds its log."""
    if not _logged(store):
        write_text(store.with_name(SEAL), _line(store), own=True)


def is_sealed(store: Path, sealed: str) -> bool:
    """Tell whether a store's file is the one that a seal's text is of."""
    size = sealed.partition(" ")[0]
    return size == str(store.stat().st_size) and not _logged(store) and sealed == _line(store)


def read_seal(folder: Path) -> str:
    """Return the text of a folder's seal; empty without one."""
    try:
        return read_text(folder / SEAL)
    except TomevalError:
        return ""


def _line(store: Path) -> str:
    crc = 0
    with store.open("rb") as file:
        while chunk := file.read(1 << 20):
            crc = zlib.crc32(chunk, crc)
    return f"{store.stat().st_size} {crc:08x}\n"


def _logged(store: Path) -> bool:
    """Tell whether part of a store is in a log, or is to be taken back by a rollback journal."""
    for name in ("wal", "journal"):
        log = store.with_name(f"{store.name}-{name}")
        if log.exists():
            with log.open("rb") as file:
                if file.read(1) > b"\0":  # SQLite writes a zero over the head of a journal
                    return True
    return False


# A store that is read


def rows_of(query: Query, table: str, place: Place) -> list[tuple[Any, ...]]:
    """Return an episode's rows in a table, in the order of their checksum."""
    return query(_ROWS[table], place)


def check(db: Database, sealed: str) -> None:
    """Verify all that a store holds, which is open for reading: as of one moment.

    `sealed` is its seal, as it was before `db` was opened.

    Raises
    ------
    Damaged
        Something is not what was written.
    """
    if sealed and is_sealed(db.read_from, sealed):
        return
    if wrong := list(damage(db)):
        more = f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else ""
        raise Damaged(f"{db.path}: damaged, {wrong[0]} is not what was written{more}; {RESTORE}")


def damage(db: Database) -> Iterator[str]:
    """Yield in words what is not what was written."""
    if db.query("SELECT value FROM marks") != [(_of_small(db.query),)]:
        yield f"one of the tables {', '.join(SMALL)}"
    known = "SELECT cell, episode FROM sums UNION SELECT cell, episode FROM episodes"
    sums = {row[:2]: row[2] for row in db.query("SELECT cell, episode, sum FROM sums")}
    places = db.query(known)
    for episode in filter(_is_place, places):
        try:
            sound = _sum(db.query, episode) == sums.get(episode)
        except Damaged:
            sound = False
        if not sound:
            yield f"episode {episode[1]} of cell {episode[0]}"
    for table in SUMMED:
        sql = f"SELECT cell, episode FROM {table} WHERE (cell, episode) NOT IN ({known}) LIMIT 1"
        if db.query(sql) or not all(map(_is_place, places)):
            yield f"a row of no episode in the table {table}"
    for *row, checksum in db.iterate("SELECT * FROM answered")[1]:
        if of_rows([tuple(row)]) != checksum:
            yield f"a kept reply of episode {row[1]} of cell {row[0]}"


def _is_place(place: tuple[Any, ...]) -> bool:
    """Tell whether these are numbers of a cell and an episode; damage puts anything there."""
    return all(isinstance(number, int) for number in place)


def _sum(query: Query, place: Place) -> int:
    return sum(of_rows(query(sql, place)) for sql in _ROWS.values())


def _of_small(query: Query) -> int:
    return sum(of_rows(query(f"SELECT * FROM main.{table} ORDER BY 1")) for table in SMALL)


# A store that is written


def write_sums(db: sqlite3.Connection, places: Iterable[Place]) -> None:
    """Write the checksums of episodes that have just been written."""

    def query(sql: str, place: Place) -> list[Any]:
        return db.execute(sql, place).fetchall()

    rows = [(*key, _sum(query, key)) for key in places]
    db.executemany("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", rows)


def write_mark(db: sqlite3.Connection) -> None:
    """Write the checksum of the small tables, one of which has just been written."""
    mark = ("experiment", _of_small(lambda sql: db.execute(sql).fetchall()))
    db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", mark)
