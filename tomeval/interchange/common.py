"""What the formats of other tools share: names, dates, episodes as read from the store."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tomeval.plots.output import distinct
from tomeval.report.facts import read_json
from tomeval.runs import tallies
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import HEADINGS
from tomeval.runs.results import Run

_UNKNOWN_DATE = datetime(1970, 1, 1, tzinfo=UTC)


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

    `planned` is the number of episodes planned per cell, None if it is not recorded; `names` has
    the name of each cell's task; `invalid` and `usage` are those of `tomeval.runs.tallies`.
    """

    sha256: str
    started: datetime
    session: dict[str, Any]
    planned: int | None
    names: dict[int, str]
    revisions: dict[str, str]
    invalid: dict[int, float]
    usage: dict[int, dict[str, float]]


def facts(run: Run) -> Facts:
    """Read what holds for all cells of a run."""
    return Facts(
        str(run.store.meta().get("sha256", "")),
        started(run),
        next(iter(_sessions(run)), {}),
        _planned(run),
        task_names(run.cells),
        run.revisions,
        tallies.invalid_rates(run.store),
        tallies.usage(run.store),
    )


def episodes(run: Run, cell: RunCell) -> Iterator[Episode]:
    """Yield a cell's episodes of any status, in order; one is in memory at a time."""
    typed = list(run.domain.schema.episodes)
    columns = ", ".join(["episode", "status", *typed])
    for number, status, *values in run.store.query(
        f"SELECT {columns} FROM episodes WHERE cell = ? ORDER BY episode", (cell.number,)
    ):
        drawn = dict(zip(typed, cell.shown_episode(values), strict=True))
        yield Episode(number, status, drawn, list(run.store.calls(cell.number, number)))


def means(cell: RunCell) -> Iterator[tuple[str, float, float | None]]:
    """Yield the measures that have a value: name, mean, standard error (None if undefined)."""
    for name, mean in zip(cell.names, cell.estimate(cell.names).mean.tolist(), strict=True):
        if math.isfinite(mean):
            error = cell.standard_error(name)
            yield name, mean, error if math.isfinite(error) else None


def values(cell: RunCell) -> list[dict[str, float]]:
    """Return, for every complete episode, the measures that have a value."""
    found = cell.metrics()
    return [
        {name: float(column[i]) for name, column in found.items() if math.isfinite(column[i])}
        for i in range(len(cell.episodes))
    ]


def started(run: Run) -> datetime:
    """Return when the run began; the first moment of 1970 if that is not recorded."""
    for session in _sessions(run):
        with suppress(KeyError, TypeError, ValueError):
            return datetime.fromisoformat(session["started"]).astimezone(UTC)
    return _UNKNOWN_DATE


def _sessions(run: Run) -> list[dict[str, Any]]:
    """Return the recorded sessions; none if the file is missing or cannot be read."""
    found = read_json(run, "sessions.json")
    return found if isinstance(found, list) else []


def _planned(run: Run) -> int | None:
    try:
        return int(read_json(run, "experiment.json")["episodes"])
    except (ValueError, KeyError, TypeError):
        return None


def players(cell: RunCell) -> dict[str, str | int]:
    """Return the columns that say who is measured."""
    task = cell.shown_task
    return {name: value for name, value in cell.columns.items() if name not in task}


def model_text(cell: RunCell) -> str:
    """Return the names of a cell's language models, or an empty text."""
    return " + ".join(dict.fromkeys(cell.models.values()))


def revision_text(cell: RunCell, facts: Facts) -> str:
    """Return the known revisions of a cell's language models."""
    found = (facts.revisions.get(name, "") for name in cell.models.values())
    return " + ".join(dict.fromkeys(filter(None, found)))


def task_text(cell: RunCell) -> str:
    """Name what is played in a few words."""
    return cell.domain.task_words(cell.shown_task) or cell.domain.title


def task_names(cells: Sequence[RunCell]) -> dict[int, str]:
    """Return a name per cell that tells its task from others and is safe in a file name.

    Seed, reference and policy are part of it if the run has several; names that are still the same
    for two cells of the same players get a number.
    """
    settings = ("seed", "reference", "on_invalid")
    vary = [key for key in settings if len({str(cell.facts[key]) for cell in cells}) > 1]
    names: dict[int, str] = {}
    taken: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        parts = [
            value if isinstance(value, str) else f"{HEADINGS.get(name, name)}{value}"
            for name, value in cell.shown_task.items()
        ]
        parts += [f"{key}-{cell.facts[key]}" for key in vary]
        name = safe("_".join(filter(None, parts)) or cell.domain.name)
        key = (repr(players(cell)), name)
        taken[key] += 1
        names[cell.number] = name if taken[key] == 1 else f"{name}_{taken[key]}"
    return names


def safe(text: str) -> str:
    """Return at most 100 letters, digits, points, hyphens and underscores for a text.

    Examples
    --------
    >>> safe("S2A + CoT"), safe("hf:Org/Model@main")
    ('S2A-CoT', 'hf-Org-Model-main')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:100].rstrip("-.") or "unnamed"


def folder_names(texts: Sequence[str]) -> dict[str, str]:
    """Return a safe name per text, each different even if the case of letters is ignored."""
    different = list(dict.fromkeys(texts))
    return dict(zip(different, distinct(map(safe, different)), strict=True))


def digest(*parts: object) -> str:
    """Return a hash of JSON-ready parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
