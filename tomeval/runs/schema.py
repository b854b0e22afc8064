"""The tables of a run's store, shared by all domains, with each domain's own columns."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tomeval.core.resources import read_text

MOST = 1 << 26
"""Bytes that a text may have; far above any prompt, and no more than one can be read."""

_BRACKETS = 300
"""With fewer no text is nested too deeply."""

_PLAIN, _DEFLATED = b"\0", b"\1"
_WINDOW, _MEMORY, _LEVEL = -14, 6, 6
"""Of `zlib`: 16 kB hold the vocabulary and a record, and a small state is soon copied."""


class Unpackable(ValueError):
    """Bytes that `pack` cannot have made."""


def pack(text: str) -> bytes:
    r"""Return a text as bytes, the smaller of plain and compressed.

    Examples
    --------
    >>> pack("J")
    b'\x00J'
    >>> record = '{"purpose": "act", "kind": "qa", "step": 1, "prompt_same": 0}'
    >>> len(record), len(pack(record)) < 30, unpack(pack(record)) == record
    (61, True, True)
    """
    data = text.encode()
    machine = _deflating().copy()
    packed = machine.compress(data) + machine.flush()
    return _DEFLATED + packed if len(packed) < len(data) else _PLAIN + data


def unpack(packed: bytes) -> str:
    """Return the text that was packed.

    Raises
    ------
    Unpackable
        An unknown first byte, damaged bytes, more than `MOST` bytes of text, or JSON that is nested
        too deeply.
    """
    text = _unpack(packed)
    if text.count("[") + text.count("{") > _BRACKETS:
        try:
            json.loads(text)
        except RecursionError:
            raise Unpackable("a packed text is nested too deeply") from None
        except ValueError:  # for those who read it
            pass
    return text


def _unpack(packed: bytes) -> str:
    form, rest = packed[:1], packed[1:]
    try:
        if form == _PLAIN:
            return rest.decode()
        if form != _DEFLATED:
            raise Unpackable(f"a packed text of the unknown form {form!r}")
        machine = _inflating().copy()
        data: bytes = machine.decompress(rest, MOST + 1)
        if len(data) > MOST:
            raise Unpackable(f"a packed text has more than {MOST:,} bytes")
        if not machine.eof:
            raise Unpackable("a packed text is cut off")
        return data.decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise Unpackable(f"a packed text cannot be read: {error}") from None


def pack_json(data: Any) -> bytes:
    """Return JSON-ready data packed."""
    return pack(json.dumps(data))


def unpacked(value: Any) -> Any:
    """Return what the SQL function ``unpacked`` does: text of packed bytes, all else as it is."""
    return unpack(value) if isinstance(value, bytes) else value


def readable(value: Any) -> Any:
    """Return what the SQL function ``readable`` does: JSON that SQLite reads, of what is packed.

    Python writes numbers that JSON does not have, such as the log-probability of a label that
    cannot be said: they become null.
    """
    text = unpacked(value)
    if isinstance(text, str) and ("Infinity" in text or "NaN" in text):
        for word in ("-Infinity", "Infinity", "NaN"):
            text = text.replace(word, "null")
    return text


@cache
def _vocabulary() -> bytes:
    """Return what records are made of, the commonest last: `zlib` refers to it from the start.

    Stores hold no copy of it: not a byte of the file may ever change. A better one is another form.
    """
    return read_text(Path(__file__).with_name("vocabulary_1.txt")).strip().encode()


@cache
def _deflating() -> Any:
    """Return the machine that packs, in its first state: copying it is faster than making one."""
    return zlib.compressobj(
        _LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _vocabulary()
    )


@cache
def _inflating() -> Any:
    """Return the machine that unpacks, in its first state."""
    return zlib.decompressobj(_WINDOW, _vocabulary())


SCHEMA_VERSION = 7

_EPISODE = "cell INTEGER NOT NULL, episode INTEGER NOT NULL"
_TABLES = {
    "meta": "key TEXT PRIMARY KEY, value TEXT NOT NULL",
    "revisions": "model TEXT PRIMARY KEY, revision TEXT NOT NULL",
    "cells": "cell INTEGER PRIMARY KEY, seed INTEGER NOT NULL, on_invalid TEXT NOT NULL, "
    "definition TEXT NOT NULL{cells}",
    "episodes": f"{_EPISODE}, status TEXT NOT NULL, steps INTEGER NOT NULL{{episodes}}, "
    "PRIMARY KEY (cell, episode), FOREIGN KEY (cell) REFERENCES cells",
    "steps": f"{_EPISODE}, step INTEGER NOT NULL{{steps}}, PRIMARY KEY (cell, episode, step)",
    "answers": f"{_EPISODE}, step INTEGER NOT NULL, seat TEXT NOT NULL, question TEXT NOT NULL, "
    "outcome TEXT NOT NULL, attempts INTEGER NOT NULL, value TEXT, raw TEXT NOT NULL, "
    "PRIMARY KEY (cell, episode, step, seat, question)",
    "calls": f"{_EPISODE}, call INTEGER NOT NULL, step INTEGER NOT NULL, seat TEXT NOT NULL, "
    "form TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (cell, episode, call)",
    "spent": f"{_EPISODE}, said TEXT NOT NULL, PRIMARY KEY (cell, episode)",
    "answered": f"{_EPISODE}, seat TEXT NOT NULL, request TEXT NOT NULL, reply BLOB NOT NULL, "
    "sum INTEGER NOT NULL, PRIMARY KEY (cell, episode, seat, request)",
    "sums": f"{_EPISODE}, sum INTEGER NOT NULL, PRIMARY KEY (cell, episode)",
    "marks": "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
}
_WITH_ROWID = ("cells", "calls", "answered")
"""Their key is the row's number, or rows can be long: without such a number SQLite gives each of
those at least a page of its own."""


@dataclass
class Schema:
    """A domain's own columns of the store, as mappings of name to SQL type.

    Attributes
    ----------
    cells : mapping
        Columns that the views read: keys of `Read.columns` or of a definition.
    episodes, steps : mapping
        What a `Block` holds besides the shared columns, in this order. Lists of episodes show the
        first column of an episode, as `RunCell.shown_episode` gives it.
    views : str
        SQL of two views: ``step_records``, everything known of every step, and ``asked``, every
        question with ``cell, episode, step, seat, question, outcome, attempts``. Default: all
        columns, and `Block.answers`.
    shown : mapping
        SQL types of columns that only exports have, or have with another type. All others are text.
    """

    cells: Mapping[str, str] = field(default_factory=dict)
    episodes: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)
    views: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        of_cells = "".join(f"c.{name}, " for name in self.cells)
        of_episodes = "".join(f"e.{name}, " for name in self.episodes)
        self.views = self.views or (
            f"CREATE VIEW step_records AS SELECT {of_cells}s.*, {of_episodes}e.status FROM steps s "
            "JOIN episodes e USING (cell, episode) JOIN cells c USING (cell);\n"
            "CREATE VIEW asked AS SELECT cell, episode, step, seat, question, outcome, attempts "
            "FROM answers"
        )


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
