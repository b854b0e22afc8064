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

from tomeval.report.tables import HEADINGS
from tomeval.runs import tallies
from tomeval.runs.results import Run, RunCell

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

    `planned` is how many episodes a cell was to have, None where that is not recorded; `names` are
    those of the tasks, by cell; `invalid` and `usage` are those of `tomeval.runs.tallies`.
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
        run.store.revisions(),
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
    """Yield the measures that have a value: name, mean, standard error (None: not defined)."""
    found = cell.estimate(cell.names)
    for name, mean, half in zip(cell.names, found.mean, found.half, strict=True):
        if math.isfinite(mean):
            yield name, float(mean), float(half) / 1.96 if math.isfinite(half) else None


def values(cell: RunCell) -> list[dict[str, float]]:
    """Return the measures of every complete episode, those that have a value."""
    found = cell.metrics()
    return [
        {name: float(column[i]) for name, column in found.items() if math.isfinite(column[i])}
        for i in range(len(cell.episodes))
    ]


def started(run: Run) -> datetime:
    """Return when the run was begun; the first moment of 1970 where that is not recorded."""
    for session in _sessions(run):
        with suppress(KeyError, TypeError, ValueError):
            return datetime.fromisoformat(session["started"]).astimezone(UTC)
    return _UNKNOWN_DATE


def _sessions(run: Run) -> list[dict[str, Any]]:
    """Return the recorded sessions; none where the file is missing or cannot be read."""
    try:
        found = json.loads((run.folder / "sessions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _planned(run: Run) -> int | None:
    try:
        found = json.loads((run.folder / "experiment.json").read_text(encoding="utf-8"))
        return int(found["episodes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def task(cell: RunCell) -> dict[str, str | int]:
    """Return the columns that say what is played; in most games also against whom."""
    names = cell.domain.task_of(cell, cell.domain.by[0])
    return {name: value for name, value in cell.columns.items() if name in names}


def players(cell: RunCell) -> dict[str, str | int]:
    """Return the columns that say who is measured."""
    played = task(cell)
    return {name: value for name, value in cell.columns.items() if name not in played}


def model_text(cell: RunCell) -> str:
    """Return the names of a cell's language models, or an empty text."""
    return " + ".join(dict.fromkeys(cell.models.values()))


def revision_text(cell: RunCell, facts: Facts) -> str:
    """Return the revisions of a cell's language models where they are known."""
    found = (facts.revisions.get(name, "") for name in cell.models.values())
    return " + ".join(dict.fromkeys(filter(None, found)))


def task_text(cell: RunCell) -> str:
    """Name what is played in a few words."""
    return cell.domain.task_words(task(cell)) or cell.domain.title


def task_names(cells: Sequence[RunCell]) -> dict[int, str]:
    """Return a name per cell that tells its task from others': safe in a file name.

    Seed, reference and policy are part of it where the run has several; names that still are the
    same for two cells of the same players get a number.
    """
    vary = [
        key
        for key in ("seed", "reference", "on_invalid")
        if len({str(cell.facts[key]) for cell in cells}) > 1
    ]
    names: dict[int, str] = {}
    taken: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        parts = [
            value if isinstance(value, str) else f"{HEADINGS.get(name, name)}{value}"
            for name, value in task(cell).items()
        ]
        parts += [f"{key}-{cell.facts[key]}" for key in vary]
        name = safe("_".join(filter(None, parts)) or cell.domain.name)
        key = (repr(players(cell)), name)
        taken[key] += 1
        names[cell.number] = name if taken[key] == 1 else f"{name}_{taken[key]}"
    return names


def safe(text: str) -> str:
    """Return a text with letters, digits, points, hyphens and underscores only.

    Examples
    --------
    >>> safe("S2A + CoT"), safe("hf:Org/Model@main")
    ('S2A-CoT', 'hf-Org-Model-main')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "unnamed"


def folder_names(texts: Sequence[str]) -> dict[str, str]:
    """Return a safe name per text, each different even where letters' case is ignored."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        name, number = safe(text), 1
        while name.casefold() in taken:
            number += 1
            name = f"{safe(text)}_{number}"
        taken.add(name.casefold())
        names[text] = name
    return names


def digest(*parts: object) -> str:
    """Return a hash of JSON-ready parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
