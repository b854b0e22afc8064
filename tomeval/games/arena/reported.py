"""Published numbers of the arena beside a run's: which games have errors, and whose they are."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import check_columns, read_csv, results_path, shown_path
from tomeval.games.arena.records import GameRecord, Records, Row, game_records, players_of, share
from tomeval.games.arena.results import ArenaRunCell
from tomeval.runs.results import Run
from tomeval.statistics import AUTO

COLUMNS = ("measure", "game", "player", "mean", "source")
BEST = "best"
"""The player of the highest mean reward in that game."""

HITS = {
    "games_with_error_percent": lambda record, player: not record.clean,
    "caused_percent": lambda record, player: bool(record.caused(player)),
    "witnessed_percent": lambda record, player: bool(record.witnessed(player)),
}
"""Whether a game counts, by measure; the last two are of a player's games."""


def beside(
    run: Run,
    path: Path,
    model: str | None = None,
    interval: str = AUTO,
    reference: str | None = None,
) -> tuple[list[Row], list[str]]:
    """Return published shares of games beside a run's.

    Parameters
    ----------
    path : path
        A CSV with the columns `COLUMNS`, ``game`` being a kind of game and ``player`` empty, a name
        or `BEST`; or the name of one that ships: ``reported_arena``.

    Returns
    -------
    rows : list of dict
        For every published number and game of that kind: ``game``, ``player``, ``metric``,
        ``games``, ``ours`` in percent with Wilson's 95 % interval by deal, ``reported``,
        ``difference`` (ours - reported, to 0.01) and ``source``. Void games count too.
    notes : list of str
        Which published numbers the run has no game for.

    Raises
    ------
    TomevalError
        A file that cannot be read or names no such measure; or an option that says nothing here.
    """
    if model is not None or interval != AUTO or reference is not None:
        raise TomevalError(
            "--against: shares of games have no model, interval or reference to choose: leave out "
            "--as-model, --interval and --reference"
        )
    kinds = {
        cell.number: cell.table.kind.name for cell in run.cells if isinstance(cell, ArenaRunCell)
    }
    games: dict[str, list[GameRecord]] = {}
    for record in game_records(run):
        games.setdefault(record.game, []).append(record)
    rows, lacking = [], []
    path = results_path(path)
    header, found = read_csv(path)
    check_columns(path, header, COLUMNS)
    for line, given in found:
        where, measure = f"{shown_path(path)}, line {line}", given["measure"]
        if measure not in HITS:
            raise TomevalError(f"{where}: {unknown('measure', measure, HITS)}")
        mine = [r for r in games.values() if kinds[r[0].cell] == given["game"]]
        rows += [_row(records, given, _number(where, given["mean"])) for records in mine]
        lacking += [] if mine else [f"{measure} of {given['game']}"]
    return rows, [f"no game in this run for: {', '.join(lacking)}"] * bool(lacking)


def _number(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 100:
        raise TomevalError(f"{where}: mean {text!r} is no number from 0 to 100")
    return number


def _row(records: Records, given: dict[str, str], reported: float) -> Row:
    player = _best(records) if given["player"] == BEST else given["player"]
    mine = [r for r in records if not given["player"] or player in r.players]
    found = share(mine, "ours", [HITS[given["measure"]](record, player) for record in mine])
    return {
        "game": records[0].game,
        "player": player,
        "metric": given["measure"],
        "games": len(mine),
        **found,
        "reported": reported,
        "difference": round(found["ours"] - reported, 2),
        "source": given["source"],
    }


def _best(records: Records) -> str:
    """Return the player of the highest mean reward over the complete games; of a tie the first.

    Empty if no game is complete.
    """
    rewards = {
        player: [
            record.rewards[seat]
            for record in records
            if record.complete
            for seat, name in enumerate(record.players)
            if name == player
        ]
        for player in players_of(records)
    }
    means = {player: float(np.mean(some)) for player, some in rewards.items() if some}
    return max(means, key=lambda player: means[player]) if means else ""
