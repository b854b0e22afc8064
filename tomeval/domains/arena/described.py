"""What is said of games, players and line-ups before anything is played: lists and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tomeval.domains.arena.cells import ArenaCell
from tomeval.domains.arena.games import all_games, get_kind
from tomeval.domains.arena.players import ANYWHERE, together
from tomeval.domains.arena.seating import solver_of
from tomeval.domains.arena.solver import Bound
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


def bounds_rows(cells: Sequence[ArenaCell]) -> Rows:
    """Return the best attainable and the random value of every game, line-up and subject's seat.

    Values are expectations of the subject's reward over deals and chance; ``exact`` tells whether
    the two ends of the best one meet. Seats of line-ups without known policies have empty cells.
    """
    rows: Rows = []
    seen: set[tuple[str, ...]] = set()
    for cell in cells:
        others = [player.name for player in cell.players[1:]]
        key = (cell.table.name, *others, cell.on_invalid)
        if key in seen:
            continue
        seen.add(key)
        for episode, seats in enumerate(cell.game.rotations):
            row: dict[str, Any] = {"game": cell.table.name, "others": together(others)}
            row["seat"] = cell.game.seat_name(seats[0])
            solver = solver_of(cell, episode)
            best = None if solver is None else solver.value()
            row |= _ends("best", best)
            row["exact"] = "" if best is None else "yes" if best.exact else "no"
            row |= _ends("random", None if solver is None else solver.chance())
            rows.append(row)
    return rows


def _ends(name: str, bound: Bound | None) -> dict[str, Any]:
    nothing = float("nan")
    low, high = (nothing, nothing) if bound is None else bound
    return {f"{name}_low": low, f"{name}_high": high}
