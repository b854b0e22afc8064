"""Finished episodes as the store inserts them: made where they were played, sent, then written."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tomeval.runs.domain import Block, Row
from tomeval.runs.packing import pack_json, unpack
from tomeval.runs.schema import UNKNOWN
from tomeval.runs.spent import by_episode


@dataclass(frozen=True)
class Rows:
    """Finished episodes of one cell, with packed records; can be pickled.

    Attributes
    ----------
    cell : int
    episodes : list of (episode, status, steps, *domain's)
        As `Block` has them.
    steps, answers : list of (cell, episode, step, ...)
    calls : list of (cell, episode, call, step, seat, form, packed record)
    spent : dict of int to str
        What calls came to by episode, see `tomeval.runs.spent`; what is missing is counted later.
    """

    cell: int
    episodes: list[Row]
    steps: list[Row]
    answers: list[Row]
    calls: list[Row]
    spent: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, cell: int, block: Block) -> Rows:
        """Return a block of a cell as rows, its calls numbered within each episode."""
        return cls(
            cell,
            list(block.episodes),
            [(cell, *row) for row in block.steps],
            [(cell, *row) for row in block.answers],
            list(_numbered(cell, block)),
            by_episode(block.calls),
        )

    def tables(self, origin: int) -> dict[str, list[Row]]:
        """Return the rows by table, those of the episodes with their origin."""
        episodes = [(self.cell, *row, origin) for row in self.episodes]
        return {
            "episodes": episodes,
            "steps": self.steps,
            "answers": self.answers,
            "calls": self.calls,
        }


def _numbered(cell: int, block: Block) -> Iterator[Row]:
    """Yield the rows of the call log."""
    numbers: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)
    for episode, *place, record in block.calls:
        yield cell, episode, next(numbers[episode]), *place, pack_json(record)


_MEASURED = ("latency", "cached")
"""What a record says of the machine: seconds, and tokens that the model had read before."""


def difference(db: sqlite3.Connection, given: Rows) -> str:
    """Return the first table in which rows are not those of a store; empty: none.

    Origins do not count, nor what records say of the machine.
    """
    places = [(given.cell, row[0]) for row in given.episodes]
    for table, rows in given.tables(UNKNOWN).items():
        # As SQLite gives them back: 1.0 for 1 in a column of type REAL, nothing for NaN.
        db.execute(f"CREATE TEMP TABLE given AS SELECT * FROM {table} WHERE 0")
        try:
            if rows:
                marks = ",".join("?" * len(rows[0]))
                db.executemany(f"INSERT INTO given VALUES ({marks})", rows)
            for place in places:
                found = (_content(db, name, table, place) for name in (table, "given"))
                if next(found) != next(found):
                    return table
        finally:
            db.execute("DROP TABLE given")
    return ""


def _content(db: sqlite3.Connection, name: str, like: str, place: tuple[int, int]) -> list[Row]:
    """Return an episode's rows in a table that has the columns of the table `like`."""
    sql = f"SELECT * FROM {name} WHERE cell = ? AND episode = ?"
    rows = [tuple(row) for row in db.execute(sql, place)]
    if like == "episodes":
        rows = [row[:-1] for row in rows]
    if like == "calls":
        rows = [(*row[:-1], said(row[-1])) for row in rows]
    return sorted(rows, key=repr)


def said(record: bytes) -> str:
    """Return a packed record without what it says of the machine."""

    def bare(data: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key not in _MEASURED}

    return json.dumps(json.loads(unpack(record), object_hook=bare), sort_keys=True)
