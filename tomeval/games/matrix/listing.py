"""What can be listed of matrix games: games, partners, subjects, label sets, bounds."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tomeval.core.extensions import parts
from tomeval.core.resources import read_toml
from tomeval.games.matrix.bounds import CEILINGS, blind_sentences, bounds, opened
from tomeval.games.matrix.experiment import MatrixCell
from tomeval.games.matrix.games import GAMES, MatrixGame
from tomeval.games.matrix.optima import relevance
from tomeval.games.matrix.partner_files import partner_file, partner_names
from tomeval.games.matrix.partner_specs import SETS
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.subjects import all_subjects

Rows = list[dict[str, Any]]


def games() -> Rows:
    """Return the built-in games."""
    return [
        {
            "game": game.name,
            "title": game.title,
            "actions": f"{game.n} x {game.m}",
            "wording": game.wording,
            "payoffs (own, partner)": "  ".join(
                " ".join(f"{own:g},{partner:g}" for own, partner in row)
                for row in game.payoffs.tolist()
            ),
            "source": game.source,
        }
        for game in GAMES.values()
    ]


def partners() -> Rows:
    """Return the shipped partners and partner sets."""
    rows: Rows = [
        {
            "partner": name,
            "parameters": "",
            "fits": "any game",
            "title": "A set: every always(k), each equally likely",
            "source": "Riemer et al. 2025, arXiv 2412.19726",
        }
        for name in SETS
    ]
    for name in partner_names():
        data = read_toml(partner_file(name))
        defaults = data.get("parameters", {})
        actions = data.get("actions")
        copies = data.get("rule", {}).get("response") == "copy"
        fits = "any game with n = m" if copies else "any game"
        rows.append(
            {
                "partner": name,
                "parameters": ", ".join(f"{key}={value}" for key, value in defaults.items()),
                "fits": " x ".join(map(str, actions)) if actions else fits,
                "title": data["title"],
                "source": data["source"],
            }
        )
    for source, library in parts("partners").items():
        row = {"partner": f"{source}:NAME", "parameters": "", **library._asdict()}
        rows.append({name: value for name, value in row.items() if name != "build"})
    return rows


def subjects() -> Rows:
    """Return the kinds of subject with their options."""
    rows = []
    for kind, subject in all_subjects().items():
        options = subject.options().items()
        about = inspect.getdoc(subject) or ""
        rows.append(
            {
                "subject": kind,
                "options": ", ".join(f"{name}={default}" for name, default in options),
                "about": " ".join(about.split("\n\n")[0].split()),
            }
        )
    return rows


def labels() -> Rows:
    """Return every label set of every built-in game."""
    return [
        {"game": game.name, "labels": name, "names": ", ".join(label_set.own)}
        for game in GAMES.values()
        for name, label_set in game.labels.items()
    ]


def bounds_rows(
    game: str, partner_set: str, horizon: int, reference: str
) -> tuple[Rows, list[str]]:
    """Return the bounds of a cell, per partner and for the whole set, and lines on what it tells.

    The first line is its relevance; the others say what its measures cannot tell.
    """
    found, partners = opened(game, partner_set)
    rows = _of_set(found, partners, horizon, reference)
    what = "relevance (regret per step of the best response to the wrong partner)"
    said = f"{relevance(found, partners, horizon):.6g}"
    if len(partners.partners) == 1:
        said += " (only one partner, nothing to tell apart)"
    return rows, [f"{what}: {said}", *blind_sentences([(found, partners, horizon)])]


def _of_set(game: MatrixGame, partners: PartnerSet, horizon: int, reference: str) -> Rows:
    """Return the bounds of each partner of a set, and last, if there are several, their mean."""
    rows = [dataclasses.asdict(row) for row in bounds(game, partners, horizon, reference)]
    if len(rows) > 1:
        weighted = ("best", "worst", "stationary", "regret_min", "regret_max", *CEILINGS)
        whole: dict[str, Any] = {"partner": f"{partners.name} (mean)", "weight": 1.0}
        whole |= {key: sum(row["weight"] * row[key] for row in rows) for key in weighted}
        whole["misprediction_min"] = min(row["misprediction_min"] for row in rows)
        whole["misprediction_max"] = max(row["misprediction_max"] for row in rows)
        rows.append({key: whole[key] for key in rows[0]})
    return rows


def experiment_bounds(cells: Sequence[MatrixCell]) -> Rows:
    """Return what is attainable in each task of an experiment, one row for a set of partners.

    Tasks with a player in the partner's seat have no row: it has no table.
    """
    by_task: dict[tuple[Any, ...], dict[str, Any]] = {}
    for cell in cells:
        setup, partners = cell.setup, cell.setup.partners
        task = (setup.game.name, partners.name, setup.horizon, cell.reference)
        if task not in by_task and isinstance(partners, PartnerSet):
            names = ("game", "partners", "horizon", "reference")
            row = _of_set(setup.game, partners, setup.horizon, cell.reference)[-1]
            told = {key: value for key, value in row.items() if key not in ("partner", "weight")}
            by_task[task] = dict(zip(names, task, strict=True)) | told
    return list(by_task.values())


LISTS: dict[str, Callable[[], Rows]] = {
    "games": games,
    "partners": partners,
    "subjects": subjects,
    "labels": labels,
}
"""What ``tomeval list`` can list of this domain."""
