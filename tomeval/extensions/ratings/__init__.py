"""The tables of ratings and errors, from the games of a run: all games and clean games."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.bradley_terry import ELO, Pairs, Ratings, rate
from tomeval.extensions.ratings.skill import MISSING, is_known, skills
from tomeval.games.arena.records import (
    GameRecord,
    Records,
    Row,
    game_records,
    games_of,
    players_of,
    share,
    subsets,
)
from tomeval.games.game import ERRORS
from tomeval.runs.columns import Table, flat, never
from tomeval.runs.results import Run
from tomeval.statistics import Estimate
from tomeval.statistics.bounded import FEWEST, FloatArray

TOGETHER = "all games"

ERROR_RATE, DEPTH = 0.30, 0.5
"""The validity rule: above this share of games with an error, and below this median depth, a
ranking measures who survives others' errors (MindGames 2026; see docs/arena/ratings.md)."""

ANY = "any"
"""Errors of all types together."""

Given = Mapping[str, float | Mapping[str, float]]
"""Ratings that are known by player, in points; one number, or one by game and for `TOGETHER`."""


def pairs_of(records: Records) -> Pairs:
    """Return every two teams of each complete game as a pair; the better mean reward wins.

    Games on one deal are one sampling unit. Two teams of the same players in equal shares tell
    nothing, and are left out.
    """
    played = [record for record in records if record.complete]
    names = players_of(played)
    deals = {deal: k for k, deal in enumerate(dict.fromkeys(record.deal for record in played))}
    apart, won, deal = [], [], []
    for record in played:
        teams = []
        for team in record.teams:
            seats = [names.index(record.players[seat]) for seat in team]
            # Rounded, so that equal means of different numbers tie.
            reward = round(float(np.mean([record.rewards[seat] for seat in team])), 9)
            teams.append((np.bincount(seats, minlength=len(names)) / len(team), reward))
        for (one, first), (other, second) in itertools.combinations(teams, 2):
            if (one != other).any():
                apart.append(one - other)
                won.append((1 + np.sign(first - second)) / 2)
                deal.append(deals[record.deal])
    rows = np.array(apart, dtype=np.float64).reshape(len(apart), len(names))
    return Pairs(names, rows, np.array(won), np.array(deal, dtype=np.int64))


def rating_rows(records: Records, given: Given | None = None) -> tuple[list[Row], list[str]]:
    """Return ratings in Elo-like points by game, all games and clean games, best first; and notes.

    Columns: ``rating`` with its 95 % interval; ``openskill`` and ``openskill_sd``, see `skills`;
    the player's ``games`` and the ``deals`` on which it met others. `given` are ratings that are
    known, such as those of a frozen pool.

    Raises
    ------
    TomevalError
        No game, or nothing can be rated: why.
    """
    if not records:
        raise TomevalError("ratings: there is no game to rate yet")
    scopes = {name: [r for r in records if r.game == name] for name in games_of(records)}
    if len(scopes) > 1:
        scopes = {TOGETHER: list(records), **scopes}
    rows: list[Row] = []
    places: dict[str, list[str]] = {}  # of which games and subsets a note is true
    for scope, some in scopes.items():
        for subset, mine in subsets(some):
            try:
                rated, notes = _rows(scope, subset, mine, given or {})
            except TomevalError as error:
                rated, notes = [], [f"no rating: {str(error).removeprefix('ratings: ')}"]
            rows += rated
            for note in notes:
                places.setdefault(note, []).append(f"{scope} ({subset})")
    said = [f"{'; '.join(where)}: {note}" for note, where in places.items()]
    if not rows:
        raise TomevalError(said[0])
    return rows, said


def _rows(
    scope: str, subset: str, records: list[GameRecord], given: Given
) -> tuple[list[Row], list[str]]:
    """Return a row per player, best first, and what a reader must know."""
    pairs = pairs_of(records)
    known = [given.get(name, np.nan) for name in pairs.names]
    points = [one.get(scope, np.nan) if isinstance(one, Mapping) else one for one in known]
    logits = np.array(points, dtype=np.float64) / ELO
    fitted = rate(pairs, logits, np.random.default_rng(0))  # of its own, so that none moves another
    ends = (fitted.value, (fitted.high - fitted.low) / 2, fitted.low, fitted.high)
    skill = _skills(records, pairs.names)
    rows = []
    for k in np.argsort(-fitted.value, kind="stable").tolist():
        row: Row = {"game": scope, "subset": subset, "player": pairs.names[k]}
        row |= flat(["rating"], Estimate(*(ELO * end[[k]] for end in ends)))
        row |= {"openskill": skill[0][k], "openskill_sd": skill[1][k]}
        row["games"] = sum(r.complete and pairs.names[k] in r.players for r in records)
        rows.append(row | {"deals": int(fitted.deals[k])})
    return rows, _notes(pairs, fitted)


def _skills(records: list[GameRecord], names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return `skills` by the games that `pairs_of` has pairs of; NaN without openskill."""
    if not is_known():
        return np.full(len(names), np.nan), np.full(len(names), np.nan)
    mean, sd = skills([r for r in records if r.complete and len(pairs_of([r]).won)], names)
    return mean.round(2), sd.round(2)  # as exact as the orders let it be


def _notes(pairs: Pairs, fitted: Ratings) -> list[str]:
    few, base = np.isnan(fitted.value), fitted.base
    none = np.isnan(fitted.low) & ~few
    notes = []
    if few.any():
        some = ", ".join(np.array(pairs.names)[few])
        notes.append(f"no rating: never lost, or never won, on fewer than {FEWEST} deals: {some}")
    if none.any():
        some = ", ".join(np.array(pairs.names)[none])
        notes.append(f"no interval: given, fewer than {FEWEST} deals, or held by a prior: {some}")
    if not is_known():
        notes.append(MISSING)
    if base.any() and not base.all():
        notes.append(f"0 is the mean rating of {', '.join(np.array(pairs.names)[base])}")
    return notes


def rated(run: Run, by: Sequence[str] = ()) -> tuple[list[Row], list[str]]:
    """Return `rating_rows` of a run, with the ratings of its frozen pool if it has one."""
    pool = run.cells[0].definition.get("pool") or {}
    return rating_rows(_games(run, by), pool.get("ratings"))


def _games(run: Run, by: Sequence[str]) -> list[GameRecord]:
    if by:
        raise TomevalError("ratings and errors have a row per player: leave out --by")
    return game_records(run)


def error_rows(records: Records) -> list[Row]:
    """Return errors caused and witnessed, by player and type; type ``any``: all together.

    ``caused`` and ``witnessed`` count errors (decisions that were not right at once), of which
    ``_fatal`` cost a seat its game or place; ``caused_percent`` and ``witnessed_percent`` are the
    shares of the player's games with at least one, ``caused_fatal_percent`` and
    ``witnessed_fatal_percent`` with a fatal one. A player who witnesses more than it causes meets
    others who err more than itself. ``repaired`` counts own errors that a later attempt mended.
    """
    rows = []
    for player in players_of(records):
        mine = [record for record in records if player in record.players]
        kinds = [k for k in ERRORS if any(e.kind == k for r in mine for e in r.errors)]
        for kind in (ANY, *kinds):
            rows.append(_errors(mine, player, kind))
    return rows


def _errors(mine: Records, player: str, kind: str) -> Row:
    row: Row = {"player": player, "error": kind, "games": len(mine)}
    shares: Row = {}
    for what in ("caused", "witnessed"):
        errors_of_game = [
            [e for e in getattr(record, what)(player) if kind in (ANY, e.kind)] for record in mine
        ]
        row[what] = sum(map(len, errors_of_game))
        row[f"{what}_fatal"] = sum(e.fatal for errors in errors_of_game for e in errors)
        if what == "caused":
            row["repaired"] = sum(e.repaired for errors in errors_of_game for e in errors)
        shares |= share(mine, f"{what}_percent", [bool(errors) for errors in errors_of_game])
        fatal = [any(e.fatal for e in errors) for errors in errors_of_game]
        shares |= share(mine, f"{what}_fatal_percent", fatal)
    return row | shares


def error_notes(records: Records) -> list[str]:
    """Describe which games have errors, and what the validity rule says of them."""
    notes = []
    for game in games_of(records):
        mine = [record for record in records if record.game == game]
        rate = float(np.mean([not record.clean for record in mine]))
        depth = float(np.median([record.rounds / record.usual for record in mine]))
        if rate:
            text = f"{game}: {100 * rate:.0f} % of the games have an error"
            if rate > ERROR_RATE and depth < DEPTH:
                text += f" and the median lasts {depth:.2f} of the usual rounds: all games rank"
                text += " who survives the errors of others"
            notes.append(text)
    return notes


TABLES = {
    "ratings": Table(
        "ratings of players in Elo-like points, in all games and in clean games",
        lambda run, by: rated(run, by)[0],
        notes=lambda run: rated(run)[1] + error_notes(game_records(run)),
        reported=never,
    ),
    "errors": Table(
        "errors that players caused and witnessed",
        lambda run, by: error_rows(_games(run, by)),
        reported=never,
    ),
}
