"""What tells the players of a run apart, for figures that compare them over tasks."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence

from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run


def comparisons(run: Run) -> list[str]:
    """Return the columns of `Compare.by` by which a run's players are compared.

    Apart from the first, these are columns that do not belong to the task. Columns with which the
    same things are held fixed are names of one thing, such as the strategy and the subject that
    has it: the first of them that tells all cells of a task apart is taken. Columns with a single
    value are left out, unless there is no other.
    """
    cells = [cell for cell in run.cells if len(cell.episodes)]
    groups: dict[Hashable, list[str]] = {}
    for by in run.domain.compare.by:
        if (by == run.domain.compare.by[0] or by not in run.domain.compare.task) and _values(
            cells, by
        ):
            held = tuple((_place(cell, by), run.domain.compare.held(cell, by)) for cell in cells)
            groups.setdefault(held, []).append(by)
    several: dict[str, bool] = {}
    for group in groups.values():
        usable = [by for by in group if _unique(cells, by)]
        if usable:
            several[usable[0]] = len(_values(cells, group[0])) > 1
    return [by for by in several if several[by]] or list(several)[:1]


def _values(cells: Sequence[RunCell], by: str) -> set[str | int]:
    """Return the values of a column; tabular players have no model, for example."""
    return {cell.columns.get(by, cell.domain.compare.level(cell, by)) for cell in cells} - {""}


def _place(cell: RunCell, by: str) -> tuple[Hashable, ...]:
    """Return what paired cells always share: the task and the seed."""
    return (*cell.domain.compare.task_of(cell, by).values(), cell.seed)


def _unique(cells: Sequence[RunCell], by: str) -> bool:
    """Tell whether no two cells have the same level in the same task."""
    level, held = cells[0].domain.compare.level, cells[0].domain.compare.held
    keys = {(level(cell, by), held(cell, by), _place(cell, by)) for cell in cells}
    return len(keys) == len(cells)


def can_compare(run: Run, by: str) -> bool:
    """Tell whether any level shares a task with the first one, so that episodes can be paired."""
    level, held = run.domain.compare.level, run.domain.compare.held
    first = level(run.cells[0], by)
    base = [cell for cell in run.cells if level(cell, by) == first]
    others = [cell for cell in run.cells if level(cell, by) != first]
    for one, other in itertools.product(base, others):
        players = {held(one, by), held(other, by)}
        if _place(one, by) == _place(other, by) and ("" in players or len(players) == 1):
            return True
    return False
