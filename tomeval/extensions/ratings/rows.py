"""Ratings of players from records of games: all games and clean games side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.arena.records import (
    GameRecord,
    Records,
    Row,
    deals,
    games_of,
    mean,
    players_of,
    share,
    subsets,
)
from tomeval.extensions.ratings.contests import Contests
from tomeval.extensions.ratings.rating import ELO, Ratings, rate
from tomeval.runs.columns import flat
from tomeval.statistics import Estimate

TOGETHER = "all games"

Frozen = Mapping[str, float | Mapping[str, float]]
"""Ratings that are known beforehand by player, one number or one by game and for `TOGETHER`."""


def contests_of(records: Records) -> Contests:
    """Return complete games as contests of teams, see `tomeval.extensions.ratings.contests`.

    A team's place is by the mean of its seats' rewards, so that a game with more than two teams
    counts its whole order; equal means are a tie. Its side is what `GameRecord.team_sides` says, in
    this game. Games of one name have ties equally often.
    """
    played = [record for record in records if record.complete]
    names = players_of(played)
    number = {name: k for k, name in enumerate(names)}
    labels = [[f"{r.game}: {side}" for side in r.team_sides()] for r in played]
    sides = tuple(dict.fromkeys(side for of_game in labels for side in of_game))
    column = {side: k for k, side in enumerate(sides)}
    teams = sum(len(record.teams) for record in played)
    share, terms = np.zeros((teams, len(names))), np.zeros((teams, len(sides)))
    place, game = np.zeros(teams), np.zeros(teams, dtype=np.int64)
    row = 0
    for index, (record, mine) in enumerate(zip(played, labels, strict=True)):
        for team, side in zip(record.teams, mine, strict=True):
            for seat in team:
                share[row, number[record.players[seat]]] += 1 / len(team)
            terms[row, column[side]] = 1.0
            # Rounded, so that equal means of different numbers tie.
            place[row] = -round(float(np.mean([record.rewards[seat] for seat in team])), 9)
            game[row] = index
            row += 1
    kinds = games_of(played)
    return Contests(
        names,
        sides,
        game,
        place,
        share,
        terms,
        np.array([kinds.index(record.game) for record in played], dtype=np.int64),
        np.unique(deals(played), return_inverse=True)[1].astype(np.int64),
    )


def scopes(records: Records) -> dict[str, list[GameRecord]]:
    """Return the games to rate: each game apart, and all together if there are several."""
    by_game = {
        name: [record for record in records if record.game == name] for name in games_of(records)
    }
    return by_game if len(by_game) == 1 else {TOGETHER: list(records), **by_game}


def rating_rows(
    records: Records,
    rng: np.random.Generator,
    frozen: Frozen | None = None,
) -> tuple[list[Row], list[str]]:
    """Return ratings in Elo-like points by game, all games and clean games, best first; and notes.

    Columns: ``rating`` with its 95 % interval, ``open`` where the interval has no end, ``rank``
    with ``rank_low`` and ``rank_high``, the player's ``games`` and ``deals``.

    Raises
    ------
    TomevalError
        No subset can be rated: the reason of the first.
    """
    rows: list[Row] = []
    said: dict[str, list[str]] = {}  # notes, and the games and subsets of which they are true
    errors: list[TomevalError] = []
    for scope, some in scopes(records).items():
        for subset, mine in subsets(some):
            try:
                rated = rate_records(mine, rng, _known_in(scope, frozen))
            except TomevalError as error:
                errors.append(error)
                notes = [f"no rating: {str(error).removeprefix('ratings: ')}"]
            else:
                notes = list(rated.notes)
                rows += _rating_rows(scope, subset, rated)
            for note in notes:
                said.setdefault(note, []).append(f"{scope} ({subset})")
    if not rows:
        raise errors[0]
    return rows, [f"{'; '.join(places)}: {note}" for note, places in said.items()]


def _known_in(scope: str, frozen: Frozen | None) -> dict[str, float]:
    """Return the ratings that are known beforehand in one game, or in all together."""
    by_player = {
        name: rating if isinstance(rating, float | int) else rating.get(scope)
        for name, rating in (frozen or {}).items()
    }
    return {name: rating for name, rating in by_player.items() if rating is not None}


def rate_records(
    records: Records,
    rng: np.random.Generator,
    frozen: Mapping[str, float] | None = None,
) -> Ratings:
    """Rate the players of some games; `frozen` are given ratings of players, in Elo-like points.

    Raises
    ------
    TomevalError
        As `rate` says, or nobody is left to be rated.
    """
    contests, given = contests_of(records), None
    if frozen:
        names = (*contests.names, *contests.sides)
        given = np.array([frozen.get(name, np.nan) for name in names]) / ELO
        if not np.isnan(given[: len(contests.names)]).any():
            raise TomevalError("ratings: every player's rating is given: there is nobody to rate")
    return rate(contests, rng, given)


def _rating_rows(scope: str, subset: str, rated: Ratings) -> list[Row]:
    """Return one row per player, best first."""
    rows = []
    ends = (rated.value, (rated.high - rated.low) / 2, rated.low, rated.high)
    points = [ELO * end for end in ends]
    for k in np.argsort(-rated.value, kind="stable").tolist():
        row: Row = {"game": scope, "subset": subset, "player": rated.names[k]}
        row |= flat(["rating"], Estimate(*(end[[k]] for end in points)))
        row["open"] = rated.open[k]
        row["rank"] = int(rated.rank[k])
        row["rank_low"], row["rank_high"] = int(rated.rank_low[k]), int(rated.rank_high[k])
        row["games"], row["deals"] = int(rated.games[k]), int(rated.clusters[k])
        rows.append(row)
    return rows


def payoff_rows(records: Records) -> list[Row]:
    """Return reward and share of the win by game, player and side, of all and of clean games.

    Of complete games; ``all`` sides first. Student's intervals of rewards and Wilson's of shares,
    clustered by deal; a player in two
    seats of a game counts with both, which share the deal.
    """
    rows = []
    for scope, some in scopes([record for record in records if record.complete]).items():
        if scope == TOGETHER:  # rewards of different games have no common unit
            continue
        for subset, mine in subsets(some):
            for player in players_of(some):
                seated = [
                    (record, seat, side)
                    for record in mine
                    for seat, side in enumerate(record.sides())
                    if record.players[seat] == player
                ]
                sides = sorted({side for *_, side in seated})
                for side in ("all", *(sides if len(sides) > 1 else ())):
                    kept = [one for one in seated if side in ("all", one[2])]
                    row: Row = {"game": scope, "subset": subset, "player": player, "side": side}
                    row["games"] = len({id(record) for record, *_ in kept})
                    chosen = [record for record, *_ in kept]
                    row |= mean(chosen, "reward", [r.rewards[seat] for r, seat, _ in kept])
                    row |= share(chosen, "win_percent", [r.wins[seat] for r, seat, _ in kept])
                    rows.append(row)
    return rows
