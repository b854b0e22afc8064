"""What tells the players of a run apart, for figures that compare them over tasks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tomeval.runs.results import Run, RunCell


def comparisons(run: Run) -> list[str]:
    """Return the columns of `Domain.by` by which a run's players are compared.

    Columns for which the same else is held are names of one thing, such as the strategy and the
    subject that has it: of those the first that tells all cells of a task apart is taken. Columns
    without several values are left out while another is there.
    """
    cells = [cell for cell in run.cells if len(cell.episodes)]
    groups: dict[Hashable, list[str]] = {}
    for by in run.domain.by:
        if by not in run.domain.task and _values(cells, by):
            held = tuple(run.domain.held(cell, by) for cell in cells)
            groups.setdefault(held, []).append(by)
    found = {
        by: len(_values(cells, group[0])) > 1
        for group in groups.values()
        for by in [by for by in group if _unique(cells, by)][:1]
    }
    return [by for by, several in found.items() if several] or list(found)[:1]


def _values(cells: Sequence[RunCell], by: str) -> set[str | int]:
    """Return the values of a column; tabular players have no model, for example."""
    return {cell.columns[by] for cell in cells} - {""}


def _place(cell: RunCell) -> tuple[Hashable, ...]:
    """Return what paired cells share whatever is held: the task, and the seed."""
    return (*cell.task.values(), cell.seed)


def _unique(cells: Sequence[RunCell], by: str) -> bool:
    """Tell whether no two cells have the same level in the same task."""
    level, held = cells[0].domain.level, cells[0].domain.held
    keys = {(level(cell, by), held(cell, by), _place(cell)) for cell in cells}
    return len(keys) == len(cells)


def can_compare(run: Run, by: str) -> bool:
    """Tell whether any level shares a task with the first one, so that episodes can be paired."""
    level, held = run.domain.level, run.domain.held
    first = level(run.cells[0], by)
    base = [cell for cell in run.cells if level(cell, by) == first]
    others = [cell for cell in run.cells if level(cell, by) != first]
    for one in base:
        for other in others:
            players = {held(one, by), held(other, by)}
            if _place(one) == _place(other) and ("" in players or len(players) == 1):
                return True
    return False
