"""The tables of ``tomeval ratings``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.arena.records import Records
from tomeval.extensions.ratings import errors
from tomeval.extensions.ratings.board import board_rows
from tomeval.extensions.ratings.rows import payoff_rows, rating_rows
from tomeval.runs.domain import Rows
from tomeval.runs.results import Run

RATED = {
    "ratings": "Ratings in Elo-like points (400: odds of 10), all games and clean games",
    "board": "Board: share of the win with every game weighing the same, and who reads roles",
    "payoffs": "Reward and share of the win, by player and seat or role",
    "games": "Games with errors, and the validity rule",
    "errors": "Errors caused and witnessed",
    "selection": "Who is left in clean games",
}
"""The tables by name, with their captions."""


ENDS = ("", "_ci95", "_ci95_low", "_ci95_high")
"""What the columns of an estimate end in."""


MOST_GAMES = 5
"""Games whose ratings fit beside each other."""


class Rated(NamedTuple):
    """A table of `RATED`, and sentences that go with it."""

    name: str
    rows: Rows
    notes: list[str]


def rating_tables(run: Run, names: Sequence[str]) -> Iterator[Rated]:
    """Yield tables of `RATED`; every one has its own generator, so that it does not move.

    Raises
    ------
    TomevalError
        The run's domain has no games between players; or it has no game yet, or none that can be
        rated.
    """
    games = run.domain.rate
    if games is None:
        raise TomevalError(
            f"{run.folder} is of the domain {run.domain.name!r}, which has no ratings: its games "
            "are not between players who take turns in all seats; compare levels with `tomeval "
            "compare`"
        )
    for name in names:
        if name not in RATED:
            raise unknown("table", name, RATED)
    records = games.records(run)
    if not records:
        raise TomevalError(f"{run.folder}: there is no game to rate yet")
    selected = [note for note in [errors.selection_note(records)] if note]
    plain: dict[str, Callable[[Records], Rows]] = {
        "payoffs": payoff_rows,
        "games": errors.game_rows,
        "errors": errors.error_rows,
        "selection": errors.selection_rows,
    }
    for name in names:
        rng, frozen = np.random.default_rng(0), games.fixed(run)
        rows: Rows
        notes: list[str] = []
        if name == "board":
            rows, notes = board_rows(run, records)
        elif name == "ratings":
            rows, notes = rating_rows(records, rng, frozen)
        else:
            rows = plain[name](records)
        if name in ("ratings", "payoffs", "selection"):
            notes = [*notes, *selected]
        if name in ("ratings", "games"):
            notes = [*notes, *errors.validity_notes(records)]
        yield Rated(name, rows, notes)


def on_one_screen(ratings: Rows, erring: Rows) -> Rows:
    """Return a row per player, or subset and player, from the tables ``ratings`` and ``errors``.

    Its rating and rank over all games, its rating in each of up to `MOST_GAMES` games, and in which
    share of its games it made an error and met one of others.
    """
    scopes = list(dict.fromkeys(row["game"] for row in ratings))
    games = scopes[1:] if len(scopes) <= MOST_GAMES + 1 else []
    rated = {(row["game"], row.get("subset"), row["player"]): row for row in ratings}
    erred = {row["player"]: row for row in erring if row["error"] == errors.ANY}
    rows: Rows = []
    for (scope, subset, player), row in rated.items():
        if scope != scopes[0]:
            continue
        gone = ("game", "deals", "rank_low", "rank_high")
        shown = {name: value for name, value in row.items() if name not in gone}
        shown["rank"] = f"{row['rank']} ({row['rank_low']} to {row['rank_high']})"
        for other in games:
            mine = rated.get((other, subset, player), {})
            shown |= {f"{other}{end}": mine.get(f"rating{end}", math.nan) for end in ENDS}
        for name in ("caused_percent", "witnessed_percent"):
            mine = {} if subset == "clean" else erred[player]
            shown |= {f"{name}{end}": mine.get(f"{name}{end}", math.nan) for end in ENDS}
        rows.append(shown)
    return rows
