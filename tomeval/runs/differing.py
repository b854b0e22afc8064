"""How a second result of episodes differs from the first one that a store holds."""

from __future__ import annotations

import json
import math
import sqlite3
from typing import Any, NamedTuple

from tomeval.runs.domain import Row
from tomeval.runs.rows import Rows
from tomeval.runs.schema import UNKNOWN, unpack

_MEASURED = ("latency", "cached")
"""What a record says of the machine: seconds, and tokens that the model had read before."""


ROUNDING = 1e-3
"""How much a number may differ, by its size if that is above 1, and still be the same, rounded.

Batches of a model in single precision differ by about 1e-6; those of one in half precision by more.
"""


class Differing(NamedTuple):
    """How a second result of episodes differs from the first one.

    Attributes
    ----------
    table : str
        The first table in which anything but rounding differs; empty: there is none.
    rounding : float
        The largest difference of two numbers up to there that is within `ROUNDING`.
    """

    table: str = ""
    rounding: float = 0.0


def difference(db: sqlite3.Connection, given: Rows) -> Differing:
    """Return how rows differ from those of a store.

    Origins do not count, nor what records say of the machine.
    """
    places = [(given.cell, row[0]) for row in given.episodes]
    rounding = 0.0
    for table, rows in given.tables(UNKNOWN).items():
        if table == "spent":  # follows from the calls, of which not all counts
            continue
        # As SQLite gives them back: 1.0 for 1 in a column of type REAL, nothing for NaN.
        db.execute(f"CREATE TEMP TABLE given AS SELECT * FROM {table} WHERE 0")
        try:
            if rows:
                marks = ",".join("?" * len(rows[0]))
                db.executemany(f"INSERT INTO given VALUES ({marks})", rows)
            for place in places:
                first, second = (_content(db, name, table, place) for name in (table, "given"))
                if first != second:
                    if math.isinf(apart := _apart(first, second)):
                        return Differing(table, rounding)
                    rounding = max(rounding, apart)
        finally:
            db.execute("DROP TABLE given")
    return Differing("", rounding)


def _apart(one: Any, other: Any) -> float:
    """Return how far numbers in two values are apart; infinite if more differs than rounding.

    Examples
    --------
    >>> _apart([("J", 0.5)], [("J", 0.25)]), _apart({"a": [1, 8.5]}, {"a": [1, 8.501]}) < 0.0011
    (inf, True)
    """
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return math.inf
        return max((_apart(a, b) for a, b in zip(one, other, strict=True)), default=0.0)
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return math.inf
        return max((_apart(one[key], other[key]) for key in one), default=0.0)
    if one == other:
        return 0.0
    numbers = {type(one), type(other)}
    if float not in numbers or not numbers <= {int, float}:
        return math.inf
    apart = abs(float(one) - float(other))
    return apart if apart <= ROUNDING * max(1.0, abs(one), abs(other)) else math.inf


def _content(db: sqlite3.Connection, name: str, like: str, place: tuple[int, int]) -> list[Row]:
    """Return an episode's rows in a table that has the columns of the table `like`."""
    sql = f"SELECT * FROM {name} WHERE cell = ? AND episode = ?"
    rows = [tuple(row) for row in db.execute(sql, place)]
    if like == "episodes":
        rows = [row[:-1] for row in rows]
    if like == "calls":
        rows = [(*row[:-1], json.loads(said(row[-1]))) for row in rows]
    return sorted(rows, key=repr)


def said(record: bytes) -> str:
    """Return a packed record without what it says of the machine."""

    def bare(data: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key not in _MEASURED}

    return json.dumps(json.loads(unpack(record), object_hook=bare), sort_keys=True)
