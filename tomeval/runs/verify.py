"""Check a whole run folder against its checksums, and leave out of a store what is damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.runs.checksums import SEAL, Place, damage, of_rows, read_signed
from tomeval.runs.database import Database
from tomeval.runs.folder import locked, share_of
from tomeval.runs.schema import SCHEMA_VERSION, UNKNOWN
from tomeval.runs.store import EXPERIMENT, SESSIONS, STORE, Store, strange
from tomeval.runs.stored import Stored, identity_sha256, own_domain, read_meta

NAMED = 20
"""How many damaged episodes are named before "and n more"."""


@dataclass
class Verified:
    """What became of a run folder's checksums.

    `damaged` are episodes; `replies` are those with damaged kept replies; `whole` says what else
    is wrong with the store, and `beside` with what lies beside it, one line each.
    """

    folder: Path
    episodes: int = 0  # sound ones
    damaged: list[Place] = field(default_factory=list)
    replies: list[Place] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)

    @property
    def store_sound(self) -> bool:
        """Whether nothing is damaged in the store."""
        return not (self.damaged or self.replies or self.whole)

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged."""
        return self.store_sound and not self.beside

    def lines(self) -> Iterator[str]:
        """Yield what was found, in words."""
        store = self.folder / STORE
        yield from self.beside
        yield from self.whole
        for cell, episode in self.damaged[:NAMED]:
            yield f"{store}: episode {episode} of cell {cell} is damaged"
        if len(self.damaged) > NAMED:
            yield f"and {len(self.damaged) - NAMED:,} more episodes"
        for cell, episode in sorted(set(self.replies)):
            yield f"{store}: a kept reply of episode {episode} of cell {cell} is damaged"
        yield f"episodes: {self.episodes:,} sound, {len(self.damaged):,} damaged"
        if not self.store_sound:
            yield f"tomeval verify {self.folder} --drop leaves out what is damaged"


def verified(folder: Path) -> Verified:
    """Check all that a run folder holds.

    Raises
    ------
    TomevalError
        There is no run, or one of another version.
    """
    store, report = folder / STORE, Verified(folder)
    if not store.is_file() or not store.stat().st_size:
        Store(folder).close()  # says what is wrong
    for name in (EXPERIMENT, SESSIONS):
        if (folder / name).exists() and read_signed(folder / name) is None:
            report.beside.append(f"{folder / name}: damaged; the next tomeval run writes it anew")
    if not (folder / EXPERIMENT).exists():
        report.beside.append(f"{folder / EXPERIMENT}: missing; the next tomeval run writes it anew")
    try:
        with closing(Database(store, SCHEMA_VERSION)) as db:
            try:
                own_domain(db)
            except TomevalError as error:
                report.whole.append(str(error))
                own_domain(db, _said(folder, db)["domain"])
            for what, episode, reply in damage(db):
                if episode is not None:
                    (report.replies if reply else report.damaged).append(episode)
                else:
                    report.whole.append(f"{store}: {what} is not what was written")
            known = "SELECT cell, episode FROM sums UNION SELECT cell, episode FROM episodes"
            report.episodes = len(db.query(known)) - len(report.damaged)
            if why := strange(folder, read_meta(db)):
                report.beside.append(why)
    except TomevalError as error:
        if str(error) not in report.whole:
            report.whole.append(str(error))
    return report


def _said(folder: Path, db: Database) -> dict[str, Any]:
    """Return what is said of the experiment beside a store, or in it if that is damaged."""
    beside = read_signed(folder / EXPERIMENT)
    return beside if isinstance(beside, dict) else read_meta(db)


def drop_damaged(folder: Path, found: Verified) -> Iterator[str]:
    """Put a store with what is sound in place of a damaged one, which is kept; tell of it.

    Raises
    ------
    TomevalError
        The list of cells is lost, or the folder is in use or cannot be written.
    """
    store, draft = folder / STORE, folder / ".sound"
    aside = store.with_name(f"{STORE}.damaged")
    with locked(folder):
        try:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            with closing(Database(store, SCHEMA_VERSION)) as db:
                taken = _copy_sound(db, draft, found)
            os.replace(store, aside)
            for extra in ("-wal", "-shm", "-journal"):
                store.with_name(f"{STORE}{extra}").unlink(missing_ok=True)
            for name in (SEAL, STORE):
                os.replace(draft / name, folder / name)
        except OSError as error:
            raise TomevalError(f"{folder}: cannot be written ({error.strerror or error})") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    yield f"{store}: {taken:,} sound episodes; the damaged store is kept as {aside.name}"
    yield "run the same experiment into the folder again to play what is missing"


def _copy_sound(db: Database, draft: Path, found: Verified) -> int:
    """Write a store into the folder `draft` with all that is sound; return how many episodes."""
    meta, old = _said(found.folder, db), Stored(db)
    identity = {"name": meta["name"], "cells": meta.get("cells")}
    if identity["cells"] is None:
        texts = db.query("SELECT definition FROM cells ORDER BY cell")
        identity["cells"] = [json.loads(text) for (text,) in texts]
    if identity_sha256(identity) != meta["sha256"]:
        raise db.damaged("its list of cells is damaged, and so is the file beside it")
    share = share_of(found.folder)
    part = {"part": share.part} if share else {}
    with closing(Store(draft, own_domain(db, str(meta["domain"])))) as copy:
        copy.begin(identity, identity_sha256(identity), **part)
        for model, revision in old.revisions().items():
            copy.check_revision(model, revision)
        origins = {number: copy.origin(*origin) for number, origin in old.origins().items()}
        bad, taken = {*found.damaged}, 0
        for key in db.query("SELECT cell, episode FROM sums ORDER BY cell, episode"):
            if key not in bad and all(isinstance(number, int) for number in key):
                rows, origin = old.played(*key)
                copy.add(key[0], rows, origins.get(origin, UNKNOWN))
                taken += 1
        done = copy.finished()
        for *reply, checksum in db.query("SELECT * FROM answered"):
            if of_rows([tuple(reply)]) == checksum and reply[1] not in done.get(reply[0], ()):
                copy.keep_replies([tuple(reply)])
    return taken
