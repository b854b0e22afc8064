"""Copy a run folder as it is at one moment."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_bytes
from tomeval.runs import checksums
from tomeval.runs.places.checkpoint import is_plain
from tomeval.runs.seal import NAME as SEAL
from tomeval.runs.seal import Seal
from tomeval.runs.store import HOLDER, LIVE, LOCK, STORE


def copy_folder(folder: Path, target: Path) -> int:
    """Copy a run folder as it is at one moment, also while it is written; return its commits.

    The copy of the store is sealed, and whole without a log. Nothing is copied, and -1 returned, if
    there is no store yet.
    """
    store, copy = folder / STORE, target / STORE
    if not store.exists() or not store.stat().st_size:
        return -1
    uri = f"{store.resolve().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(uri, uri=True, timeout=600)) as source,
            closing(sqlite3.connect(copy)) as drawn,
        ):
            source.backup(drawn)
            found = drawn.execute("SELECT value FROM marks WHERE name = 'commits'").fetchone()
    except sqlite3.Error as error:
        raise TomevalError(f"{store}: cannot be copied ({error})") from None
    for log in ("-wal", "-shm", "-journal"):
        copy.with_name(f"{copy.name}{log}").unlink(missing_ok=True)
    commits = int(found[0])
    seal = Seal(commits, copy.stat().st_size, checksums.of_file(copy))
    write_bytes(target / SEAL, seal.line())
    for path in folder.iterdir():
        own = path.name in (LOCK, HOLDER, LIVE, SEAL) or path.name.startswith((STORE, "."))
        if path.is_file() and not own and is_plain(path.name):
            with suppress(FileNotFoundError):
                shutil.copyfile(path, target / path.name)
    return commits
