"""From which of several stores each episode is taken, and each reply that is kept.

An episode that is over goes before one that people have begun, and that before a failed one. Two
that are over must be the same. What is taken never depends on the order of the stores: of two that
are as good, the one with the smaller checksums is.

All of this lies in temporary tables of one connection, so memory does not grow with the episodes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED, UNFINISHED
from tomeval.runs.checksums import of_rows
from tomeval.runs.spread.differing import difference, reply_difference

Columns = Mapping[str, Sequence[str]]
"""Names of the columns of every table."""

BASE = 0
"""The number of the store that others are merged into; those have the numbers from 1."""


def prepare(db: sqlite3.Connection) -> None:
    """Make the temporary tables, and the functions that fill them."""
    db.create_function("checksum", -1, lambda *row: of_rows([row]), deterministic=True)
    db.create_function("worth", 1, _worth, deterministic=True)
    db.execute(
        "CREATE TEMP TABLE chosen (cell INTEGER, episode INTEGER, store INTEGER, worth INTEGER, "
        "content INTEGER, own INTEGER, origin INTEGER, "
        "PRIMARY KEY (cell, episode)) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TEMP TABLE replies (cell INTEGER, episode INTEGER, seat TEXT, request TEXT, "
        "store INTEGER, sum INTEGER, PRIMARY KEY (cell, episode, seat, request)) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TEMP TABLE renumbered (store INTEGER, origin INTEGER, number INTEGER, "
        "PRIMARY KEY (store, origin)) WITHOUT ROWID"
    )


def _worth(status: str) -> int:
    return {FAILED: 0, UNFINISHED: 1}.get(status, 2)


def offered(columns: Columns, name: str, store: int) -> str:
    """Return SQL for what a store that is attached as `name` offers: the columns of ``chosen``.

    ``content`` is the episode's checksum without that of its own row, ``own`` is the checksum of
    this row without its origin.
    """
    whole = ", ".join(f"e.{column}" for column in columns["episodes"])
    own = ", ".join(f"e.{column}" for column in columns["episodes"] if column != "origin")
    number, join = "e.origin", ""
    if store != BASE:
        number, join = "r.number", f"JOIN renumbered r ON r.store = {store} AND r.origin = e.origin"
    return (
        f"SELECT e.cell, e.episode, {store} AS store, worth(e.status) AS worth, "
        f"s.sum - checksum({whole}) AS content, checksum({own}) AS own, {number} AS origin "
        f"FROM {name}.episodes e JOIN {name}.sums s USING (cell, episode) {join}"
    )


class Chooser:
    """Chooses among stores, which are offered one after the other.

    Parameters
    ----------
    db : Connection
        After `prepare`.
    folders : sequence of Path
        By the number of their store.
    uris : sequence of str
        How these stores are opened to be read.
    """

    def __init__(
        self, db: sqlite3.Connection, folders: Sequence[Path], uris: Sequence[str]
    ) -> None:
        self._db, self._folders, self._uris = db, folders, uris

    def episodes(self, columns: Columns, name: str, store: int) -> None:
        """Choose the episodes of a store that is attached as `name` where they are better.

        Raises
        ------
        TomevalError
            An episode is over in two stores and is not the same.
        """
        self._db.execute("DROP TABLE IF EXISTS temp.offered")
        self._db.execute(f"CREATE TEMP TABLE offered AS {offered(columns, name, store)}")
        both = self._db.execute(
            "SELECT cell, episode, c.store FROM offered o JOIN chosen c USING (cell, episode) "
            "WHERE o.worth = c.worth AND o.worth > 0 AND (o.content, o.own) != (c.content, c.own)"
        )
        for cell, episode, other in both:
            self._check_episode((cell, episode), other, store)
        parts = ("content", "own", "origin")
        mine = ", ".join(f"excluded.{part}" for part in parts)
        theirs = ", ".join(f"chosen.{part}" for part in parts)
        values = ("store", "worth", *parts)
        self._db.execute(
            "INSERT INTO chosen SELECT * FROM offered WHERE true ON CONFLICT DO UPDATE SET "
            f"{', '.join(f'{value} = excluded.{value}' for value in values)} "
            "WHERE excluded.worth > chosen.worth OR (excluded.worth = chosen.worth "
            f"AND chosen.store != {BASE} AND ({mine}) < ({theirs}))"
        )

    def replies(self, name: str, store: int) -> None:
        """Choose the kept replies of a store, of episodes that are over in none.

        Raises
        ------
        TomevalError
            A request has two replies that are not the same.
        """
        left = (
            f"{name}.answered a WHERE NOT EXISTS (SELECT 1 FROM chosen c WHERE c.cell = a.cell "
            "AND c.episode = a.episode AND c.worth > 0)"
        )
        self._db.execute("DROP TABLE IF EXISTS temp.offered")
        self._db.execute(
            "CREATE TEMP TABLE offered AS SELECT cell, episode, seat, request, "
            f"{store} AS store, sum FROM {left}"
        )
        keys = "cell, episode, seat, request"
        both = self._db.execute(
            f"SELECT {keys}, r.store FROM offered o JOIN replies r USING ({keys}) "
            "WHERE o.sum != r.sum"
        )
        for *key, other in both:
            self._check_reply(key, other, store)
        self._db.execute(
            "INSERT INTO replies SELECT * FROM offered WHERE true ON CONFLICT DO UPDATE SET "
            "store = excluded.store, sum = excluded.sum "
            f"WHERE replies.store != {BASE} AND excluded.sum < replies.sum"
        )

    def _check_episode(self, place: tuple[int, int], there: int, here: int) -> None:
        with self._two(there, here) as (one, other):
            found = difference(one, other, place)
        if found is not None:
            cell, episode = place
            raise self._refused(cell, episode, there, here, f"in {found.table}: {found.what}")

    def _check_reply(self, key: Sequence[Any], there: int, here: int) -> None:
        cell, episode, seat, _ = key
        sql = (
            "SELECT reply FROM answered WHERE cell = ? AND episode = ? AND seat = ? AND request = ?"
        )
        with self._two(there, here) as both:
            one, other = (db.execute(sql, tuple(key)).fetchone()[0] for db in both)
        if words := reply_difference(one, other):
            raise self._refused(
                cell, episode, there, here, f"in answered: a kept reply to {seat}: {words}"
            )

    def _refused(self, cell: int, episode: int, there: int, here: int, what: str) -> TomevalError:
        one, other = self._folders[there], self._folders[here]
        return TomevalError(
            f"{other}: episode {episode} of cell {cell} is not what it is in {one}, {what} (there: "
            f"{one}); nothing was merged. Leave one of the two out"
        )

    @contextmanager
    def _two(self, *stores: int) -> Iterator[list[sqlite3.Connection]]:
        """Open two stores to read single episodes of them."""
        with (
            closing(sqlite3.connect(self._uris[stores[0]], uri=True)) as one,
            closing(sqlite3.connect(self._uris[stores[1]], uri=True)) as other,
        ):
            yield [one, other]
