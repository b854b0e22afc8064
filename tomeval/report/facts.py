"""What a report says of the run itself: sizes, models, partners, sessions and versions."""

from __future__ import annotations

import json
from typing import Any

from tomeval.report.episodes import Episodes
from tomeval.runs.results import Run

_OWN_TABLE = ("model", "strategy")  # options that have columns of their own


def read_json(run: Run, name: str) -> Any:
    """Return a JSON file of the run folder, or None where it is missing or cannot be read."""
    try:
        return json.loads((run.folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # an analysis needs the store only; the page warns of the gap


def sizes(run: Run, episodes: Episodes) -> list[tuple[str, str]]:
    """Return the figures at the top of the page: (number, of what)."""
    cells = run.cells
    games = len({cell.game.name for cell in cells})
    subjects = len({cell.title for cell in cells})  # one asked of two models is two
    rows = [
        (subjects, "subject", "subjects"),
        (games, "game", "games"),
        (len(cells), "cell", "cells"),
        (episodes.total, "episode", "episodes"),
        (episodes.steps, "step", "steps"),
    ]
    calls = sum(row["calls"] for row in run.store.usage().values())
    if calls:
        rows.append((int(calls), "model call", "model calls"))
    return [(f"{count:,}", one if count == 1 else many) for count, one, many in rows]


def settings(run: Run) -> list[tuple[str, str]]:
    """Return what was run, as (what, values)."""
    definitions = [cell.definition for cell in run.cells]
    found: list[tuple[str, str]] = [("experiment", str(run.store.meta().get("name", "")))]
    for what, values in (
        ("games", [f"{cell.game.name}: {cell.game.title}" for cell in run.cells]),
        ("labels", [cell.labels.name for cell in run.cells]),
        ("partner sets", [d["partners"]["name"] for d in definitions]),
        ("subjects", [d["subject"] for d in definitions]),
        ("horizon T", [d["horizon"] for d in definitions]),
        ("seeds", [d["seed"] for d in definitions]),
        ("regret is measured from", [d["reference"] for d in definitions]),
        ("an invalid answer", [_POLICIES.get(d["on_invalid"], "") for d in definitions]),
    ):
        names = [str(value) for value in dict.fromkeys(values) if value != ""]
        if names:
            found.append((what, "; ".join(names)))
    found.append(("identity (SHA-256)", str(run.store.meta().get("sha256", ""))))
    return found


_POLICIES = {
    "void": "ends its episode, which counts in no metric (void)",
    "random": "is replaced by a random legal action (random)",
    "stop": "stops the run (stop)",
}


def subjects(run: Run) -> list[dict[str, str]]:
    """Return one row per subject: kind, model with its revision, and the options."""
    revisions = dict(run.store.query("SELECT cell, revision FROM cells"))
    rows: dict[str, dict[str, str]] = {}
    for cell in run.cells:
        data = cell.definition
        options = {k: v for k, v in data.get("options", {}).items() if k not in _OWN_TABLE}
        row = {
            "subject": data["subject"],
            "kind": data.get("kind", ""),
            "model": data.get("model", ""),
            "revision": revisions.get(cell.number, ""),
            "strategy": data.get("strategy", ""),
            "options": ", ".join(f"{k} {_said(v)}" for k, v in options.items()),
            "templates": str(data.get("templates", ""))[:12],
        }
        rows.setdefault(json.dumps(row, sort_keys=True), row)
    return list(rows.values())


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def partners(run: Run) -> list[dict[str, str]]:
    """Return one row per partner, with its title, source and fingerprint."""
    rows: dict[str, dict[str, str]] = {}
    for cell in run.cells:
        data = cell.definition["partners"]
        for table, weight in zip(data["tables"], data["weights"], strict=True):
            row = {
                "set": data["name"],
                "game": cell.game.name,
                "partner": table["name"],
                "share": f"{100 * weight:.3g} %",
                "title": table["title"],
                "source": table["source"],
                "fingerprint": table["sha256"][:12],
            }
            rows.setdefault(json.dumps(row, sort_keys=True), row)
    return list(rows.values())


def payoffs(run: Run) -> list[dict[str, Any]]:
    """Return every game under every label set: labels and a matrix of (own, partner's) payoffs."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in run.cells:
        matrix = [[f"{own:g}, {their:g}" for own, their in row] for row in cell.game.payoffs]
        found[cell.game.name, cell.labels.name] = {
            "game": cell.game.name,
            "title": cell.game.title,
            "source": cell.game.source,
            "labels": cell.labels.name,
            "own": cell.labels.own,
            "partner": cell.labels.partner,
            "rows": matrix,
        }
    return list(found.values())


def sessions(run: Run) -> list[dict[str, str]]:
    """Return when, with what and from which commit the run was started and resumed."""
    rows = []
    for entry in read_json(run, "sessions.json") or []:
        versions = entry.get("versions", {})
        rows.append(
            {
                "started": str(entry.get("started", "")),
                "python": str(entry.get("python", "")),
                "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
                "commit": str(entry.get("tomeval_commit") or ""),
            }
        )
    return rows
