"""Make one run of the run folders of one experiment, such as its shards: what they hold together.

Each is checked when it is read. An episode that several hold must be the same in all of them, but
for what records say of the machine.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.outcomes import FAILED, UNFINISHED
from tomeval.runs.domain import get_domain
from tomeval.runs.folder import (
    at_rest,
    differing_words,
    locked,
    make_folder,
    planned,
    read_list,
    write_experiment,
)
from tomeval.runs.results import Run
from tomeval.runs.rows import Rows
from tomeval.runs.schema import unpack
from tomeval.runs.store import SESSIONS, Store

MEASURED = ("latency", "cached")
"""What a record says of the machine: seconds, and tokens that the model had read before."""


def merge(folders: Sequence[Path], out: Path) -> int:
    """Write what run folders of one experiment hold into a new one; return how many episodes.

    Raises
    ------
    TomevalError
        `out` exists; or a folder is no run, is damaged, in use, of another experiment or model
        revision, or holds an episode that differs from another folder's. Nothing is made then.
    """
    if out.exists():
        raise TomevalError(f"{out}: already exists; choose another folder with --out")
    with ExitStack() as held:
        runs = []
        for folder in sorted(folders):  # of equal episodes the first is taken
            if folder.is_dir():
                held.enter_context(at_rest(folder))
            runs.append(held.enter_context(Run(folder)))
        same_experiment(runs)
        make_folder(out)
        try:
            with locked(out):
                return _write(runs, out)
        except BaseException:
            shutil.rmtree(out, ignore_errors=True)
            raise


def same_experiment(runs: Sequence[Run]) -> None:
    """Refuse runs of different experiments."""
    for run in runs[1:]:
        if run.store.meta()["sha256"] != runs[0].store.meta()["sha256"]:
            words = differing_words(runs[0].store.identity(), run.store.identity())
            raise TomevalError(
                f"{run.folder}: holds a different experiment from {runs[0].folder} ({words})"
            )


def _write(runs: Sequence[Run], out: Path) -> int:
    domain, first = get_domain(runs[0].domain.name), runs[0].store
    episodes = max(planned(run.folder) or 0 for run in runs) or None
    write_experiment(out, domain.name, first.identity(), episodes)
    if entries := [entry for run in runs for entry in read_list(run.folder / SESSIONS)]:
        entries.sort(key=lambda entry: str(entry.get("started")))
        write_text(out / SESSIONS, json.dumps(entries, indent=1), own=True)
    with closing(Store(out, domain)) as store, store.together():
        store.begin(first.identity(), str(first.meta()["sha256"]))
        for run in runs:
            if run.until:
                raise TomevalError(f"{run.folder}: stops by a condition, so it is no part of a run")
            for model, revision in run.store.revisions().items():
                store.check_revision(model, revision)
            for number, _ in store.cells():
                _take_cell(store, run, number)
        for run in runs:
            over = store.finished()
            replies = run.store.all_replies()
            store.keep_replies(row for row in replies if row[1] not in over.get(row[0], ()))
        store.note_stops({cell: why for run in runs for cell, why in run.store.stops().items()})
        return sum(len(store.statuses(number)) for number, _ in store.cells())


def _take_cell(store: Store, run: Run, number: int) -> None:
    """Add a cell's episodes that the store has not, or only as broken off."""
    there = store.statuses(number)
    for episode, status in run.store.statuses(number).items():
        rows, over = run.store.played(number, episode), status not in (FAILED, UNFINISHED)
        if episode not in there or (over and there[episode] in (FAILED, UNFINISHED)):
            store.add(number, rows)
        elif over and (table := _difference(store.played(number, episode), rows)):
            raise TomevalError(
                f"{run.folder}: episode {episode} of cell {number} differs in its {table} from "
                "that of another folder; leave one of the two out"
            )


def _difference(one: Rows, other: Rows) -> str:
    """Return the table in which an episode differs; empty: in none."""
    for table in ("episodes", "steps", "answers"):
        if getattr(one, table) != getattr(other, table):
            return table
    calls = [[(*row[:-1], _bare(row[-1])) for row in rows.calls] for rows in (one, other)]
    return "" if calls[0] == calls[1] else "calls"


def _bare(record: bytes) -> Any:
    """Return a packed record without what it says of the machine."""

    def without(data: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key not in MEASURED}

    return json.loads(unpack(record), object_hook=without)
