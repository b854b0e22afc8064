"""The arena as a domain: games of two or more, with talk, hidden roles and teams.

And what people read first of a run: the main measures row by row, and facts and notes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.answer import RULE, score_notes, verdict
from tomeval.games.arena.cells import slot_name
from tomeval.games.arena.experiment import ArenaExperiment
from tomeval.games.arena.measures import MEASURES
from tomeval.games.arena.players import together
from tomeval.games.arena.records import GameRecord, Records, Row, deals, game_records, share
from tomeval.games.arena.results import DECIDING, SCHEMA, ArenaRunCell
from tomeval.games.cells import play_of
from tomeval.games.players import player_row
from tomeval.games.records import as_record
from tomeval.runs.columns import Table, as_text, flat, is_interval, never, unique
from tomeval.runs.domain import Domain, Facts, Rows, later
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run
from tomeval.statistics import estimate


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


SHOWN: tuple[str, ...] = ("delta_functional_per_decision", "exact_percent")
SHOWN += ("delta_tom_per_decision", "delta_tom_known_percent", "tom_percent")
SHOWN += ("tom_attainable_percent", "reward", "win_percent")
"""The measures of the first table, in its order; the table of cells has all."""


def result_rows(run: Run, by: Sequence[str]) -> Rows:
    """Return a row per cell with the main measures, see `SHOWN`, and errors."""
    if by:
        raise TomevalError("the table of results has a row per line-up and seed: leave out --by")
    games: dict[int, list[GameRecord]] = {cell.number: [] for cell in run.cells}
    for record in game_records(run):
        games[record.cell].append(record)
    rows = []
    for cell, row in zip(run.cells, run.rows(), strict=True):
        shown = {name: row[name] for name in row if name not in MEASURES and not is_interval(name)}
        last = {name: shown.pop(name) for name in ("interval", "seed", "on_invalid")}
        for name in SHOWN:
            shown |= {key: row[key] for key in row if key == name or _of(key, name)}
        errors = subject_errors(games[cell.number])
        if cell.each_once:  # as for measures: the games are no sample
            errors |= dict.fromkeys(filter(is_interval, errors), math.nan)
        rows.append(shown | errors | last)
    return rows


def _of(key: str, name: str) -> bool:
    """Return whether a column belongs to the interval of a measure."""
    return is_interval(key) and key.removeprefix(name) in ("_ci95", "_ci95_low", "_ci95_high")


def subject_errors(records: Records) -> Row:
    """Return errors of one line-up as the measured seat caused and witnessed them, in all games.

    ``void`` games have no other measure: they were not played to their end. The shares are as in
    `error_rows`, of the seat instead of all seats of its player; ``refused_per_game`` counts its
    attempts that broke the rules.
    """
    own = [[e for e in r.errors if e.seat == r.subject] for r in records]
    others = [[e for e in r.errors if e.seat != r.subject] for r in records]
    row: Row = {"void": sum(not record.complete for record in records)}
    refused = np.array([sum(e.refused for e in errors) for errors in own], dtype=np.float64)
    row |= flat(["refused_per_game"], estimate(refused, "t", clusters=deals(records)))
    for name, by_game in (("caused", own), ("witnessed", others)):
        fatal = [any(e.fatal for e in errors) for errors in by_game]
        row |= share(records, f"{name}_fatal_percent", fatal)
    return row


def run_facts(run: Run) -> list[Facts]:
    """Return players with options, and games with rules."""
    cells = _cells(run)
    players = unique(_player(data) for cell in cells for data in cell.definition["players"])
    used = {name for row in players for name, value in row.items() if value != ""}
    shown = [{name: row[name] for name in row if name in used} for row in players]
    return [
        Facts("Players", [("Players with their options as recorded", shown)]),
        Facts("Games", [("Games with their parameters", unique(map(_game, cells)))]),
    ]


def _player(data: dict[str, Any]) -> dict[str, Any]:
    slips = data.get("error_rate", 0.0)
    more = f"{100 * slips:g} %, {data['error']}" if slips else ""
    return player_row(data) | {"errors on purpose": more}


def _game(cell: ArenaRunCell) -> dict[str, Any]:
    rules = cell.definition["game"]["rules"]
    return {
        "game": cell.table.name,
        "kind": cell.table.kind.title,
        "seats": cell.table.game.seats,
        "parameters": ", ".join(
            f"{key} {as_text(value)}" for key, value in rules.items() if value != ""
        ),
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
    tables={
        "results": Table("the main measures, and errors", result_rows, reported=never),
    },
    figures={"plane": "tomeval.games.plane:plane"},
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
