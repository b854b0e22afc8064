"""How far the run folders of one experiment are, such as its shards: each, and all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.extensions.shards.sharding import Shard, missing_shards, shard_of
from tomeval.extensions.shards.sources import lacking, same_experiment
from tomeval.runs import tallies
from tomeval.runs.database import NothingPlayed
from tomeval.runs.folder import planned
from tomeval.runs.results import WANTED, Run
from tomeval.runs.writer import writer_of

TOTAL = "total"


class Gathered(NamedTuple):
    """A row per folder and, last, one for all of them; and the shards that are not there."""

    rows: list[dict[str, Any]]
    missing: list[Shard]


class _Part(NamedTuple):
    row: dict[str, Any]
    shard: Shard | None
    sha256: str
    wanted: list[int]
    ended: dict[str, set[tuple[int, int]]]


def gathered(folders: Sequence[Path], where: Sequence[str] = ()) -> Gathered:
    """Say how far folders of one experiment are.

    Parameters
    ----------
    folders : sequence of Path
    where : sequence of str
        Conditions that cells must meet, as for `Run`.

    Returns
    -------
    Gathered
        Rows, shards in their order, with ``folder``, ``shard`` (empty: none), ``complete``,
        ``wanted`` (None: it does not say), ``void``, ``failed``, ``unfinished`` (begun by language
        models and not over) and ``state``. An episode that several folders hold counts once in the
        last row.

    Raises
    ------
    TomevalError
        A folder is no run, or is of another experiment than the first.
    """
    most = max([0, *(planned(folder) or 0 for folder in folders)])
    parts, idle = [], []
    for folder in folders:
        try:
            parts.append(_part(folder, where, most))
        except NothingPlayed:
            idle.append({"folder": str(folder), "shard": "", "state": "nothing played yet"})
    same_experiment([Path(p.row["folder"]) for p in parts], [p.sha256 for p in parts])
    parts.sort(key=lambda part: (part.shard is not None, part.shard or Shard(1, 1)))
    missing = missing_shards(part.shard for part in parts)
    shards = [part.shard for part in parts]
    split = None not in shards and not missing and len(set(shards)) == len(shards) and shards
    rows = [part.row for part in parts]
    total: dict[str, Any] = {"folder": TOTAL, "shard": ""}
    total |= {status: _together(parts, status) for status in (COMPLETE, VOID, FAILED)}
    if split:
        total[WANTED] = sum(row[WANTED] for row in rows)
    else:
        total[WANTED] = sum(map(min, zip(*(part.wanted for part in parts), strict=True)))
    total["unfinished"] = sum(row["unfinished"] for row in rows)
    lacks = max(0, total[WANTED] - total[COMPLETE] - total[VOID])
    total["state"] = f"{lacks:,} missing" if lacks else "finished"
    columns = list(total)
    return Gathered(
        [{name: row.get(name) for name in columns} for row in (*rows, *idle, total)],
        missing if lacks else [],
    )


def _together(parts: Sequence[_Part], status: str) -> int:
    """Return how many episodes ended in a way; failed ones only if they did in all folders."""
    found = set().union(*(part.ended[status] for part in parts))
    if status == FAILED:
        found -= set().union(*(part.ended[COMPLETE] | part.ended[VOID] for part in parts))
    return len(found)


def _part(folder: Path, where: Sequence[str], most: int) -> _Part:
    """Read one folder; `most` is how many episodes a cell is to have by any of them."""
    with Run(folder, where) as run:
        ended: dict[str, set[tuple[int, int]]] = {COMPLETE: set(), VOID: set(), FAILED: set()}
        for cell in run.cells:
            for episode, status in run.store.statuses(cell.number).items():
                if status in ended:
                    ended[status].add((cell.number, episode))
        each = [run.wanted(cell) for cell in run.cells]
        shard = shard_of(run.share.part) if run.share else None
        row = {
            "folder": str(folder),
            "shard": str(shard or ""),
            COMPLETE: len(ended[COMPLETE]),
            WANTED: None if None in each else sum(filter(None, each)),
            VOID: len(ended[VOID]),
            FAILED: len(ended[FAILED]),
            "unfinished": sum(Counter(tallies.unfinished(run.store)).values()),
            "state": _state(run),
        }
        whole = [cell.wanted(most) for cell in run.cells]
        return _Part(row, shard, str(run.store.meta().get("sha256", "")), whole, ended)


def _state(run: Run) -> str:
    """Say whether a run is played, finished or broken off."""
    writer = writer_of(run.folder)
    if writer.who and writer.there is not False:
        return f"played by {writer.who}"
    if run.share is not None and not any(run.share.wanted):
        return "empty"
    lacks = lacking(run)
    if not lacks:
        return "finished"
    return f"{lacks:,} missing" + (", broken off" if writer.who else "")
