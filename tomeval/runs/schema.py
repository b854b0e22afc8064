"""The tables of a run's store, shared by all domains, with each domain's own columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tomeval.runs.domain import Schema

SCHEMA_VERSION = 6

_EPISODE = "cell INTEGER NOT NULL, episode INTEGER NOT NULL"
_TABLES = {
    "meta": "key TEXT PRIMARY KEY, value TEXT NOT NULL",
    "revisions": "model TEXT PRIMARY KEY, revision TEXT NOT NULL",
    "origins": "origin INTEGER PRIMARY KEY, replica TEXT NOT NULL, host TEXT NOT NULL, "
    "device TEXT NOT NULL, versions TEXT NOT NULL",
    "cells": "cell INTEGER PRIMARY KEY, seed INTEGER NOT NULL, on_invalid TEXT NOT NULL, "
    "definition TEXT NOT NULL{cells}",
    "episodes": f"{_EPISODE}, status TEXT NOT NULL, steps INTEGER NOT NULL{{episodes}}, "
    "origin INTEGER NOT NULL, PRIMARY KEY (cell, episode), FOREIGN KEY (cell) REFERENCES cells, "
    "FOREIGN KEY (origin) REFERENCES origins",
    "steps": f"{_EPISODE}, step INTEGER NOT NULL{{steps}}, PRIMARY KEY (cell, episode, step)",
    "answers": f"{_EPISODE}, step INTEGER NOT NULL, seat TEXT NOT NULL, question TEXT NOT NULL, "
    "outcome TEXT NOT NULL, attempts INTEGER NOT NULL, value TEXT, raw TEXT NOT NULL, "
    "PRIMARY KEY (cell, episode, step, seat, question)",
    "calls": f"{_EPISODE}, call INTEGER NOT NULL, step INTEGER NOT NULL, seat TEXT NOT NULL, "
    "form TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (cell, episode, call)",
    "spent": f"{_EPISODE}, made INTEGER NOT NULL, said TEXT NOT NULL, PRIMARY KEY (cell, episode)",
    "answered": f"{_EPISODE}, seat TEXT NOT NULL, request TEXT NOT NULL, reply BLOB NOT NULL, "
    "sum INTEGER NOT NULL, PRIMARY KEY (cell, episode, seat, request)",
    "sums": f"{_EPISODE}, sum INTEGER NOT NULL, PRIMARY KEY (cell, episode)",
    "marks": "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
}
_WITH_ROWID = ("cells", "origins", "calls", "answered")
"""Their key is the row's number, or rows can be long: without such a number SQLite gives each of
those at least a page of its own."""

UNKNOWN = 0
"""The number of the origin that says nothing, of episodes from elsewhere."""


def schema_sql(schema: Schema) -> str:
    """Return the statements that make the tables of a domain's store."""
    return ";\n".join([*_tables_sql(schema).values(), schema.views.strip()])


def _tables_sql(schema: Schema) -> dict[str, str]:
    def columns(typed: Mapping[str, str]) -> str:
        return "".join(f", {name} {kind}" for name, kind in typed.items())

    typed = {name: columns(getattr(schema, name)) for name in ("cells", "episodes", "steps")}
    return {
        name: f"CREATE TABLE {name} ({text.format(**typed)})"
        + " WITHOUT ROWID" * (name not in _WITH_ROWID)
        for name, text in _TABLES.items()
    }


def strange_part(there: Sequence[tuple[str, str, str | None]], schema: Schema | None) -> str:
    """Return a table, view or trigger of a store that is not as a run has it; empty: there is none.

    Parameters
    ----------
    there : sequence of (type, name, sql)
        As ``sqlite_master`` has them. Of views only the names are looked at, for readers have
        their own.
    schema : Schema or None
        None: only the tables are looked at that say of which domain the store is.
    """
    own = _tables_sql(schema or Schema({}, {}, {}, ""))
    if schema is None:
        missing = (n for n in ("meta", "marks") if ("table", n, own[n]) not in there)
        return next((f"the table {name}" for name in missing), "")
    views = re.findall(r"CREATE VIEW (\w+)", schema.views)
    wanted = {("table", name, sql) for name, sql in own.items()}
    for kind, name, sql in there:
        if (kind == "view" and name in views) or (kind == "index" and sql is None):
            continue
        if (kind, name, sql) not in wanted:
            return f"the {kind} {name}"
    return next((f"the table {name}" for _, name, _ in sorted(wanted - {*there})), "")
