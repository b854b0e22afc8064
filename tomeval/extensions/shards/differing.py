"""Whether two stores hold the same of an episode, and if not, where they differ.

Where it was played does not count, nor what records say of the machine: how long a reply took, and
how many tokens had been read before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tomeval.core.text import both_ends
from tomeval.runs.domain import Domain
from tomeval.runs.folder import differing_words
from tomeval.runs.rows import Rows
from tomeval.runs.schema import unpack

_KEYS = {"steps": ("step",), "answers": ("step", "seat", "question"), "calls": ("call",)}
_MOST = 160
"""The most characters of a difference that are shown."""


def difference(domain: Domain, there: Rows, here: Rows) -> str:
    """Return in a few words where two stores differ in an episode; empty: they do not."""
    columns = {
        "episodes": ("status", "steps", *domain.read.schema.episodes),
        "steps": ("step", *domain.read.schema.steps),
        "answers": ("step", "seat", "question", "outcome", "attempts", "value", "raw"),
        "calls": ("call", "step", "seat", "form", "record"),
    }
    for table, names in columns.items():
        both = []
        for rows in (getattr(there, table), getattr(here, table)):
            named = [dict(zip(names, row[-len(names) :], strict=True)) for row in rows]
            for row in named if table == "calls" else ():
                row["record"] = json.loads(said(row["record"]))
            both.append(named)
        if both[0] != both[1]:
            return f"in {table}: {both_ends(_words(_KEYS.get(table, ()), *both), _MOST)}"
    return ""


def _words(keys: Sequence[str], there: list[dict[str, Any]], here: list[dict[str, Any]]) -> str:
    """Say in a few words what differs in the rows of a table."""
    if len(there) != len(here):
        return f"{len(there):,} rows there, {len(here):,} here"
    one, other = next((a, b) for a, b in zip(there, here, strict=True) if a != b)
    at = ", ".join(f"{name} {one[name]}" for name in keys)
    words = differing_words(one, other)
    return f"{at}: {words}" if at else words


def reply_difference(there: bytes, here: bytes) -> str:
    """Return what differs in two packed replies to one request, in a few words; empty: nothing."""
    one, other = said(there), said(here)
    if one == other:
        return ""
    return both_ends(differing_words(json.loads(one), json.loads(other)), _MOST)


_MEASURED = ("latency", "cached")
"""What a record says of the machine: seconds, and tokens that the model had read before."""


def said(record: bytes) -> str:
    """Return a packed record without what it says of the machine."""

    def bare(data: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key not in _MEASURED}

    return json.dumps(json.loads(unpack(record), object_hook=bare), sort_keys=True)
