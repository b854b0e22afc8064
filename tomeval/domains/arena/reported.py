"""What a run of the arena has for facts that MindGames 2026 reports and that are no measures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tomeval.domains.arena.attribution import ANY, DEPTH, ERROR_RATE, error_rows, share
from tomeval.domains.arena.outcomes import GameRecord
from tomeval.domains.arena.records import game_records
from tomeval.runs.domain import Rows
from tomeval.runs.reported import Answer, as_ours, settings
from tomeval.runs.results import Run

_COMPETITION = "it counts what took part in the competition"
_KINDS = ("mafia", "codenames", "blotto", "ipd3")


def answers() -> Mapping[str, Answer]:
    """Return what is known by item, see `tomeval.runs.reported.Answer`."""
    return {
        "agents": _COMPETITION,
        "teams": _COMPETITION,
        "games_released": _COMPETITION,
        "rating": "ratings here are those of tomeval ratings, by another model",
        **{f"error_games_{kind}": partial(_with_an_error, kind) for kind in _KINDS},
        "top_mafia_caused": partial(_of_subjects, "caused"),
        "top_mafia_witnessed": partial(_of_subjects, "witnessed"),
        "validity_errors": lambda run: settings([("", 100 * ERROR_RATE)]),
        "validity_depth": lambda run: settings([("", 100 * DEPTH)]),
        "efficient_track": _COMPETITION,
        **{f"newcomer_{kind}": partial(_newcomer, kind) for kind in _KINDS},
    }


def _games_of(kind: str, run: Run) -> list[GameRecord]:
    cells = {cell.number for cell in run.cells if cell.definition["game"]["kind"] == kind}
    return [record for record in game_records(run) if record.cell in cells]


def _with_an_error(kind: str, run: Run) -> Rows | str:
    """Return the share of games in which anybody made an error, by the name of the game."""
    games: dict[str, list[GameRecord]] = {}
    for record in _games_of(kind, run):
        games.setdefault(record.game, []).append(record)
    return [
        {"of": name, **share(some, "ours", [not record.clean for record in some])}
        for name, some in games.items()
    ] or f"this run has no game of {kind}"


def _of_subjects(what: str, run: Run) -> Rows | str:
    """Return in which share of its games of Mafia every measured player saw an error."""
    records = _games_of("mafia", run)
    measured = {record.players[record.subject] for record in records}
    return [
        {"of": row["player"], **as_ours(row, f"{what}_percent")}
        for row in error_rows(records)
        if row["error"] == ANY and row["player"] in measured
    ] or "this run has no game of mafia"


def _newcomer(kind: str, run: Run) -> Rows | str:
    """Return how many games of a kind every measured player was to have against a frozen pool."""
    if any(cell.definition.get("pool") is None for cell in run.cells):
        return "nobody meets a frozen pool in this run"
    games: dict[str, int] = {}
    for cell in run.cells:
        if cell.definition["game"]["kind"] == kind:
            wanted = run.wanted(cell)
            if wanted is None:
                return "this run does not say how many games it was to have"
            name = str(cell.columns["player"])
            games[name] = games.get(name, 0) + wanted
    return settings(games.items()) or f"this run has no game of {kind}"
