"""Who caused errors and who witnessed them, and what that does to rankings: pure functions."""

from __future__ import annotations

import math

import numpy as np

from tomeval.domains.arena.game import ERRORS
from tomeval.domains.arena.records import GameRecord, Records, Row, games_of, players_of, share

ERROR_RATE, DEPTH = 0.30, 0.5
"""The validity rule: above this share of games with an error, and below this median depth, a
ranking measures who survives others' errors (MindGames 2026; see docs/arena/ratings.md)."""

ANY = "any"
"""Errors of all types together."""


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


def game_rows(records: Records) -> list[Row]:
    """Return for each game how many of its games had an error, and what the validity rule says.

    ``error_percent``: at least one error; ``fatal_percent``: at least one that cost a seat its game
    or place; ``decided_percent``: an error ended the game, see `ErrorRecord.decided`. ``depth`` is
    the median of rounds begun over the usual number; ``depth_with_error`` that of games with an
    error. ``valid`` is ``no`` if `ERROR_RATE` and `DEPTH` are both passed.
    """
    rows = []
    for game in games_of(records):
        mine = [record for record in records if record.game == game]
        depths = np.array([record.rounds / record.usual for record in mine])
        erring = np.array([not record.clean for record in mine])
        row: Row = {"game": game, "games": len(mine)}
        row["void"] = sum(not record.complete for record in mine)
        row |= share(mine, "error_percent", erring.tolist())
        row |= share(mine, "fatal_percent", [record.fatal for record in mine])
        row |= share(mine, "decided_percent", [record.decided for record in mine])
        row["depth"] = float(np.median(depths))
        row["depth_with_error"] = float(np.median(depths[erring])) if erring.any() else math.nan
        suspect = erring.mean() > ERROR_RATE and row["depth"] < DEPTH
        row["valid"] = "no" if suspect else "yes"
        rows.append(row)
    return rows


def validity_notes(records: Records) -> list[str]:
    """Return a sentence for each game whose ranking the validity rule does not accept."""
    return [
        f"{row['game']}: {row['error_percent']:.0f} % of the games have an error and the median "
        f"game lasts {row['depth']:.2f} of the usual rounds: a ranking of all games measures who "
        "survives the errors of others"
        for row in game_rows(records)
        if row["valid"] == "no"
    ]


def selection_rows(records: Records) -> list[Row]:
    """Return the share of games that are clean, by player and role: who is left among them."""
    rows = []
    for game in games_of(records):
        mine = [record for record in records if record.game == game]
        seated: dict[tuple[str, str], list[GameRecord]] = {}
        for record in mine:
            for one in dict.fromkeys(zip(record.players, record.sides(), strict=True)):
                seated.setdefault(one, []).append(record)
        players = players_of(mine)
        for player, side in sorted(seated, key=lambda one: (players.index(one[0]), one[1])):
            some = seated[player, side]
            row: Row = {"game": game, "player": player, "side": side, "games": len(some)}
            row["clean"] = sum(record.clean for record in some)
            rows.append(row | share(some, "clean_percent", [record.clean for record in some]))
    return rows


def selection_note(records: Records) -> str:
    """Return what must stand beside every number of clean games; empty if all games are clean."""
    clean = sum(record.clean for record in records)
    if clean == len(records):
        return ""
    rows = selection_rows(records)
    least, most = (pick(rows, key=lambda row: row["clean_percent"]) for pick in (min, max))
    return (
        f"clean games are not a random sample: {clean} of {len(records)} games are clean, from "
        f"{least['clean_percent']:.0f} % of those of {_seat(least)} to {most['clean_percent']:.0f} "
        f"% of those of {_seat(most)}; players who err, and their opponents, have fewer: both "
        "results are shown, and neither corrects the other"
    )


def _seat(row: Row) -> str:
    return f"{row['player']} ({row['game']}, {row['side']})"
