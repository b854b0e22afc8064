"""What the formats of other tools share: names, dates, episodes as read from the store."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.runs.results import Run, RunCell

_UNKNOWN_DATE = datetime(1970, 1, 1, tzinfo=UTC)


class Step(NamedTuple):
    """One stored step: labels in place of actions, None where there is none."""

    number: int
    own: str | None
    partner: str
    predicted: str | None
    reward: float | None
    act_outcome: str
    predict_outcome: str


class Episode(NamedTuple):
    """One stored episode; `calls` holds (step, purpose, record) of its model calls."""

    number: int
    partner: str
    status: str
    steps: list[Step]
    calls: list[tuple[int, str, dict[str, Any]]]


def episodes(run: Run, cell: RunCell) -> Iterator[Episode]:
    """Yield a cell's episodes of any status, in order; one is in memory at a time."""
    for number, partner, status in run.store.query(
        "SELECT episode, partner, status FROM episodes WHERE cell = ? ORDER BY episode",
        (cell.number,),
    ):
        place = (cell.number, number)
        rows = run.store.query(
            "SELECT step, own_action, partner_action, predicted_action, own_reward, act_outcome, "
            "predict_outcome FROM steps WHERE cell = ? AND episode = ? ORDER BY step",
            place,
        )
        calls = run.store.query(
            "SELECT step, form, record FROM calls WHERE cell = ? AND episode = ? ORDER BY call",
            place,
        )
        yield Episode(
            number,
            cell.partners[partner].name,
            status,
            [_step(cell, row) for row in rows],
            [(step, form, json.loads(record)) for step, form, record in calls],
        )


def _step(cell: RunCell, row: tuple[Any, ...]) -> Step:
    """Return a stored step with labels."""
    number, own, theirs, predicted, reward, act, predict = row
    labels = cell.labels
    return Step(
        number,
        None if own is None else labels.own[own],
        labels.partner[theirs],
        None if predicted is None else labels.partner[predicted],
        reward,
        act,
        predict,
    )


def started(run: Run) -> datetime:
    """Return when the run was begun; the first moment of 1970 where that is not recorded."""
    for session in sessions(run):
        with suppress(KeyError, TypeError, ValueError):
            return datetime.fromisoformat(session["started"]).astimezone(UTC)
    return _UNKNOWN_DATE


def sessions(run: Run) -> list[dict[str, Any]]:
    """Return the recorded sessions; none where the file is missing or cannot be read."""
    try:
        found = json.loads((run.folder / "sessions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def planned(run: Run) -> int | None:
    """Return how many episodes a cell was to have; None where that is not recorded."""
    try:
        found = json.loads((run.folder / "experiment.json").read_text(encoding="utf-8"))
        return int(found["episodes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def revisions(run: Run) -> dict[int, str]:
    """Return the revision of every cell's model, as recorded when it was played."""
    return dict(run.store.query("SELECT cell, revision FROM cells"))


def task_names(cells: Sequence[RunCell]) -> dict[int, str]:
    """Return a name per cell that tells its task from others': safe in a file name.

    Seed, reference and policy are part of it where the run has several; names that still are the
    same for two cells of one subject get a number.
    """
    vary = [
        key
        for key in ("seed", "reference", "on_invalid")
        if len({str(cell.definition[key]) for cell in cells}) > 1
    ]
    names: dict[int, str] = {}
    taken: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        row = cell.labels_of_row()
        parts = [row["game"], row["labels"], row["partners"], f"T{row['horizon']}"]
        parts += [f"{key}-{cell.definition[key]}" for key in vary]
        name = safe("_".join(map(str, parts)))
        key = (str(row["subject"]) + str(row["model"]), name)
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


def write_text(path: Path, text: str) -> Path:
    """Write a file, whole or not at all, and the folders above it."""
    draft = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, path)
    except OSError as error:
        raise TomevalError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            draft.unlink()
    return path
