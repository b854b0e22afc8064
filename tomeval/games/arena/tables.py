"""What people read first of an arena run: the main measures row by row, and facts and notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.answer import score_notes
from tomeval.games.arena.cells import ASK_AGAIN
from tomeval.games.arena.measures import MEASURES
from tomeval.games.arena.players import ANYWHERE
from tomeval.games.arena.records import GameRecord, Records, Row, deals, game_records, share
from tomeval.games.arena.results import ArenaRunCell
from tomeval.games.players import player_row
from tomeval.runs.capabilities import Facts
from tomeval.runs.columns import as_text, flat, is_interval, unique
from tomeval.runs.domain import Rows
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run
from tomeval.statistics import estimate

SHOWN: tuple[str, ...] = ("delta_functional_per_decision", "delta_functional_low_per_decision")
SHOWN += ("delta_functional_high_per_decision", "exact_percent", "delta_tom_per_decision")
SHOWN += ("delta_tom_known_percent", "tom_percent", "tom_attainable_percent", "reward")
SHOWN += ("win_percent",)
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
    """Return players with options, games with rules, and line-ups."""
    cells = _cells(run)
    players = [_player(data) for cell in cells for data in cell.definition["players"]]
    games = [_game(cell) for cell in cells]
    lineups = [_lineup(cell) for cell in cells]
    return [
        Facts("Players", [("Players with their options as recorded", _filled(unique(players)))]),
        Facts("Games", [("Games with their parameters", unique(games))]),
        Facts("Line-ups", [("Line-ups, the measured player first", unique(lineups))]),
    ]


def _filled(rows: Rows) -> Rows:
    """Return rows without the columns that are empty in all of them."""
    kept = [name for name in rows[0] if any(row[name] != "" for row in rows)] if rows else []
    return [{name: row[name] for name in kept} for row in rows]


def run_notes(run: Run) -> list[str]:
    """Return what a reader must know before any number of the run."""
    return [*_recorded(run), *_values(run), *score_notes(run)]


def _cells(run: Run) -> list[ArenaRunCell]:
    return [cell for cell in run.cells if isinstance(cell, ArenaRunCell)]


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


def _lineup(cell: ArenaRunCell) -> dict[str, Any]:
    return {
        "measured": cell.player,
        "others": cell.columns["others"],
        "game": cell.table.name,
        "a broken rule": cell.definition["on_invalid"].replace("_", " "),
        "attempts": cell.definition["attempts"],
    }


def _recorded(run: Run) -> list[str]:
    """Return what is unknown of games played elsewhere."""
    if not any("matches" in cell.definition for cell in _cells(run)):
        return []
    return [
        "Games played elsewhere: the players' policies are unknown, so there is no ΔFunctional "
        "and no attainable ToM %; deals are known only as far as they were recorded."
    ]


def _values(run: Run) -> list[str]:
    """Return where V* and Q* are only bounds, and where they are unknown and why."""
    notes, reasons = [], dict[str, list[str]]()
    known = bounded = 0
    for cell in _cells(run):
        low, high = (cell.played.values[f"regret_{end}"] for end in ("low", "high"))
        known, bounded = known + np.isfinite(low).sum(), bounded + (low < high).sum()
        if cell.definition["values"] and len(low) and not np.isfinite(low).any():
            reasons.setdefault(_unknown(cell), []).append(cell.name)
    if bounded:
        notes.append(
            f"V* and Q* are only bounds for {bounded:,} of {known:,} decisions of measured "
            "players. ΔFunctional is the mean over the others, which are not a random sample; its "
            "columns 'at least' and 'at most' bound it over all of them."
        )
    for why, names in reasons.items():
        notes.append(f"No V*, Q* or ΔFunctional, because {why}: {first_names(names)}.")
    return notes


def _unknown(cell: ArenaRunCell) -> str:
    """Return why no decision of a line-up has values."""
    others = cell.definition["players"][1:]
    if any(player["model"] for player in others):
        return "language models sit in other seats"
    if any(player["kind"] in ANYWHERE for player in others):
        return "players without a known policy sit in other seats"
    slips = any(player.get("error_rate") for player in others)
    if slips and cell.definition["on_invalid"] != ASK_AGAIN:
        return "other players break rules, and that has consequences"
    return "the game is too large against these players, or none are computed for it"
