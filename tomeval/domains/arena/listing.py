"""What ``tomeval list`` shows of the arena: games with their parameters, and players."""

from __future__ import annotations

from dataclasses import fields

from tomeval.domains.arena.games import all_games, get_kind
from tomeval.domains.arena.players import ANYWHERE
from tomeval.runs.domain import Rows


def listed_games() -> Rows:
    """Return the games with their presets and parameters."""
    rows = []
    for name in all_games():
        kind = get_kind(name)
        known = ", ".join(
            f"{key} = {field.get_default(call_default_factory=True)!r}"
            for key, field in kind.rules.model_fields.items()
        )
        presets = ", ".join(kind.presets)
        rows.append({"game": name, "presets": presets, "parameters": known, "about": kind.title})
    return rows


def listed_players() -> Rows:
    """Return the kinds of player with their options, by game."""
    rows = [
        {"game": "all", "player": name, "options": "", "about": about}
        for name, about in ANYWHERE.items()
    ]
    for game in all_games():
        for name, policy in get_kind(game).policies.items():
            options = ", ".join(field.name for field in fields(policy))  # type: ignore[arg-type]
            row = {"game": game, "player": name, "options": options, "about": policy.about}
            rows.append(row)
    return rows
