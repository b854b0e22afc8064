"""The arena as a domain: games of two or more, with talk, hidden roles and teams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tomeval.games.answer import RULE, score_notes, verdict
from tomeval.games.arena.cells import slot_name
from tomeval.games.arena.experiment import ArenaExperiment
from tomeval.games.arena.measures import MEASURES
from tomeval.games.arena.players import together
from tomeval.games.arena.results import DECIDING, SCHEMA, ArenaRunCell
from tomeval.games.cells import play_of
from tomeval.games.players import in_words, player_facts
from tomeval.games.records import as_record
from tomeval.runs.columns import unique
from tomeval.runs.domain import Domain, Facts, later
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run


def _columns(definition: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the measured player, the game and the other players."""
    subject, *others = definition["players"]
    return {
        "player": subject["name"],
        "model": subject["model"],
        "strategy": subject["strategy"],
        "game": definition["game"]["name"],
        "others": together([player["name"] for player in others]),
    }


def _words(task: Mapping[str, Any]) -> str:
    """Return a task in words, such as "ipd3 with grim + tft"."""
    shown = {name: value for name, value in task.items() if name in ("game", "others")}
    return " with ".join(str(value) for value in shown.values() if value != "")


def run_facts(run: Run) -> list[Facts]:
    """Return players with options, and games with rules."""
    cells = _cells(run)
    return [
        player_facts(data for cell in cells for data in cell.definition["players"]),
        Facts("Games", [("Games with their parameters", unique(map(_game, cells)))]),
    ]


def _game(cell: ArenaRunCell) -> dict[str, Any]:
    rules = cell.definition["game"]["rules"]
    return {
        "game": cell.table.name,
        "kind": cell.table.kind.title,
        "seats": cell.table.game.seats,
        "parameters": in_words(rules),
    }


def _cells(run: Run) -> list[ArenaRunCell]:
    return [cell for cell in run.cells if isinstance(cell, ArenaRunCell)]


def run_notes(run: Run) -> list[str]:
    """Return what a reader must know before any number of the run."""
    notes, unknown = [], list[str]()
    some = False
    for cell in _cells(run):
        valued = np.isfinite(cell.played["regret"])
        some |= bool(valued.any() and not valued[cell.played["own"]].all())
        if cell.definition["values"] and len(valued) and not valued.any():
            unknown.append(cell.name)
    if any("matches" in cell.definition for cell in _cells(run)):
        notes.append(
            "Games played elsewhere: the players' policies are unknown, so there is no ΔFunctional "
            "and no attainable ToM %; deals are known only as far as they were recorded."
        )
    if some:
        notes.append(
            "V* and Q* are known of a part of the decisions (exact %), which is no random sample: "
            "ΔFunctional is of these."
        )
    if unknown:
        notes.append(
            "No V*, Q* or ΔFunctional, because others have no known policy (models, random "
            "players, rules broken at a cost) or the game is too large against them: "
            f"{first_names(unknown)}."
        )
    return [*notes, *score_notes(run)]


_DESCRIBED = "tomeval.games.arena.described"

PUBLISHED = ("tom_percent", "delta_functional_per_decision")

ARENA = Domain(
    name="arena",
    title="games of two or more players, with talk, hidden roles and teams",
    experiment=ArenaExperiment,
    measures=MEASURES,
    **play_of(lambda cell, game: as_record(game, slot_name)),
    schema=SCHEMA,
    columns=_columns,
    run_cell=ArenaRunCell,
    headline=("delta_functional_per_decision", "tom_percent", "reward", "win_percent"),
    figures={"plane": "tomeval.games.plane:plane"},
    published="tomeval.games.arena.reported",
    verdict=verdict(PUBLISHED, PUBLISHED, f"{RULE} {DECIDING}"),
    facts=run_facts,
    table_notes=lambda run, names: run_notes(run),
    by=("player", "strategy", "model", "game", "others"),
    task=("game", "others", "on_invalid", "attempts"),
    unit="deal",
    shares_draws=("game",),
    task_words=_words,
    questions=later("tomeval.games.sampled:episodes"),
    example=later(f"{_DESCRIBED}:example_cell"),
    bounds=later(f"{_DESCRIBED}:bounds_rows"),
    lists={
        "arena_games": f"{_DESCRIBED}:listed_games",
        "arena_players": f"{_DESCRIBED}:listed_players",
    },
)
