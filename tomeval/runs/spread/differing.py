"""Whether two stores hold the same of an episode, and if not, where they differ.

Where it was played does not count, nor what records say of the machine: how long a reply took, and
how many tokens had been read before.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple

from tomeval.runs.folder import differing_words
from tomeval.runs.replies import excerpt
from tomeval.runs.rows import said
from tomeval.runs.sums import OF_EPISODES, Place

_KEYS = {"steps": ("step",), "answers": ("step", "seat", "question"), "calls": ("call",)}
_MOST = 160
"""Characters that are told of a difference."""


class Difference(NamedTuple):
    """The first table in which an episode differs, and what differs in it, in a few words."""

    table: str
    what: str


def difference(
    there: sqlite3.Connection, here: sqlite3.Connection, place: Place
) -> Difference | None:
    """Return where two stores differ in an episode; None if they hold the same of it.

    The words call the first store ``there`` and the second one ``here``.
    """
    for table in OF_EPISODES:
        one, other = (_rows(db, table, place) for db in (there, here))
        if one != other:
            return Difference(table, excerpt(_words(table, one, other), _MOST))
    return None


def reply_difference(there: bytes, here: bytes) -> str:
    """Return what differs in two packed replies to one request, in a few words; empty: nothing.

    Examples
    --------
    >>> from tomeval.runs.packing import pack
    >>> one, other = pack('{"text": "J", "latency": 1}'), pack('{"text": "J", "latency": 2}')
    >>> reply_difference(one, other), reply_difference(one, pack('{"text": "F"}'))
    ('', 'text is "J" there, "F" here')
    """
    one, other = said(there), said(here)
    if one == other:
        return ""
    return excerpt(differing_words(json.loads(one), json.loads(other)), _MOST)


def _rows(db: sqlite3.Connection, table: str, place: Place) -> list[dict[str, Any]]:
    """Return an episode's rows in a table, by column, in the order of their keys."""
    order = ", ".join(_KEYS.get(table, ("episode",)))
    cursor = db.execute(
        f"SELECT * FROM {table} WHERE cell = ? AND episode = ? ORDER BY {order}", place
    )
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    for row in rows:
        row.pop("origin", None)
        if table == "calls":
            row["record"] = said(row["record"])
    return rows


def _words(table: str, there: list[dict[str, Any]], here: list[dict[str, Any]]) -> str:
    """Say in a few words what differs in the rows of a table."""
    if len(there) != len(here):
        return f"{len(there):,} rows there, {len(here):,} here"
    one, other = next((a, b) for a, b in zip(there, here, strict=True) if a != b)
    at = ", ".join(f"{name} {one[name]}" for name in _KEYS.get(table, ()))
    if table == "calls" and one["record"] != other["record"]:
        one, other = ({"record": json.loads(row["record"])} for row in (one, other))
    words = differing_words(one, other)
    return f"{at}: {words}" if at else words
