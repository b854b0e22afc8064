"""What is attainable in every seat of a line-up, before anything is played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tomeval.domains.arena.cells import ArenaCell
from tomeval.domains.arena.players import together
from tomeval.domains.arena.seating import solver_of
from tomeval.domains.arena.solver import Bound
from tomeval.runs.domain import Rows


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
