"""Convert a run folder of store version 1 to this version."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.runs.database import Database
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import make_folder
from tomeval.runs.store import OLD_STORES, SCHEMA_VERSION, STORE, Store, schema_sql

_OLD = {STORE: "matrix", **dict.fromkeys(OLD_STORES, "decrypto")}


def convert(old: Path, new: Path) -> Path:
    """Copy a run of store version 1 into the folder `new` and return it; `old` is not changed.

    Every row is kept. The run can be resumed if prompts and players are still the same.

    Raises
    ------
    TomevalError
        `old` is not a run of version 1, or `new` is not empty.
    """
    source = next((old / name for name in _OLD if (old / name).is_file()), None)
    if source is None:
        raise TomevalError(f"{old}: not a run folder (no {' or '.join(_OLD)} in it)")
    if source.name == STORE and _is_current(source):
        raise TomevalError(f"{old}: is of this version already; there is nothing to convert")
    domain = get_domain(_OLD[source.name])
    if new.exists() and any(new.iterdir()):
        raise TomevalError(f"{new}: is not empty; name a new folder")
    Database(source, 1).close()
    make_folder(new)
    uri = f"{source.resolve().as_uri()}?mode=ro"
    copied = new / "old.sqlite"  # includes what is still in the log
    with closing(sqlite3.connect(uri, uri=True)) as log, closing(sqlite3.connect(copied)) as copy:
        log.backup(copy)
    database = Database(new / STORE, SCHEMA_VERSION, schema_sql(domain.schema))
    try:
        named = f"INSERT INTO meta VALUES ('domain', '{json.dumps(domain.name)}')"
        database.copy_from(copied, f"{domain.schema.upgrade};\n{named}")
    finally:
        database.close()
        copied.unlink()
    Store(new, domain).close()  # checks the copy, and writes its checksums
    with suppress(FileNotFoundError):
        shutil.copy(old / "sessions.json", new / "sessions.json")
    _experiment(old, new, domain.name)
    return new


def _is_current(store: Path) -> bool:
    try:
        Database(store, SCHEMA_VERSION).close()
    except TomevalError:
        return False
    return True


def _experiment(old: Path, new: Path, domain: str) -> None:
    """Write the experiment as this version does, if the old one can be read."""
    with suppress(OSError, ValueError):
        data = json.loads((old / "experiment.json").read_text(encoding="utf-8"))
        episodes = data.pop("games", None) or data.pop("episodes", None)
        resolved = {"domain": domain, "episodes": episodes, **data}
        write_text(new / "experiment.json", json.dumps(resolved, indent=1))
