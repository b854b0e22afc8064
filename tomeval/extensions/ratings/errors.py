"""Who caused errors and who witnessed them, and whether a ranking of all games can be trusted."""

from __future__ import annotations

import numpy as np

from tomeval.games.arena.records import Records, Row, games_of, players_of, share
from tomeval.games.game import ERRORS

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


def error_notes(records: Records) -> list[str]:
    """Say which games have errors, what the validity rule says of them, and who is left if not."""
    notes = []
    for game in games_of(records):
        mine = [record for record in records if record.game == game]
        rate = float(np.mean([not record.clean for record in mine]))
        depth = float(np.median([record.rounds / record.usual for record in mine]))
        if rate:
            text = f"{game}: {100 * rate:.0f} % of the games have an error"
            if rate > ERROR_RATE and depth < DEPTH:
                text += (
                    f" and the median game lasts {depth:.2f} of the usual rounds: a ranking of all "
                    "games measures who survives the errors of others"
                )
            notes.append(text)
    if notes:
        notes.append(
            "clean games (without an error) are not a random sample: players who err, and their "
            "opponents, have fewer of them"
        )
    return notes
