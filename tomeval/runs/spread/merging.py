"""Merge run folders of one experiment, such as its shards: the union of what they hold.

The merged store is made in a folder of its own inside the one that is to hold it, and takes its
place only when it is whole: a merge that is killed leaves that folder as it was, with the
unfinished one, `DRAFT`, in it, which the next merge removes. Rows are taken from store to store by
SQLite, with the checksums that they have; memory does not grow with them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.runs.checksums import SEAL
from tomeval.runs.database import NothingPlayed
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import at_rest, locked, make_folder, write_experiment
from tomeval.runs.origins import Origin
from tomeval.runs.results import Run
from tomeval.runs.spread.beside import (
    copy_people,
    copy_store,
    people_of,
    put_lists_together,
    shards_in,
)
from tomeval.runs.spread.choosing import BASE, Chooser, offered, prepare
from tomeval.runs.spread.sharding import Shard, parse_shard
from tomeval.runs.spread.sources import (
    Source,
    lacking,
    missing_shards,
    read_source,
    same_experiment,
)
from tomeval.runs.store import STORE, Store
from tomeval.runs.stored import identity_sha256
from tomeval.runs.sums import SUMMED

DRAFT = ".merging"


@dataclass(frozen=True)
class Merged:
    """What a merge has made.

    Attributes
    ----------
    folder : Path
    episodes : int
        How many were taken over, and were not in the folder before.
    lacks : int
        How many episodes the experiment is to have that the folder lacks, or that only failed.
    missing : list of Shard
        Parts of the experiment that were never merged, if that explains what it lacks.
    unfinished : list of Source
        Merged parts that lack episodes of their own.
    empty : list of Path
        Given folders in which nothing was played.
    """

    folder: Path
    episodes: int = 0
    lacks: int = 0
    missing: list[Shard] = field(default_factory=list)
    unfinished: list[Source] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Merge run folders of one experiment into a new one, or into a run of this experiment.

    Parameters
    ----------
    folders : sequence of Path
        Their order makes no difference. They are verified by their checksums first, and not
        changed.
    out : Path

    Raises
    ------
    TomevalError
        A folder is no run, is damaged, in use, of another experiment or of an earlier version; a
        model had another revision; or an episode is not the same in two folders. Nothing is changed
        then.
    """
    given = {folder.resolve(): folder for folder in folders if folder.resolve() != out.resolve()}
    if not given:
        raise TomevalError(f"{out}: there is nothing to merge into it; name other run folders")
    with ExitStack() as held:
        parts, empty = [], []
        for folder in given.values():
            if folder.is_dir():
                held.enter_context(at_rest(folder))
            try:
                parts.append(read_source(folder))
            except NothingPlayed:
                empty.append(folder)
        if not parts:
            raise TomevalError(f"{empty[0]}: nothing was played yet; there is nothing to merge")
        held.enter_context(_made(out))
        base = None
        if (out / STORE).exists():
            _settle(out, parts[0].domain)
            base = read_source(out)
            if base.shard is not None:
                raise TomevalError(
                    f"{out}: holds shard {base.shard} of its experiment; merge into a new folder"
                )
        sources = [*([base] if base else []), *parts]
        same_experiment([s.folder for s in sources], [s.sha256 for s in sources])
        _same_tables(sources)
        people = people_of([source.folder for source in sources])
        work = _Merge(base, parts, _revisions(sources))
        draft = held.enter_context(_drafted(out))
        episodes = work.into(draft)
        _install(draft, out, sources, people)
        return _told(out, episodes, parts, empty)


@contextmanager
def _made(out: Path) -> Iterator[None]:
    """Hold the folder to merge into; one that was made for it goes if the merge fails."""
    new = not out.exists()
    shutil.rmtree(out / DRAFT, ignore_errors=True)  # of a merge that was killed
    make_folder(out)
    try:
        with locked(out):
            yield
    except BaseException:
        if new and not (out / STORE).exists():
            shutil.rmtree(out, ignore_errors=True)
        raise


def _settle(folder: Path, domain: str) -> None:
    """Have all of a run in its store's file, whose log a killed process may have left."""
    Store(folder, get_domain(domain)).close()


@contextmanager
def _drafted(out: Path) -> Iterator[Path]:
    """Give the folder in which the merged store is made, and word what the disk refuses."""
    draft = out / DRAFT
    try:
        draft.mkdir()
        yield draft
    except OSError as error:
        raise TomevalError(f"{draft}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _same_tables(sources: Sequence[Source]) -> None:
    first = sources[0]
    for source in sources:
        for table, columns in source.columns.items():
            if columns != first.columns[table]:
                raise TomevalError(
                    f"{source.folder}: its table {table} has other columns than that of "
                    f"{first.folder}; they were written by different versions of tomeval"
                )


def _revisions(sources: Sequence[Source]) -> dict[str, str]:
    """Return the revision of every model; refuse two for one."""
    found: dict[str, tuple[str, Path]] = {}
    for source in sources:
        for model, revision in source.revisions.items():
            known, where = found.get(model, ("", source.folder))
            if known and revision and known != revision:
                raise TomevalError(
                    f"{source.folder}: {model} was used at revision {revision}, in {where} at "
                    f"{known}; nothing was merged"
                )
            found[model] = (known, where) if known else (revision, source.folder)
    return {model: revision for model, (revision, _) in sorted(found.items())}


class _Merge:
    """One merge: into a copy of `base`, or into a new store, from `parts`."""

    def __init__(
        self, base: Source | None, parts: Sequence[Source], revisions: dict[str, str]
    ) -> None:
        self._base, self._parts, self._revisions = base, parts, revisions
        self._all = [*([base] if base else []), *parts]
        self._columns = parts[0].columns

    def into(self, draft: Path) -> int:
        """Make the store in the folder `draft`; return how many episodes were not in the base."""
        if self._base is not None:
            for name in (STORE, SEAL):
                copy_store(self._base.folder / name, draft / name)
        with closing(Store(self._parts[0].folder)) as part:
            identity = part.identity()
        planned = max(source.planned for source in self._all)
        store = Store(draft, get_domain(self._parts[0].domain))
        try:
            # The draft is thrown away if anything goes wrong, so nothing need be undone in it.
            store.connection.execute("PRAGMA journal_mode = OFF")
            store.connection.execute("PRAGMA synchronous = OFF")
            if self._base is None:
                store.begin(identity, identity_sha256(identity))
            for model, revision in self._revisions.items():
                store.check_revision(model, revision)
            with store.reporting():
                prepare(store.connection)
                self._renumber(store)
                self._choose(store.connection)
                taken = self._take(store)
            store.count_spent()  # where parts lack it
            self._note_stops(store, planned)
        finally:
            store.close()
        write_experiment(draft, self._parts[0].domain, identity, planned or None)
        return taken

    def _renumber(self, store: Store) -> None:
        """Give the origins of all stores numbers that do not depend on their order."""
        rows = {row for part in self._parts for row in part.origins.values()}
        numbers = {row: store.origin(*Origin.of(row)) for row in sorted(rows)}
        store.connection.executemany(
            "INSERT INTO renumbered VALUES (?, ?, ?)",
            [
                (place, origin, numbers[row])
                for place, part in enumerate(self._parts, 1)
                for origin, row in part.origins.items()
            ],
        )

    def _choose(self, db: sqlite3.Connection) -> None:
        """Choose from which store each episode and each kept reply is taken."""
        first = self._base or self._parts[0]
        folders = [first.folder, *(part.folder for part in self._parts)]
        uris = [first.uri, *(part.uri for part in self._parts)]
        chooser = Chooser(db, folders, uris)
        db.execute(f"INSERT INTO chosen {offered(self._columns, 'main', BASE)}")
        for place, part in enumerate(self._parts, 1):
            with _attached(db, part):
                chooser.episodes(self._columns, "part", place)
        chooser.replies("main", BASE)
        for place, part in enumerate(self._parts, 1):
            with _attached(db, part):
                chooser.replies("part", place)

    def _take(self, store: Store) -> int:
        """Take over what was chosen, store by store; return the number of episodes."""
        db = store.connection
        with store.taking():
            for table in (*SUMMED[::-1], "sums"):
                db.execute(
                    f"DELETE FROM {table} WHERE (cell, episode) IN "
                    f"(SELECT cell, episode FROM chosen WHERE store != {BASE})"
                )
            keys = "cell, episode, seat, request"
            db.execute(
                f"DELETE FROM answered WHERE ({keys}) NOT IN "
                f"(SELECT {keys} FROM replies WHERE store = {BASE})"
            )
        for place, part in enumerate(self._parts, 1):
            with _attached(db, part), store.taking():
                for statement in self._statements(place):
                    db.execute(statement)
        sql = f"SELECT COUNT(*) FROM chosen WHERE store != {BASE}"
        return int(db.execute(sql).fetchone()[0])

    def _statements(self, place: int) -> Iterator[str]:
        """Yield what takes over the rows of the store that is attached as ``part``."""
        # The order of the join is that of the words: the rows of each chosen episode are looked up.
        own = [f"t.{c}" if c != "origin" else "r.number" for c in self._columns["episodes"]]
        episodes = (
            "FROM chosen c CROSS JOIN part.episodes t ON t.cell = c.cell AND t.episode = c.episode "
            f"JOIN renumbered r ON r.store = {place} AND r.origin = t.origin "
        )
        where = f"WHERE c.store = {place}"
        yield f"INSERT INTO episodes SELECT {', '.join(own)} {episodes} {where}"
        for table in SUMMED[1:]:  # so that calls need not be read again
            yield (
                f"INSERT INTO {table} SELECT t.* FROM chosen c CROSS JOIN part.{table} t "
                f"ON t.cell = c.cell AND t.episode = c.episode {where}"
            )
        yield (
            f"INSERT INTO sums SELECT c.cell, c.episode, c.content + checksum({', '.join(own)}) "
            f"{episodes} {where}"
        )
        yield (
            "INSERT INTO answered SELECT t.* FROM replies c CROSS JOIN part.answered t "
            "ON t.cell = c.cell AND t.episode = c.episode AND t.seat = c.seat "
            f"AND t.request = c.request {where}"
        )

    def _note_stops(self, store: Store, planned: int) -> None:
        """Keep why cells that lack episodes were stopped; of several reasons the alphabet's first.

        What one part left out, another one may have.
        """
        found: dict[int, str] = {}
        for source in self._all:
            for cell, reason in source.stops.items():
                found[cell] = min(reason, found.get(cell, reason))
        definitions, done = dict(store.cells()), store.most_finished()
        for cell in found:
            wanted = store.domain.read(store, cell, definitions[cell]).wanted(planned)
            if done.get(cell, (0, 0))[0] >= wanted:
                found[cell] = ""
        store.note_stops(found)


@contextmanager
def _attached(db: sqlite3.Connection, part: Source) -> Iterator[None]:
    """Attach a store as ``part``, to be read."""
    db.execute("ATTACH ? AS part", (part.uri,))
    try:
        yield
    finally:
        db.execute("DETACH part")


def _install(draft: Path, out: Path, sources: Sequence[Source], people: Path | None) -> None:
    """Put the merged store in its place, and then what lies beside it."""
    for name in (STORE, SEAL):
        with (draft / name).open("rb") as file:
            os.fsync(file.fileno())
    # The experiment first: it may ask for more episodes than there are, but never for fewer.
    for name in ("experiment.json", STORE, SEAL):
        os.replace(draft / name, out / name)
        for log in (f"{name}-wal", f"{name}-shm"):  # empty, of readers that still have the old one
            with suppress(FileNotFoundError):
                (out / log).unlink()
    folders = [source.folder for source in sources]
    put_lists_together([out, *folders], out)
    if people is not None and people.resolve() != out.resolve():
        copy_people(people, out)


def _told(out: Path, episodes: int, parts: Sequence[Source], empty: list[Path]) -> Merged:
    """Return what has become of a merge."""
    with Run(out) as run:
        lacks = lacking(run)
    played = shards_in(out)
    present = [part.shard for part in parts] + [parse_shard(shard) for shard in played if shard]
    # Where the whole experiment was played, that a shard is not there explains nothing.
    missing = missing_shards(present) if lacks and "" not in played else []
    return Merged(
        out,
        episodes,
        lacks,
        missing,
        [part for part in parts if part.lacks],
        empty,
    )
