"""The arena as a domain: games of two or more, with talk, hidden roles and teams."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tomeval.games.answer import RULE, verdict
from tomeval.games.arena.cells import SUBJECT, slot_name
from tomeval.games.arena.experiment import ArenaExperiment
from tomeval.games.arena.measures import MEASURES
from tomeval.games.arena.players import together
from tomeval.games.arena.replaying import game_lines
from tomeval.games.arena.results import DECIDING, SCHEMA, ArenaRunCell, step_records
from tomeval.games.arena.scripts import SCRIPTS
from tomeval.games.arena.tables import result_rows, run_facts, run_notes
from tomeval.games.cells import play_of
from tomeval.games.players import worded
from tomeval.games.records import as_record
from tomeval.runs.cell import RunCell
from tomeval.runs.columns import Table, never
from tomeval.runs.domain import Domain, Worded, later


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


def _level(cell: RunCell, by: str) -> str:
    """Return a cell's level: who has no strategy, or no model, is one of its own."""
    return str(cell.columns[by] or cell.columns["player"])


def _held(cell: RunCell, by: str) -> str:
    """Return the model, of which all players are alike where strategies are compared."""
    names = ("model",) if by == "strategy" else ("player", "strategy", "model")
    return ", ".join(str(cell.columns[n]) for n in names if n != by and cell.columns[n] != "")


def _worded(cell: RunCell) -> Worded | None:
    """Return how the subject is asked."""
    return worded(cell.definition["players"][0])


def _content(cell: RunCell) -> dict[tuple[str, ...], str]:
    """Return the parameters of the game by its name."""
    game = cell.definition["game"]
    return {("game", game["name"]): json.dumps([game["kind"], game["rules"]], sort_keys=True)}


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
    step_records=step_records,
    headline=("delta_functional_per_decision", "tom_percent", "reward", "win_percent"),
    lines=game_lines,
    tables={
        "results": Table("the main measures, and errors", result_rows, reported=never),
    },
    figures={"plane": "tomeval.games.plane:plane"},
    verdict=verdict(PUBLISHED, PUBLISHED, f"{RULE} {DECIDING}"),
    own_seat=SUBJECT,
    facts=run_facts,
    table_notes=lambda run, names: run_notes(run),
    by=("player", "strategy", "model", "game", "others"),
    task=("game", "others", "on_invalid", "attempts"),
    panel=("game", "others"),
    unit="deal",
    shares_draws=("game",),
    task_words=_words,
    level=_level,
    held=_held,
    held_name=lambda by: "model" if by == "strategy" else "player",
    worded=_worded,
    content=_content,
    questions=later(f"{_DESCRIBED}:episodes"),
    example=later(f"{_DESCRIBED}:example_cell"),
    bounds=later(f"{_DESCRIBED}:bounds_rows"),
    lists={
        "arena_games": f"{_DESCRIBED}:listed_games",
        "arena_players": f"{_DESCRIBED}:listed_players",
    },
    scripts=SCRIPTS,
)
