"""What lies beside the stores of several run folders, put together for one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing, write_text
from tomeval.runs.checksums import holds
from tomeval.runs.startup import STARTUP
from tomeval.runs.store import SESSIONS

PEOPLE = "study.sqlite"
"""Who takes part in a study, see `tomeval.extensions.people.sessions`."""

LISTS = {SESSIONS: "started", STARTUP: "asked"}
"""Files with a list of objects, and what says when each was written."""


def entries(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the objects of a list beside a store that are what was written."""
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return [e for e in found if isinstance(e, dict) and holds(e)] if isinstance(found, list) else []


def put_lists_together(folders: Sequence[Path], out: Path) -> None:
    """Write into `out` every distinct entry of the lists of some folders, in order of time."""
    for name, when in LISTS.items():
        found = {
            (str(entry.get(when, "")), json.dumps(entry, sort_keys=True)): entry
            for folder in folders
            for entry in entries(folder, name)
        }
        ordered = [found[key] for key in sorted(found)]
        if ordered and ordered != entries(out, name):
            write_text(out / name, json.dumps(ordered, indent=1))


def people_of(folders: Sequence[Path]) -> Path | None:
    """Return the folder with sessions of people; None without one.

    Raises
    ------
    TomevalError
        There are several: each gave the same places to other participants.
    """
    found = [folder for folder in folders if (folder / PEOPLE).exists()]
    if len(found) > 1:
        raise TomevalError(
            f"{found[1]}: people took part in it and in {found[0]}, and two studies cannot be "
            "merged; leave one of the two out"
        )
    return found[0] if found else None


def copy_people(folder: Path, out: Path) -> None:
    """Copy the sessions of people, with what is still in the log of their file."""
    with replacing(out / PEOPLE) as draft:
        _backup(folder / PEOPLE, draft)


def shards_in(folder: Path) -> set[str]:
    """Return the shards that a folder has sessions of, also merged ones; ``""``: of no shard."""
    return {str(entry.get("shard") or "") for entry in entries(folder, SESSIONS)}


def copy_store(source: Path, target: Path) -> None:
    """Copy a store; if part of it is still in its log, with that."""
    log = source.with_name(f"{source.name}-wal")
    if log.exists() and log.stat().st_size:
        _backup(source, target)
    else:
        shutil.copyfile(source, target)


def _backup(source: Path, target: Path) -> None:
    uri = f"{source.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as one, closing(sqlite3.connect(target)) as two:
        one.backup(two)
