"""Check a whole run folder against its checksums, and leave out of a store what is damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.runs.checksums import SEAL, of_rows, read_seal, read_signed
from tomeval.runs.database import Damaged, Database
from tomeval.runs.domain import Domain
from tomeval.runs.folder import is_damaged, locked, read_json
from tomeval.runs.origins import Origin
from tomeval.runs.rows import Rows
from tomeval.runs.schema import SCHEMA_VERSION
from tomeval.runs.spent import MADE
from tomeval.runs.startup import STARTUP
from tomeval.runs.store import (
    EXPERIMENT,
    SESSIONS,
    STORE,
    Store,
    strange,
)
from tomeval.runs.stored import identity_sha256, own_domain, read_meta
from tomeval.runs.sums import (
    SUMMED,
    Place,
    check_whole,
    damaged_replies,
    is_sound,
    rows_of,
    rows_of_no_episode,
)

NAMED = 20
"""How many damaged episodes are named before "and n more"."""


@dataclass
class Verified:
    """What became of a run folder's checksums.

    `intact` and `damaged` are its episodes; `replies` are those with damaged kept replies; `whole`
    says what else is wrong with the store, and `beside` with what lies beside it, one line each.
    """

    folder: Path
    intact: list[Place] = field(default_factory=list)
    damaged: list[Place] = field(default_factory=list)
    replies: list[Place] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)

    @property
    def episodes(self) -> int:
        """How many episodes are sound."""
        return len(self.intact)

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
    store, found = folder / STORE, Verified(folder)
    if not store.is_file() or not store.stat().st_size:
        Store(folder).close()  # says what is wrong
    for name in (EXPERIMENT, SESSIONS, STARTUP):
        if is_damaged(folder / name):
            found.beside.append(f"{folder / name}: damaged; the next tomeval run writes it anew")
    if not (folder / EXPERIMENT).exists():
        found.beside.append(f"{folder / EXPERIMENT}: missing; the next tomeval run writes it anew")
    seal = read_seal(folder)
    if seal is None and (folder / SEAL).exists():
        found.beside.append(f"{folder / SEAL}: damaged; the store is read without it, more slowly")
    try:
        with closing(Database(store, SCHEMA_VERSION)) as db:
            _domain(db, found)
            if why := strange(folder, _meta(db)):
                found.beside.append(why)
            try:
                check_whole(db, seal)
            except Damaged as error:
                found.whole.append(str(error))
            _check_rows(db, found)
    except TomevalError as error:
        found.whole.append(str(error))
    return found


def _domain(db: Database, found: Verified) -> Domain:
    """Return a store's domain, by the file beside it where the store's own word is damaged."""
    try:
        return own_domain(db)
    except TomevalError as error:
        beside = read_signed(found.folder / EXPERIMENT)
        if not isinstance(beside, dict) or "domain" not in beside:
            raise
        domain = own_domain(db, str(beside["domain"]))
        found.whole.append(str(error))
        return domain


def _meta(db: Database) -> dict[str, Any]:
    """Return what a store says of itself; nothing if that cannot be read."""
    try:
        return read_meta(db)
    except Damaged:
        return {}


def _check_rows(db: Database, found: Verified) -> None:
    """Check every episode and kept reply, as far as their lists can be read."""
    sql = "SELECT cell, episode, sum FROM sums"
    sums = {row[:2]: row[2] for row in _readable(db, sql, found.whole)}
    places = sums.keys() | set(_readable(db, "SELECT cell, episode FROM episodes", found.whole))
    for place in sorted(filter(_is_place, places)):
        sound = is_sound(db, place, sums.get(place))
        (found.intact if sound else found.damaged).append(place)
    store = found.folder / STORE
    try:
        orphaned = rows_of_no_episode(db)
        found.replies += filter(_is_place, replies := list(damaged_replies(db)))
    except Damaged as error:
        found.whole.append(str(error))
        return
    if orphaned or len(places) > found.episodes + len(found.damaged):
        found.whole.append(f"{store}: the table {orphaned or 'episodes'} has rows of no episode")
    if len(found.replies) < len(replies):
        found.whole.append(f"{store}: it has kept replies of no episode")


def _readable(db: Database, sql: str, trouble: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield a query's rows until they cannot be read any more."""
    try:
        yield from db.iterate(sql)[1]
    except Damaged as error:
        trouble.append(str(error))


def _is_place(place: tuple[Any, ...]) -> bool:
    """Tell whether these are numbers of a cell and an episode; damage puts anything there."""
    return all(isinstance(number, int) for number in place)


def drop_damaged(folder: Path, found: Verified) -> Iterator[str]:
    """Put a store with what is sound in place of a damaged one, which is kept; tell of it.

    Raises
    ------
    TomevalError
        The list of cells is lost, or the folder is in use or cannot be written.
    """
    store, draft = folder / STORE, folder / ".sound"
    aside = store.with_name(f"{STORE}.damaged")
    with locked(folder), _drafted(folder, draft):
        with closing(Database(store, SCHEMA_VERSION)) as db:
            _copy_sound(db, draft, found)
        os.replace(store, aside)
        for extra in ("-wal", "-shm", "-journal"):
            store.with_name(f"{STORE}{extra}").unlink(missing_ok=True)
        for name in (SEAL, STORE):
            os.replace(draft / name, folder / name)
    yield f"{store}: {found.episodes:,} sound episodes; the damaged store is kept as {aside.name}"
    yield "run the same experiment into the folder again to play what is missing"


@contextmanager
def _drafted(folder: Path, draft: Path) -> Iterator[None]:
    """Word what the disk refuses, and leave no draft."""
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        yield
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy_sound(db: Database, draft: Path, found: Verified) -> None:
    """Write a store into the folder `draft` with all that is sound."""
    domain, meta = _domain(db, Verified(found.folder)), _meta(db)
    known: list[str] = []  # `found` has said it
    identity = _identity(db, meta, found.folder)
    with closing(Store(draft, domain)) as copy:
        part = {key: str(meta[key]) for key in ("part",) if key in meta}
        copy.begin(identity, identity_sha256(identity), **part)
        for model, revision in _readable(db, "SELECT model, revision FROM revisions", known):
            copy.check_revision(model, revision)
        origins = {
            number: Origin.of(row)
            for number, *row in _readable(
                db, "SELECT origin, replica, host, device, versions FROM origins", known
            )
        }
        for place in found.intact:
            rows, number = _rows(db, place)
            copy.add(place[0], rows, copy.origin(*origins.get(number, Origin())))
        done = copy.finished()
        sql = "SELECT cell, episode, seat, request, reply, sum FROM answered"
        for *reply, checksum in _readable(db, sql, known):
            cell, episode = reply[:2]
            if of_rows([tuple(reply)]) == checksum and episode not in done.get(cell, ()):
                copy.keep_replies([(cell, episode, *reply[2:])])


def _rows(db: Database, place: Place) -> tuple[Rows, int]:
    """Return an episode as it is added to a store, and the number of its origin."""
    (episode,), steps, answers, calls, spent = (rows_of(db.query, t, place) for t in SUMMED)
    said = {number: text for _, number, made, text in spent if made == MADE}
    return Rows(place[0], [episode[1:-1]], steps, answers, calls, said), int(episode[-1])


def _identity(db: Database, meta: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the experiment: from its store, or from the file beside it."""
    try:
        rows = db.query("SELECT definition FROM cells ORDER BY cell")
        identity = {"name": meta["name"], "cells": [json.loads(text) for (text,) in rows]}
        if identity_sha256(identity) == meta["sha256"]:
            return identity
    except (Damaged, KeyError, TypeError, ValueError, RecursionError):
        pass
    data = read_json(folder / EXPERIMENT)
    if not (isinstance(data, dict) and {"domain", "name", "cells"} <= data.keys()):
        raise TomevalError(
            f"{folder / STORE}: its list of cells is damaged, and {EXPERIMENT} does not have it "
            "either; restore the folder from a copy or start over in another one"
        )
    return {"name": data["name"], "cells": data["cells"]}
