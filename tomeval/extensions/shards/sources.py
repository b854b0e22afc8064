"""Run folders that are to be merged or looked at together: read, and held to one experiment."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import FAILED
from tomeval.extensions.shards.sharding import Shard, shard_of
from tomeval.runs import tallies
from tomeval.runs.folder import differing_words, planned
from tomeval.runs.results import Run
from tomeval.runs.store import STORE, Store


@dataclass(frozen=True)
class Source:
    """A run folder whose checksums hold, as a merge sees it.

    Attributes
    ----------
    folder : Path
    domain, sha256 : str
        Of its experiment.
    shard : Shard or None
        None: it is no shard.
    planned : int
        How many episodes a cell is to have; 0: it does not say.
    lacks : int
        How many episodes of its own share it has not, or only failed; 0 if it does not say.
    revisions : mapping of str to str
    stops : mapping of int to str
    digest : str
        Of the store's file: sources in this order are so whatever order they were given in.
    """

    folder: Path
    domain: str
    sha256: str
    shard: Shard | None
    planned: int
    lacks: int
    revisions: Mapping[str, str]
    stops: Mapping[int, str]
    digest: str


def read_source(folder: Path) -> Source:
    """Verify all checksums of a run folder, and read what a merge must know of it.

    Raises
    ------
    TomevalError
        There is no run, or it is damaged or of another version.
    """
    with Run(folder) as run:  # verified as it is opened
        run.store.cells()  # that they are those of the hash
        meta = run.store.meta()
        with (folder / STORE).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Source(
            folder,
            str(meta["domain"]),
            str(meta["sha256"]),
            shard_of(str(meta.get("part", ""))),
            planned(folder) or 0,
            lacking(run),
            run.store.revisions(),
            run.store.stops(),
            digest,
        )


def lacking(run: Run) -> int:
    """Return how many episodes a run folder is to have and has not, or only failed."""
    counts = tallies.episodes(run.store)
    lacks = 0
    for cell in run.cells:
        there = Counter(counts.get(cell.number, {}))
        lacks += max(0, (run.wanted(cell) or 0) - (there.total() - there[FAILED]))
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
