"""Merge run folders of one experiment, such as its shards: the union of what they hold.

All is written in one transaction, so a merge that is refused or killed leaves the store as it was.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from tomeval.core.errors import TomevalError
from tomeval.core.files import replacing, write_text
from tomeval.core.outcomes import FAILED, UNFINISHED
from tomeval.extensions.shards.differing import difference, reply_difference
from tomeval.extensions.shards.sharding import Shard, missing_shards, shard_of
from tomeval.extensions.shards.sources import Source, lacking, read_source, same_experiment
from tomeval.runs.checksums import holds
from tomeval.runs.database import NothingPlayed
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import at_rest, locked, make_folder, write_experiment
from tomeval.runs.origins import Origin
from tomeval.runs.results import Run
from tomeval.runs.rows import Rows
from tomeval.runs.startup import STARTUP
from tomeval.runs.store import SESSIONS, STORE, Store

PEOPLE = "study.sqlite"
"""Who takes part in a study of people."""

LISTS = {SESSIONS: "started", STARTUP: "asked"}
"""Files with a list of objects, and what says when each was written."""

AT_ONCE = 100
"""Episodes that are written at once."""


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
        base = _base(out, parts[0].domain)
        sources = [*([base] if base else []), *parts]
        same_experiment([s.folder for s in sources], [s.sha256 for s in sources])
        _check_revisions(sources)
        people = _people([source.folder for source in sources])
        episodes = _Merge(base, parts).into(out)
        _join_lists([out, *(source.folder for source in parts)], out)
        if people is not None and people.resolve() != out.resolve():
            with replacing(out / PEOPLE) as draft:
                _copy(people / PEOPLE, draft)
        return _told(out, episodes, parts, empty)


@contextmanager
def _made(out: Path) -> Iterator[None]:
    """Hold the folder to merge into; one that was made for it goes if the merge fails."""
    new = not out.exists()
    make_folder(out)
    try:
        with locked(out):
            yield
    except BaseException:
        if new:
            shutil.rmtree(out, ignore_errors=True)
        raise


def _base(out: Path, domain: str) -> Source | None:
    """Return the run that is merged into; None if there is none yet."""
    if not (out / STORE).exists():
        return None
    Store(out, get_domain(domain)).close()  # takes in the log that a killed process left
    try:
        base = read_source(out)
    except NothingPlayed:
        return None
    if base.shard is not None:
        raise TomevalError(
            f"{out}: holds shard {base.shard} of its experiment; merge into a new folder"
        )
    return base


def _check_revisions(sources: Sequence[Source]) -> None:
    """Refuse two revisions of one model."""
    known: dict[str, tuple[str, Path]] = {}
    for source in sources:
        for model, revision in source.revisions.items():
            first, where = known.setdefault(model, (revision, source.folder))
            if first and revision and first != revision:
                raise TomevalError(
                    f"{source.folder}: {model} was used at revision {revision}, in {where} at "
                    f"{first}; nothing was merged"
                )
            if not first:
                known[model] = revision, source.folder


class _Merge:
    """One merge of `parts` into a new store or into that of `base`."""

    def __init__(self, base: Source | None, parts: Sequence[Source]) -> None:
        self._base, self._all = base, [*([base] if base else []), *parts]
        # In an order of their own: the first of two that are the same is taken.
        self._parts = sorted(parts, key=lambda part: part.digest)
        self._whose: dict[tuple[int, int], Path] = {}  # of what was taken over
        self._taken = 0

    def into(self, out: Path) -> int:
        """Write all that the parts hold; return how many episodes were not in the base."""
        with ExitStack() as opened:
            first = opened.enter_context(closing(Store(self._parts[0].folder)))
            planned = max(source.planned for source in self._all) or None
            identity, sha256 = first.identity(), self._parts[0].sha256
            domain = get_domain(self._parts[0].domain)
            if self._base is None:
                write_experiment(out, domain.name, identity, planned)
            store = opened.enter_context(closing(Store(out, domain)))
            with store.together():
                if self._base is None:
                    store.begin(identity, sha256)
                self._note_models_and_origins(store)
                for take in (self._take_episodes, self._take_replies):
                    for part in self._parts:
                        with closing(Store(part.folder)) as source:
                            take(part, source, store)
                self._note_stops(store, planned or 0)
        write_experiment(out, domain.name, identity, planned)
        return self._taken

    def _note_models_and_origins(self, store: Store) -> None:
        origins = set()
        for part in self._parts:
            for model, revision in sorted(part.revisions.items()):
                if revision or model not in store.revisions():
                    store.check_revision(model, revision)
            with closing(Store(part.folder)) as source:
                origins |= {origin.row for origin in source.origins().values()}
        for row in sorted(origins):
            store.origin(*Origin.of(row))

    def _take_episodes(self, part: Source, source: Store, store: Store) -> None:
        """Take over what the store has not or has worse; refuse what it has otherwise."""
        numbers = {n: store.origin(*origin) for n, origin in source.origins().items()}
        for cell, _ in source.cells():
            there, better = store.statuses(cell), []
            for episode, status in source.statuses(cell).items():
                if episode not in there or _worth(status) > _worth(there[episode]):
                    better.append(episode)
                elif _worth(status) == _worth(there[episode]) > 0:
                    self._check_same((cell, episode), part, source, store)
            for start in range(0, len(better), AT_ONCE):
                some = better[start : start + AT_ONCE]
                by_origin: dict[int, Rows] = {}
                for episode in some:
                    rows, origin = source.played(cell, episode)
                    whole = by_origin.setdefault(numbers[origin], Rows(cell, [], [], [], []))
                    whole.extend(rows)
                for number, whole in by_origin.items():
                    store.add(cell, whole, number)
            for episode in better:
                if (cell, episode) not in self._whose:
                    self._taken += 1
                self._whose[cell, episode] = part.folder

    def _check_same(self, at: tuple[int, int], part: Source, source: Store, store: Store) -> None:
        domain, one, other = store.domain, store.played(*at)[0], source.played(*at)[0]
        if difference(domain, one, other):
            self._refuse(at, part, partial(difference, domain), one, other)

    def _refuse(
        self, at: tuple[int, int], part: Source, words: Callable[[Any, Any], str], *both: Any
    ) -> NoReturn:
        """Raise for what the store has otherwise than `part`; the first one given is ``there``."""
        given = [source.folder for source in self._all]
        there, here = self._whose.get(at, given[0]), part.folder
        if given.index(there) > given.index(here):
            there, here, both = here, there, both[::-1]
        cell, episode = at
        raise TomevalError(
            f"{here}: episode {episode} of cell {cell} is not what it is in {there}, "
            f"{words(*both)} (there: {there}); nothing was merged. Leave one of the two out"
        )

    def _take_replies(self, part: Source, source: Store, store: Store) -> None:
        """Keep the replies to episodes that are over nowhere."""
        over: dict[int, dict[int, str]] = {}
        new = []
        for cell, episode, seat, request, reply in source.all_replies():
            there = over.setdefault(cell, store.statuses(cell))
            if _worth(there.get(episode, FAILED)) > 0:
                continue
            if (kept := store.kept_reply(cell, episode, seat, request)) is None:
                new.append((cell, episode, seat, request, reply))
                self._whose.setdefault((cell, episode), part.folder)
            elif reply_difference(kept, reply):
                words = partial(_reply_words, seat)
                self._refuse((cell, episode), part, words, kept, reply)
        store.keep_replies(new)

    def _note_stops(self, store: Store, planned: int) -> None:
        """Keep why cells that lack episodes were stopped; of several reasons the alphabet's first.

        What one part left out, another one may have.
        """
        reasons: dict[int, str] = {}
        for source in self._all:
            for cell, reason in source.stops.items():
                reasons[cell] = min(reason, reasons.get(cell, reason))
        definitions, done = dict(store.cells()), store.most_finished()
        for cell in reasons:
            wanted = store.domain.read.cell(store, cell, definitions[cell]).wanted(planned)
            if done.get(cell, (0, 0))[0] >= wanted:
                reasons[cell] = ""
        store.note_stops(reasons)


def _reply_words(seat: str, there: bytes, here: bytes) -> str:
    return f"in answered: a kept reply to {seat}: {reply_difference(there, here)}"


def _worth(status: str) -> int:
    """Say what goes before what: an episode that is over, one that people began, a failed one."""
    return {FAILED: 0, UNFINISHED: 1}.get(status, 2)


# What lies beside the stores


def _entries(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the objects of a list beside a store that are what was written."""
    try:
        said = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return [e for e in said if isinstance(e, dict) and holds(e)] if isinstance(said, list) else []


def _join_lists(folders: Sequence[Path], out: Path) -> None:
    """Write into `out` every distinct entry of the lists of some folders, in order of time."""
    for name, when in LISTS.items():
        entries = {
            (str(entry.get(when, "")), json.dumps(entry, sort_keys=True)): entry
            for folder in folders
            for entry in _entries(folder, name)
        }
        ordered = [entries[key] for key in sorted(entries)]
        if ordered and ordered != _entries(out, name):
            write_text(out / name, json.dumps(ordered, indent=1))


def _people(folders: Sequence[Path]) -> Path | None:
    """Return the folder with sessions of people; None without one, an error with two."""
    with_people = [folder for folder in folders if (folder / PEOPLE).exists()]
    if len(with_people) > 1:
        raise TomevalError(
            f"{with_people[1]}: people took part in it and in {with_people[0]}, and two studies "
            "cannot be merged; leave one of the two out"
        )
    return with_people[0] if with_people else None


def _copy(database: Path, draft: Path) -> None:
    """Copy a database, with what is still in its log."""
    uri = f"{database.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as one, closing(sqlite3.connect(draft)) as two:
        one.backup(two)


def _told(out: Path, episodes: int, parts: Sequence[Source], empty: list[Path]) -> Merged:
    """Return what has become of a merge."""
    with Run(out) as run:
        lacks = lacking(run)
    names = {str(entry.get("part") or "") for entry in _entries(out, SESSIONS)}
    # Where the whole experiment was played, that a shard is not there explains nothing.
    present = [*(part.shard for part in parts), *map(shard_of, names)]
    missing = missing_shards(present) if lacks and "" not in names else []
    return Merged(out, episodes, lacks, missing, [part for part in parts if part.lacks], empty)
