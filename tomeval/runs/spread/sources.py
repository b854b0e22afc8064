"""Run folders that are to be merged or looked at together: found, and held to one experiment."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.runs import tallies
from tomeval.runs.folder import differing_words, planned
from tomeval.runs.reading import take_back
from tomeval.runs.results import Run
from tomeval.runs.spread.sharding import Shard, parse_shard
from tomeval.runs.store import STORE, Store
from tomeval.runs.sums import OF_EPISODES

TABLES = (*OF_EPISODES, "answered")
"""The tables that a merge takes rows from."""


@dataclass(frozen=True)
class Source:
    """A run folder whose checksums hold, as a merge sees it.

    Attributes
    ----------
    folder : Path
    domain, name, sha256 : str
        Of its experiment.
    shard : Shard or None
        None: it is no shard.
    planned : int
        How many episodes a cell is to have; 0: it does not say.
    lacks : int
        How many episodes of its own share it has not, or only failed; 0 if it does not say.
    revisions : mapping of str to str
    stops : mapping of int to str
    origins : mapping of int to tuple
        The columns of each origin, by number.
    columns : mapping of str to tuple
        Names of the columns of every table in `TABLES`.
    """

    folder: Path
    domain: str
    name: str
    sha256: str
    shard: Shard | None
    planned: int
    lacks: int
    revisions: Mapping[str, str]
    stops: Mapping[int, str]
    origins: Mapping[int, tuple[str, ...]]
    columns: Mapping[str, tuple[str, ...]]

    @property
    def uri(self) -> str:
        """Its store as SQLite opens or attaches it, to read."""
        return store_uri(self.folder)


def store_uri(folder: Path) -> str:
    """Return the address by which SQLite reads the store of a folder and changes no file.

    A store that was closed is read as it is; one whose run was killed still needs its log.
    """
    path = folder / STORE
    log = path.with_name(f"{path.name}-wal")
    closed = not log.exists() or not log.stat().st_size
    return f"{path.resolve().as_uri()}?{'mode=ro&immutable=1' if closed else 'mode=ro'}"


def read_source(folder: Path) -> Source:
    """Verify all checksums of a run folder, and read what a merge must know of it.

    Raises
    ------
    TomevalError
        There is no run, or it is damaged or of another version.
    """
    with Run(folder) as run:  # reads a copy, where a writer was killed with half a transaction
        store = run.store
        store.cells()  # that they are those of the hash
        take_back(folder / STORE)
        meta = store.meta()
        columns = {
            name: tuple(row[1] for row in store.query(f"PRAGMA table_info({name})"))
            for name in TABLES
        }
        return Source(
            folder,
            str(meta["domain"]),
            run.name,
            str(meta["sha256"]),
            parse_shard(meta["shard"]) if meta.get("shard") else None,
            planned(folder) or 0,
            lacking(run),
            store.revisions(),
            store.stops(),
            {number: origin.row for number, origin in store.origins().items()},
            columns,
        )


def lacking(run: Run) -> int:
    """Return how many episodes a run folder is to have and has not, or only failed."""
    counts = tallies.episodes(run.store)
    lacks = 0
    for cell in run.cells:
        found = Counter(counts.get(cell.number, {}))
        lacks += max(0, (run.wanted(cell) or 0) - (found.total() - found[FAILED]))
    return lacks


def same_experiment(folders: Sequence[Path], hashes: Sequence[str]) -> None:
    """Refuse folders of different experiments, whose hashes are given too."""
    for folder, sha256 in zip(folders, hashes, strict=True):
        if sha256 != hashes[0]:
            raise TomevalError(
                f"{folder}: holds another experiment than {folders[0]} "
                f"({differing_words(_identity(folders[0]), _identity(folder))})"
            )


def _identity(folder: Path) -> dict[str, Any]:
    with closing(Store(folder)) as store:
        return store.identity()


def run_folders(given: Iterable[str | Path]) -> list[Path]:
    """Return the run folders that are meant: each given one, those in a folder, those of a pattern.

    Raises
    ------
    TomevalError
        A pattern or folder without a run folder.
    """
    found: list[Path] = []
    for one in given:
        path = Path(one)
        if path.is_dir() and not (path / STORE).exists():
            inside = sorted(p.parent for p in path.glob(f"*/{STORE}"))
            found += inside or [path]
        elif glob.has_magic(str(one)) and not path.exists():
            inside = sorted(p for p in map(Path, glob.glob(str(one))) if p.is_dir())
            if not inside:
                raise TomevalError(f"{one}: no folder has a name like this")
            found += run_folders(inside)
        else:
            found.append(path)
    return list({path.resolve(): path for path in found}.values())


def missing_shards(present: Iterable[Shard | None]) -> list[Shard]:
    """Return the shards that are not there; none unless all that are there are parts of one split.

    Examples
    --------
    >>> missing_shards([Shard(1, 3), Shard(3, 3), None])
    [Shard(number=2, count=3)]
    >>> missing_shards([Shard(1, 3), Shard(1, 2)])
    []
    """
    there = {shard for shard in present if shard is not None}
    counts = {shard.count for shard in there}
    if len(counts) != 1:
        return []
    (count,) = counts
    return [s for n in range(1, count + 1) if (s := Shard(n, count)) not in there]
