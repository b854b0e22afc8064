"""Ask a run by SQL: its records as tables in memory, a second way to count what they hold."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager


def query(run, sql: str, parameters=()) -> list[tuple]:
    """Return the rows of a query, see `database`."""
    with database(run) as db:
        return db.execute(sql, parameters).fetchall()


@contextmanager
def database(run) -> Iterator[sqlite3.Connection]:
    """Give the tables episodes, steps, answers, asked, calls, cells and step_records of a run.

    Lists and objects are JSON, records of calls too.
    """
    with closing(sqlite3.connect(":memory:")) as db:
        for name, (columns, rows) in _tables(getattr(run, "store", run)).items():
            db.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            plain = (tuple(map(_plain, columns, row)) for row in rows)
            db.executemany(f"INSERT INTO {name} VALUES ({marks})", plain)
        yield db


def _tables(store) -> dict[str, tuple[list[str], list[tuple]]]:
    schema, played = store.domain.schema, store.played_cells()
    asked = ["step", "seat", "question", "outcome", "attempts"]
    tables = {}
    for name, own in (
        ("episodes", ["status", "steps", *schema.episodes]),
        ("steps", ["step", *schema.steps]),
        ("answers", [*asked, "value", "raw"]),
        ("asked", asked),
    ):
        rows = [(c, *row) for c in played for row in store.read(name, ("episode", *own), c)]
        tables[name] = ["cell", "episode", *own], rows
    places = [(cell, episode) for cell in played for episode in store.episodes(cell)]
    calls = [(*place, n, *call) for place in places for n, call in enumerate(store.calls(*place))]
    tables["calls"] = ["cell", "episode", "call", "step", "seat", "form", "record"], calls
    own = {number: store.domain.columns(told) for number, told in store.cells()}
    names = list(own[0])
    cells = [(n, told, *(own[n][name] for name in names)) for n, told in store.cells()]
    tables["cells"] = ["cell", "definition", *names], cells
    read = (store.domain.run_cell(store, *cell) for cell in store.cells())
    records = [row for cell in read for row in cell.step_rows()]
    names = list(records[0]) if records else ["cell"]
    tables["step_records"] = names, [tuple(map(row.get, names)) for row in records]
    return tables


def _plain(name: str, value):
    data = isinstance(value, list | dict) or (name in ("action", "reply") and value is not None)
    return json.dumps(value, ensure_ascii=False) if data else value
