"""How far the run folders of one experiment are, such as its shards: each, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.outcomes import COMPLETE, FAILED, VOID
from tomeval.extensions.shards.merging import lacking, same_experiment
from tomeval.extensions.shards.sharding import Shard, missing_shards, shard_of
from tomeval.runs import tallies
from tomeval.runs.database import NothingPlayed
from tomeval.runs.folder import planned
from tomeval.runs.results import WANTED, Run
from tomeval.runs.writer import writer_of

TOTAL = "total"
_COLUMNS = ("folder", "shard", COMPLETE, VOID, FAILED, WANTED, "unfinished", "state")
_ENDED = (COMPLETE, VOID, FAILED)


class Gathered(NamedTuple):
    """A row per folder and, last, one for all of them; and the shards that are not there."""

    rows: list[dict[str, Any]]
    missing: list[Shard]


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
    runs, idle = [], []
    with ExitStack() as opened:
        for folder in folders:
            try:
                runs.append(opened.enter_context(Run(folder, where)))
            except NothingPlayed:
                idle.append({"folder": str(folder), "shard": "", "state": "nothing played yet"})
        same_experiment(runs)
        parts = [(_shard(run), _row(run), run) for run in runs]
        parts.sort(key=lambda part: (part[0] is not None, part[0] or Shard(1, 1)))
        total = _total([run for *_, run in parts])
        wanted = [[cell.wanted(most) for cell in run.cells] for run in runs]
    shards = [shard for shard, *_ in parts]
    missing = missing_shards(shards)
    if shards and None not in shards and not missing and len(set(shards)) == len(shards):
        total[WANTED] = sum(row[WANTED] for _, row, _ in parts)
    else:
        total[WANTED] = sum(map(min, zip(*wanted, strict=True)))
    total["unfinished"] = sum(row["unfinished"] for _, row, _ in parts)
    lacks = max(0, total[WANTED] - total[COMPLETE] - total[VOID])
    total["state"] = f"{lacks:,} missing" if lacks else "finished"
    rows = [*(row for _, row, _ in parts), *idle, total]
    return Gathered(
        [{name: row.get(name) for name in _COLUMNS} for row in rows], missing if lacks else []
    )


def _shard(run: Run) -> Shard | None:
    return shard_of(run.share.part) if run.share else None


def _ended(run: Run) -> dict[str, set[tuple[int, int]]]:
    """Return the episodes that are over, by how they ended."""
    ended: dict[str, set[tuple[int, int]]] = {status: set() for status in _ENDED}
    for cell in run.cells:
        for episode, status in run.store.statuses(cell.number).items():
            if status in ended:
                ended[status].add((cell.number, episode))
    return ended


def _total(runs: Sequence[Run]) -> dict[str, Any]:
    """Count the episodes of all folders; failed ones only if they did in all that have them."""
    each = [_ended(run) for run in runs]
    all_of = {s: set[tuple[int, int]]().union(*(ended[s] for ended in each)) for s in _ENDED}
    all_of[FAILED] -= all_of[COMPLETE] | all_of[VOID]
    return {"folder": TOTAL, "shard": "", **{s: len(all_of[s]) for s in _ENDED}}


def _row(run: Run) -> dict[str, Any]:
    each = [run.wanted(cell) for cell in run.cells]
    return {
        "folder": str(run.folder),
        "shard": str(_shard(run) or ""),
        **{status: len(episodes) for status, episodes in _ended(run).items()},
        WANTED: None if None in each else sum(filter(None, each)),
        "unfinished": sum(tallies.unfinished(run.store).values()),
        "state": _state(run),
    }


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
