"""Convert a run folder of an earlier store version to this version."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.runs.database import Database
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import make_folder
from tomeval.runs.schema import SCHEMA_VERSION, UNKNOWN, schema_sql
from tomeval.runs.startup import STARTUP
from tomeval.runs.store import EXPERIMENT, OLD_STORES, SESSIONS, STORE, Store

if TYPE_CHECKING:
    from tomeval.runs.domain import Domain

_OLD = {STORE: "matrix", **dict.fromkeys(OLD_STORES, "decrypto")}
"""What stores of version 1 are called, and of which domain they are."""

_ORIGIN = f"INSERT INTO origins VALUES ({UNKNOWN}, '', '', '', '{{}}')"
_FROM_2 = """
INSERT INTO meta SELECT key, value FROM old.meta;
INSERT INTO cells SELECT * FROM old.cells;
INSERT INTO revisions SELECT model, revision FROM old.revisions;
INSERT INTO episodes SELECT *, 0 FROM old.episodes;
INSERT INTO steps SELECT * FROM old.steps;
INSERT INTO answers SELECT * FROM old.answers;
INSERT INTO calls SELECT cell, episode, call, step, seat, form, packed(record) FROM old.calls;
INSERT INTO answered SELECT cell, episode, seat, request, packed(reply) FROM old.answered
""".strip()


def convert(old: Path, new: Path) -> Path:
    """Copy a run of an earlier version into the folder `new` and return it; `old` is not changed.

    Every row is kept. They are copied one after the other: of an episode no more than its number
    is in memory. The run can be resumed if prompts and players are still the same. `new` appears
    when it is complete.

    Raises
    ------
    TomevalError
        `old` is not a run of an earlier version, or is damaged, or `new` is not empty.
    """
    source = next((old / name for name in _OLD if (old / name).is_file()), None)
    if source is None:
        raise TomevalError(f"{old}: not a run folder (no {' or '.join(_OLD)} in it)")
    version = _version(source)
    if version == SCHEMA_VERSION:
        raise TomevalError(f"{old}: is of this version already; there is nothing to convert")
    if new.exists() and (not new.is_dir() or any(new.iterdir())):
        raise TomevalError(f"{new}: is not empty; name a new folder")
    domain = get_domain(_OLD[source.name]) if version == 1 else _sound(old)
    make_folder(new)
    place = new.resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        draft.mkdir()
        copy_store(source, version, domain, draft)
        for name in (SESSIONS,) if version == 1 else (SESSIONS, EXPERIMENT, STARTUP):
            with suppress(FileNotFoundError):
                shutil.copyfile(old / name, draft / name)
        if version == 1:
            _experiment(old, draft, domain.name)
        os.replace(draft, place)
    except OSError as error:
        raise TomevalError(f"{new}: cannot be made ({error.strerror or error})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return new


def copy_store(source: Path, version: int, domain: Domain, new: Path) -> None:
    """Write a store of an earlier version into an empty folder as one of this version.

    A run that plays into the old one meanwhile is copied as it is at one moment.
    """
    copy, named = domain.schema.upgrade, f"('domain', '{json.dumps(domain.name)}')"
    statements = f"{copy};\nINSERT INTO meta VALUES {named}" if version == 1 else _FROM_2
    with (
        closing(Database(source, (version,))) as old,
        closing(Database(new / STORE, (SCHEMA_VERSION,), schema_sql(domain.schema))) as made,
    ):
        made.copy_from(old, f"{_ORIGIN};\n{statements}")
    with closing(Store(new, domain)) as store:  # checks the copy, and writes its checksums
        store.count_spent()


def _version(store: Path) -> int:
    """Return the version of a store; raise `TomevalError` if it has none that this one knows."""
    database = Database(store, tuple(range(1, SCHEMA_VERSION + 1)))
    try:
        return database.version
    finally:
        database.close()


def _sound(folder: Path) -> Domain:
    """Return the domain of a run that is read as it is; damage must not become sound by a copy."""
    store = Store(folder)
    try:
        store.guard.check_all()
        return store.domain
    finally:
        store.close()


def _experiment(old: Path, new: Path, domain: str) -> None:
    """Write the experiment as this version does, if the old one can be read."""
    with suppress(OSError, ValueError):
        data = json.loads((old / "experiment.json").read_text(encoding="utf-8"))
        episodes = data.pop("games", None) or data.pop("episodes", None)
        resolved = {"domain": domain, "episodes": episodes, **data}
        write_text(new / "experiment.json", json.dumps(resolved, indent=1))
