"""What logs for other tools share: what holds for a run, and its episodes as they are stored."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from tomeval.report.exchange import sessions, started, task_names
from tomeval.runs import tallies
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run


class Episode(NamedTuple):
    """One stored episode of any status.

    `drawn` holds the domain's columns of it, such as its partner; `calls` step, seat, form and
    record of its model calls.
    """

    number: int
    status: str
    drawn: dict[str, Any]
    calls: list[tuple[int, str, str, dict[str, Any]]]


class Facts(NamedTuple):
    """What holds for all cells of a run, read once.

    `names` has the name of each cell's task, `recorded` its number of stored episodes; `invalid`
    and `usage` are those of `tomeval.runs.tallies`.
    """

    sha256: str
    started: datetime
    session: dict[str, Any]
    names: dict[int, str]
    recorded: dict[int, int]
    revisions: dict[str, str]
    invalid: dict[int, float]
    usage: dict[int, dict[str, float]]


def facts(run: Run) -> Facts:
    """Read what holds for all cells of a run."""
    return Facts(
        str(run.store.meta().get("sha256", "")),
        started(run),
        next(iter(sessions(run)), {}),
        task_names(run.cells),
        {cell: sum(by.values()) for cell, by in tallies.episodes(run.store).items()},
        run.revisions,
        tallies.invalid_rates(run.store),
        tallies.usage(run.store),
    )


def episodes(run: Run, cell: RunCell) -> Iterator[Episode]:
    """Yield a cell's episodes of any status, in order; one is in memory at a time."""
    typed = list(run.domain.read.schema.episodes)
    names = ("episode", "status", *typed)
    for number, status, *values in list(run.store.read("episodes", names, cell.number)):
        drawn = dict(zip(typed, cell.shown_episode(values), strict=True))
        yield Episode(number, status, drawn, list(run.store.calls(cell.number, number)))


def values(cell: RunCell) -> list[dict[str, float]]:
    """Return, for every complete episode, what it adds to the mean of each measure, if anything."""
    metrics = {name: cell.totals(name).parts for name in cell.names}
    return [
        {name: float(column[i]) for name, column in metrics.items() if math.isfinite(column[i])}
        for i in range(len(cell.episodes))
    ]


def model_text(cell: RunCell) -> str:
    """Return the names of a cell's language models, or an empty text."""
    return " + ".join(dict.fromkeys(cell.models.values()))


def revision_text(cell: RunCell, facts: Facts) -> str:
    """Return the known revisions of a cell's language models."""
    revisions = (facts.revisions.get(name, "") for name in cell.models.values())
    return " + ".join(dict.fromkeys(filter(None, revisions)))


def digest(*parts: object) -> str:
    """Return a hash of JSON-ready parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
