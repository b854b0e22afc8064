"""What tells the subjects of a run apart, for figures that compare them over tasks."""

from __future__ import annotations

from typing import Any

from tomeval.domains.matrix.optima import best_response, worst_response
from tomeval.runs.results import Run, RunCell


def comparisons(run: Run) -> list[str]:
    """Return by what a run's subjects are compared: strategy or subject, and model where several.

    `strategy` where that tells all cells of a task apart, else `subject`.
    """
    cells = [cell for cell in run.cells if cell.played.episodes]
    models = {cell.definition["model"] for cell in cells} - {""}
    strategies = {cell.definition["strategy"] for cell in cells} - {""}
    by_strategy = strategies and _unique(cells, "strategy")
    found = ["strategy" if by_strategy else "subject"]
    if len(models) > 1:
        found = [*found, "model"] if len(strategies) > 1 else ["model"]
    return found


def level_of(cell: RunCell, by: str) -> str:
    """Return a cell's level: a tabular subject has neither model nor strategy, but its name."""
    return str(cell.definition[by] or cell.definition["subject"])


def _player(cell: RunCell, by: str) -> str:
    """Return what else two cells must share to be compared."""
    if by == "model":
        return str(cell.definition["subject"]) if cell.definition["model"] else ""
    return str(cell.definition["model"])


def _place(cell: RunCell) -> tuple[Any, ...]:
    """Return the task and seed of a cell, and how it was played."""
    data = cell.definition
    row = cell.labels_of_row()
    task = tuple(row[key] for key in ("game", "labels", "partners", "horizon"))
    return (*task, data["seed"], data["reference"], data["on_invalid"])


def _unique(cells: list[RunCell], by: str) -> bool:
    """Tell whether no two cells have the same level in the same task."""
    keys = [(level_of(cell, by), _player(cell, by), _place(cell)) for cell in cells]
    return len(set(keys)) == len(keys)


def can_compare(run: Run, by: str) -> bool:
    """Tell whether any level shares a task with the first one, so that episodes can be paired."""
    cells = run.cells
    first = level_of(cells[0], by)
    base = [cell for cell in cells if level_of(cell, by) == first]
    others = [cell for cell in cells if level_of(cell, by) != first]
    for one in base:
        for other in others:
            players = {_player(one, by), _player(other, by)}
            if _place(one) == _place(other) and ("" in players or len(players) == 1):
                return True
    return False


def play_matters(cells: list[RunCell]) -> bool:
    """Tell whether in every task, against every partner, some policy earns more than another."""
    seen = set()
    for cell in cells:
        for partner in cell.partners:
            key = (cell.game.payoffs.tobytes(), partner.fingerprint(), cell.definition["horizon"])
            if key in seen:
                continue
            seen.add(key)
            best = best_response(cell.game, partner, key[2]).value
            worst = worst_response(cell.game, partner, key[2]).value
            if best - worst <= 1e-12 * max(1.0, abs(best)) * key[2]:
                return False
    return True
