"""The tables of a run's store, shared by all domains, with each domain's own columns."""

from __future__ import annotations

from collections.abc import Mapping

from tomeval.runs.domain import Schema
from tomeval.runs.guard import OF_EPISODES
from tomeval.runs.spent import SQL as SPENT

SCHEMA_VERSION = 4

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
    "spent": SPENT,
    "answered": f"{_EPISODE}, seat TEXT NOT NULL, request TEXT NOT NULL, reply BLOB NOT NULL, "
    "sum INTEGER NOT NULL, PRIMARY KEY (cell, episode, seat, request)",
    "sums": f"{_EPISODE}, {', '.join(f'{name} INTEGER NOT NULL' for name in OF_EPISODES)}, "
    "PRIMARY KEY (cell, episode)",
    "marks": "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
}
_WITH_ROWID = ("cells", "origins", "calls", "answered")
"""Their key is the row's number, or rows can be long: without such a number SQLite gives each of
those at least a page of its own."""

UNKNOWN = 0
"""The number of the origin that says nothing, of episodes from elsewhere."""


def schema_sql(schema: Schema) -> str:
    """Return the statements that make the tables of a domain's store."""

    def columns(typed: Mapping[str, str]) -> str:
        return "".join(f", {name} {kind}" for name, kind in typed.items())

    typed = {name: columns(getattr(schema, name)) for name in ("cells", "episodes", "steps")}
    tables = [
        f"CREATE TABLE {name} ({text.format(**typed)})"
        + " WITHOUT ROWID" * (name not in _WITH_ROWID)
        for name, text in _TABLES.items()
    ]
    return ";\n".join([*tables, schema.views.strip()])
