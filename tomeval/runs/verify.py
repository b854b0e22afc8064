"""Check a whole run folder against its checksums, and leave out of a store what is damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.runs.checksums import of_rows
from tomeval.runs.database import Database
from tomeval.runs.domain import Block, get_domain
from tomeval.runs.folder import is_damaged, locked, read_json
from tomeval.runs.guard import OF_EPISODES, Guard, Place, rows_sql
from tomeval.runs.origins import Origin
from tomeval.runs.packing import unpack
from tomeval.runs.schema import SCHEMA_VERSION
from tomeval.runs.seal import NAME, read_seal
from tomeval.runs.startup import STARTUP
from tomeval.runs.store import (
    EXPERIMENT,
    SESSIONS,
    STORE,
    Store,
    identity_sha256,
    strange,
)

NAMED = 20
"""How many damaged episodes are named before "and n more"."""


@dataclass
class Verified:
    """What became of a run folder's checksums.

    `episodes` counts those that are sound, `damaged` has the tables in which each of the others
    differs, by cell and episode; `replies` are the episodes with damaged kept replies; `whole` says
    what else is wrong with the store, and `beside` with what lies beside it, one line each.
    """

    folder: Path
    episodes: int = 0
    damaged: dict[Place, list[str]] = field(default_factory=dict)
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
        yield from self.beside
        yield from self.whole
        for cell, episode in sorted(self.damaged)[:NAMED]:
            tables = ", ".join(self.damaged[cell, episode])
            yield f"{self.folder / STORE}: episode {episode} of cell {cell} is damaged ({tables})"
        if len(self.damaged) > NAMED:
            yield f"and {len(self.damaged) - NAMED:,} more episodes"
        for cell, episode in sorted(set(self.replies)):
            where = f"episode {episode} of cell {cell}"
            yield f"{self.folder / STORE}: a kept reply of {where} is damaged"
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
    found = Verified(folder)
    if not (folder / STORE).is_file():
        Store(folder)  # says what is wrong
    for name in (EXPERIMENT, SESSIONS, STARTUP):
        if is_damaged(folder / name):
            found.beside.append(f"{folder / name}: damaged; the next tomeval run writes it anew")
    if not (folder / EXPERIMENT).exists():
        found.beside.append(f"{folder / EXPERIMENT}: missing; the next tomeval run writes it anew")
    try:
        with closing(_Opened(folder)) as opened:
            _check(opened, found)
    except TomevalError as error:
        if not (folder / STORE).stat().st_size:
            raise
        found.whole.append(str(error))
    return found


class _Opened:
    """A store that is open to be checked, with whatever is wrong in it."""

    def __init__(self, folder: Path) -> None:
        seal = read_seal(folder)
        self.db = Database(folder / STORE, SCHEMA_VERSION)
        self.guard = Guard(self.db, seal, strict=False)

    def close(self) -> None:
        """Close the store."""
        self.db.close()


def _check(opened: _Opened, found: Verified) -> None:
    """Check a store."""
    guard = opened.guard
    if why := strange(found.folder, _meta(opened.db)):
        found.beside.append(why)
    if (found.folder / NAME).exists() and read_seal(found.folder) is None:
        found.beside.append(
            f"{found.folder / NAME}: damaged; the store is read without it, more slowly"
        )
    found.whole += _told(guard.check_small)
    places = _places(opened.db, found)
    for table in OF_EPISODES:
        differing = _differing(guard, table, places)
        for place in filter(_is_place, differing):
            found.damaged.setdefault(place, []).append(table)
        if not all(map(_is_place, differing)):
            found.whole.append(f"{found.folder / STORE}: the table {table} has rows of no episode")
    found.episodes = len(places - found.damaged.keys())
    try:
        replies = list(guard.differing_replies())
        found.replies = list(filter(_is_place, replies))
        if len(found.replies) < len(replies):
            found.whole.append(f"{found.folder / STORE}: it has kept replies of no episode")
    except (TomevalError, TypeError, ValueError) as error:
        found.whole.append(str(error))
    if not found.replies:
        found.whole += _told(guard.check_replies)


def _places(db: Database, found: Verified) -> set[Place]:
    """Return all episodes that a store knows of, as far as it can be read."""
    places: set[Place] = set()
    for table in ("sums", "episodes"):
        try:
            places.update(db.iterate(f"SELECT cell, episode FROM {table}")[1])
        except TomevalError as error:
            found.whole.append(str(error))
    return set(filter(_is_place, places))


def _is_place(place: tuple[Any, ...]) -> bool:
    """Tell whether these are numbers of a cell and an episode; damage puts anything there."""
    return all(isinstance(number, int) for number in place)


def _differing(guard: Guard, table: str, places: set[Place]) -> list[Place]:
    """Return the episodes whose rows in a table are damaged, one by one if it cannot be scanned."""
    try:
        return list(guard.differing(table))
    except (TomevalError, TypeError, ValueError):
        return [place for place in sorted(places) if not _sound(guard, table, place)]


def _sound(guard: Guard, table: str, place: Place) -> bool:
    try:
        return guard.sound(table, place)
    except (TomevalError, TypeError, ValueError):
        return False


def _told(check: Callable[[], None]) -> list[str]:
    """Return what a check complains of, as lines."""
    try:
        check()
    except (TomevalError, TypeError, ValueError) as error:
        return [str(error)]
    return []


def drop_damaged(folder: Path, found: Verified) -> Iterator[str]:
    """Put a store with what is sound in place of a damaged one, which is kept; tell of it.

    Raises
    ------
    TomevalError
        The list of cells is lost, or the folder is in use or cannot be written.
    """
    store, draft = folder / STORE, folder / ".sound"
    aside = store.with_name(f"{STORE}.damaged")
    with locked(folder), _closing_files(folder, draft):
        with closing(_Opened(folder)) as opened:
            _copy_sound(opened, draft, found)
        os.replace(store, aside)
        for extra in ("-wal", "-shm", "-journal"):
            store.with_name(f"{STORE}{extra}").unlink(missing_ok=True)
        for name in (NAME, STORE):
            os.replace(draft / name, folder / name)
    yield f"{store}: {found.episodes:,} sound episodes; the damaged store is kept as {aside.name}"
    yield "run the same experiment into the folder again to play what is missing"


@contextmanager
def _closing_files(folder: Path, draft: Path) -> Iterator[None]:
    """Word what the disk refuses, and leave no draft."""
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        yield
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy_sound(opened: _Opened, draft: Path, found: Verified) -> None:
    """Write a store into the folder `draft` with all that is sound."""
    query = opened.db.query
    meta, identity = _identity(opened.db, found.folder)
    copy = Store(draft, get_domain(str(meta["domain"]), str(found.folder)))
    try:
        shard = {key: str(meta[key]) for key in ("shard",) if key in meta}
        copy.begin(identity, identity_sha256(identity), **shard)
        for model, revision in _readable(query, "SELECT model, revision FROM revisions"):
            copy.check_revision(model, revision)
        origins = {
            number: Origin.of(row)
            for number, *row in _readable(
                query, "SELECT origin, replica, host, device, versions FROM origins"
            )
        }
        for place in sorted(_places(opened.db, Verified(found.folder)) - found.damaged.keys()):
            rows = {table: query(rows_sql(table), place) for table in OF_EPISODES}
            *episode, number = rows["episodes"][0]
            rows["episodes"] = [tuple(episode)]
            copy.add(place[0], _block(rows), copy.origin(*origins.get(number, Origin())))
        done = copy.finished()
        replies = "SELECT cell, episode, seat, request, reply, sum FROM answered"
        for cell, episode, seat, request, reply, checksum in _readable(query, replies):
            sound = of_rows([(cell, episode, seat, request, reply)]) == checksum
            if sound and episode not in done.get(cell, ()):
                copy.keep_reply(cell, episode, seat, request, unpack(reply))
    finally:
        copy.close()


def _block(rows: dict[str, list[tuple[Any, ...]]]) -> Block:
    """Return stored rows as those of a finished episode."""
    calls = [
        (episode, step, seat, form, json.loads(unpack(record)))
        for _, episode, _, step, seat, form, record in rows["calls"]
    ]
    plain = {table: [row[1:] for row in rows[table]] for table in ("episodes", "steps", "answers")}
    return Block(plain["episodes"], plain["steps"], plain["answers"], calls)


def _readable(query: Callable[[str], list[Any]], sql: str) -> list[Any]:
    """Return a query's rows; none if the table cannot be read."""
    try:
        return query(sql)
    except TomevalError:
        return []


def _meta(db: Database) -> dict[str, Any]:
    """Return what a store says of itself; nothing if that cannot be read."""
    try:
        return {key: json.loads(value) for key, value in db.query("SELECT key, value FROM meta")}
    except (TomevalError, TypeError, ValueError):
        return {}


def _identity(db: Database, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return domain and shard, and the experiment: from its store, or from the file beside it."""
    meta = _meta(db)
    try:
        rows = db.query("SELECT definition FROM cells ORDER BY cell")
        identity = {"name": meta["name"], "cells": [json.loads(text) for (text,) in rows]}
        if identity_sha256(identity) == meta["sha256"]:
            return meta, identity
    except (TomevalError, KeyError, TypeError, ValueError, RecursionError):
        pass
    data = read_json(folder / EXPERIMENT)
    if not (isinstance(data, dict) and {"domain", "name", "cells"} <= data.keys()):
        raise TomevalError(
            f"{folder / STORE}: its list of cells is damaged, and {EXPERIMENT} does not have it "
            "either; restore the folder from a copy or start over in another one"
        )
    return data, {"name": data["name"], "cells": data["cells"]}
