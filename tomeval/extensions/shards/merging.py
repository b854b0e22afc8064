"""Merge run folders of one experiment, such as its shards: the union of what they hold.

All is written in one transaction, so a merge that is refused or killed leaves the store as it was.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.outcomes import FAILED, UNFINISHED
from tomeval.extensions.shards.differing import difference, reply_difference
from tomeval.extensions.shards.sharding import Shard, missing_shards, shard_of
from tomeval.runs import tallies
from tomeval.runs.checksums import holds
from tomeval.runs.database import NothingPlayed
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import (
    at_rest,
    differing_words,
    locked,
    make_folder,
    planned,
    write_experiment,
)
from tomeval.runs.origins import Origin
from tomeval.runs.results import Run
from tomeval.runs.rows import Rows
from tomeval.runs.store import SESSIONS, STORE, Store

AT_ONCE = 100
"""Episodes that are written at once."""


class Part(NamedTuple):
    """A merged folder that lacks episodes of its own share, or has them only as failed."""

    folder: Path
    shard: Shard | None
    lacks: int


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
    unfinished : list of Part
        Merged parts that lack episodes of their own.
    empty : list of Path
        Given folders in which nothing was played.
    """

    folder: Path
    episodes: int = 0
    lacks: int = 0
    missing: list[Shard] = field(default_factory=list)
    unfinished: list[Part] = field(default_factory=list)
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
        raise TomevalError(f"{out}: nothing to merge into it; name other run folders")
    with ExitStack() as held:
        runs: list[Run] = []
        empty = []
        for folder in sorted(given, key=str):  # the first of two that are the same is taken
            if folder.is_dir():
                held.enter_context(at_rest(given[folder]))
            try:
                runs.append(held.enter_context(Run(given[folder])))
            except NothingPlayed:
                empty.append(given[folder])
        if not runs:
            raise TomevalError(f"{empty[0]}: nothing was played yet, so there is nothing to merge")
        held.enter_context(_made(out))
        base = _check_base(out, runs[0])
        same_experiment(runs)
        episodes = _Merge(runs, out, base).taken
        _join_sessions([out, *(run.folder for run in runs)], out)
        return _told(out, episodes, runs, empty)


def lacking(run: Run) -> int:
    """Return how many episodes of a run folder are missing or only failed."""
    counts = tallies.episodes(run.store)
    lacks = 0
    for cell in run.cells:
        there = Counter(counts.get(cell.number, {}))
        lacks += max(0, (run.wanted(cell) or 0) - (there.total() - there[FAILED]))
    return lacks


def same_experiment(runs: Sequence[Run]) -> None:
    """Refuse runs of different experiments."""
    first = runs[0].store.meta()["sha256"] if runs else ""
    for run in runs:
        if run.store.meta()["sha256"] != first:
            words = differing_words(runs[0].store.identity(), run.store.identity())
            raise TomevalError(
                f"{run.folder}: holds a different experiment from {runs[0].folder} ({words})"
            )


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


def _check_base(out: Path, run: Run) -> bool:
    """Tell whether there is a run to merge into; refuse another experiment, or a shard."""
    if not (out / STORE).exists():
        return False
    Store(out, get_domain(run.domain.name)).close()  # takes in the log that a killed process left
    try:
        with Run(out) as base:
            same_experiment([base, run])
            if shard := shard_of(str(base.store.meta().get("part", ""))):
                raise TomevalError(
                    f"{out}: holds shard {shard} of its experiment; merge into a new folder"
                )
    except NothingPlayed:
        return False
    return True


class _Merge:
    """One merge of runs into a new store, or into that of a run that is there (`base`).

    Attributes
    ----------
    taken : int
        How many episodes were not in the store before.
    """

    def __init__(self, runs: Sequence[Run], out: Path, base: bool) -> None:
        self.taken = 0
        self._whose: dict[tuple[int, int], Path] = {}  # of what was taken over
        domain, first = get_domain(runs[0].domain.name), runs[0].store
        folders = [*([out] if base else []), *(run.folder for run in runs)]
        episodes = max(planned(folder) or 0 for folder in folders) or None
        if not base:
            write_experiment(out, domain.name, first.identity(), episodes)
        with closing(Store(out, domain)) as self._store, self._store.together():
            if not base:
                self._store.begin(first.identity(), str(first.meta()["sha256"]))
            stops = self._store.stops()
            for run in runs:
                self._take_revisions(run)
                for cell, reason in run.store.stops().items():  # of several the alphabet's first
                    stops[cell] = min(reason, stops.get(cell, reason))
            for row in sorted({o.row for run in runs for o in run.store.origins().values()}):
                self._store.origin(*Origin.of(row))
            for run in runs:
                self._take_episodes(run)
            for run in runs:
                self._take_replies(run)
            self._note_stops(stops, episodes or 0)
            self._note_until(runs)
        write_experiment(out, domain.name, first.identity(), episodes)

    def _take_revisions(self, run: Run) -> None:
        """Note the revisions of models; refuse two of one model."""
        for model, revision in sorted(run.store.revisions().items()):
            known = self._store.revisions().get(model, "")
            if known and revision and known != revision:
                raise TomevalError(
                    f"{run.folder}: {model} was used at revision {revision}, elsewhere at {known}; "
                    "nothing was merged"
                )
            if revision or not known:
                self._store.check_revision(model, revision)

    def _take_episodes(self, run: Run) -> None:
        """Take over what the store has not or has worse; refuse what it has otherwise."""
        store, source = self._store, run.store
        numbers = {n: store.origin(*origin) for n, origin in source.origins().items()}
        for cell, _ in source.cells():
            there, better = store.statuses(cell), []
            for episode, status in source.statuses(cell).items():
                if episode not in there or _worth(status) > _worth(there[episode]):
                    better.append(episode)
                elif _worth(status) == _worth(there[episode]) > 0:
                    at = cell, episode
                    rows = store.played(*at)[0], source.played(*at)[0]
                    if words := difference(store.domain, *rows):
                        self._refuse(at, run, words)
            for start in range(0, len(better), AT_ONCE):
                by_origin: dict[int, Rows] = {}
                for episode in better[start : start + AT_ONCE]:
                    rows_of, origin = source.played(cell, episode)
                    whole = by_origin.setdefault(numbers[origin], Rows(cell, [], [], [], []))
                    whole.extend(rows_of)
                for number, whole in by_origin.items():
                    store.add(cell, whole, number)
            self.taken += sum((cell, episode) not in self._whose for episode in better)
            self._whose.update(dict.fromkeys(((cell, e) for e in better), run.folder))

    def _refuse(self, at: tuple[int, int], run: Run, words: str) -> NoReturn:
        """Raise for what the store has otherwise than a run."""
        cell, episode = at
        there = self._whose.get(at, self._store.path.parent)
        raise TomevalError(
            f"{run.folder}: episode {episode} of cell {cell} differs from that in {there}: "
            f"{words} (there: {there}); nothing was merged. Leave one of the two out"
        )

    def _take_replies(self, run: Run) -> None:
        """Keep the replies to episodes that are over nowhere."""
        over: dict[int, dict[int, str]] = {}
        new = []
        for cell, episode, seat, request, reply in run.store.all_replies():
            there = over.setdefault(cell, self._store.statuses(cell))
            if _worth(there.get(episode, FAILED)) > 0:
                continue
            if (kept := self._store.kept_reply(cell, episode, seat, request)) is None:
                new.append((cell, episode, seat, request, reply))
                self._whose.setdefault((cell, episode), run.folder)
            elif words := reply_difference(kept, reply):
                words = f"in answered: a kept reply to {seat}: {words}"
                self._refuse((cell, episode), run, words)
        self._store.keep_replies(new)

    def _note_stops(self, stops: dict[int, str], episodes: int) -> None:
        """Keep why cells that lack episodes were stopped: what one left out, another may have."""
        definitions, done = dict(self._store.cells()), self._store.most_finished()
        for cell in stops:
            wanted = self._store.domain.read.cell(self._store, cell, definitions[cell])
            if done.get(cell, (0, 0))[0] >= wanted.wanted(episodes):
                stops[cell] = ""
        self._store.note_stops(stops)

    def _note_until(self, runs: Sequence[Run]) -> None:
        """Keep what is known of the condition that runs stop by; of each cell what is latest."""
        whole = dict(self._store.until())
        for run in runs:
            if not (until := run.store.until()):
                continue
            if not whole:
                whole = dict(until)
            if until["condition"] != whole["condition"]:
                raise TomevalError(
                    f"{run.folder}: stops by {until['condition']!r}, another run by "
                    f"{whole['condition']!r}; only runs with the same condition can be merged"
                )
            for key, met in until["met"].items():
                whole["met"] = {**whole["met"], key: {**whole["met"].get(key, {}), **met}}
            told = [whole["cells"], until["cells"]]
            whole["cells"] = {
                cell: max(
                    (each[cell] for each in told), key=lambda c: (c["episodes"], c["stopped"])
                )
                for cell in told[0]
            }
        self._store.note_until(whole)


def _worth(status: str) -> int:
    """Say what goes before what: an episode that is over, one that people began, a failed one."""
    return {FAILED: 0, UNFINISHED: 1}.get(status, 2)


# What lies beside the stores


def _entries(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the intact objects of a list beside a store."""
    try:
        said = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return [e for e in said if isinstance(e, dict) and holds(e)] if isinstance(said, list) else []


def _join_sessions(folders: Sequence[Path], out: Path) -> None:
    """Write into `out` every distinct session of some folders, in order of time."""
    entries = {
        (str(entry.get("started", "")), json.dumps(entry, sort_keys=True)): entry
        for folder in folders
        for entry in _entries(folder, SESSIONS)
    }
    ordered = [entries[key] for key in sorted(entries)]
    if ordered and ordered != _entries(out, SESSIONS):
        write_text(out / SESSIONS, json.dumps(ordered, indent=1), own=True)


def _told(out: Path, episodes: int, runs: Sequence[Run], empty: list[Path]) -> Merged:
    """Return what has become of a merge."""
    with Run(out) as run:
        lacks = lacking(run)
    shards = [shard_of(str(run.store.meta().get("part", ""))) for run in runs]
    parts = [Part(run.folder, s, lacking(run)) for run, s in zip(runs, shards, strict=True)]
    names = {str(entry.get("part") or "") for entry in _entries(out, SESSIONS)}
    # Where the whole experiment was played, that a shard is not there explains nothing.
    present = [*shards, *map(shard_of, names)]
    missing = missing_shards(present) if lacks and "" not in names else []
    return Merged(out, episodes, lacks, missing, [part for part in parts if part.lacks], empty)
