"""Columns by which a run's players are compared, and cells that differ in one of them alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from tomeval.comparing import sides
from tomeval.core.errors import unknown
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

_SETTINGS = ("seed", "reference", "on_invalid")


class Overlay(NamedTuple):
    """What one panel shows: cells, the baseline last, and what their lines are called.

    `words` says what the cells share, and what is missing for want of a complete episode; `stem`
    says what they share inside the name of a file.
    """

    words: str
    stem: str
    cells: Sequence[RunCell]
    names: Sequence[str]


def check_by(run: Run, by: str) -> None:
    """Raise a `TomevalError` if cells cannot be told apart by a column.

    An unknown name, or a column that is empty in every cell.
    """
    if by not in run.domain.by:  # a comparison also knows `run`, which is one value here
        raise unknown("--by", by, run.domain.by)
    sides.check_by([run], by)


def overlays(run: Run, by: str) -> list[Overlay]:
    """Return the cells with complete episodes in groups that differ in `by` alone.

    A group in which no cell has a complete episode is left out. The baseline joins every group of
    its task, as the cell of its first value of `by`: label sets, for example, mean nothing to it.
    So do other players with which nothing needs to be held fixed, see `Domain.held`. Groups stand
    in the order of the run.
    """
    check_by(run, by)
    told = [name for name in _SETTINGS if len({str(cell.facts[name]) for cell in run.cells}) > 1]
    base: dict[tuple[Hashable, ...], RunCell] = {}
    groups: dict[tuple[str, tuple[Hashable, ...]], list[RunCell]] = {}
    anybody: dict[tuple[Hashable, ...], list[RunCell]] = {}
    for cell in run.cells:
        # Paired cells always share the task and the seed.
        where = (*cell.domain.task_of(cell, by).values(), cell.seed)
        held = run.domain.held(cell, by)
        if cell.is_baseline:
            if len(cell.episodes):
                base.setdefault(where, cell)
        elif held:
            groups.setdefault((held, where), []).append(cell)
        else:
            anybody.setdefault(where, []).append(cell)
    for where in (*anybody, *base):
        if not any(task == where for _, task in groups):
            groups["", where] = []
    result = []
    for (held, where), members in groups.items():
        everybody = [*members, *anybody.get(where, [])]
        if where in base or any(len(cell.episodes) for cell in everybody):
            result.append(_overlay(by, held, everybody, base.get(where), told))
    return result


def _overlay(
    by: str,
    held: str,
    members: Sequence[RunCell],
    base: RunCell | None,
    told: Sequence[str],
) -> Overlay:
    """Name one group and its lines."""
    cells = [cell for cell in members if len(cell.episodes)]
    names = [cell.domain.level(cell, by) for cell in cells]
    empty = [cell.domain.level(cell, by) for cell in members if not len(cell.episodes)]
    missing = f"; no complete episode: {', '.join(empty)}" if empty else ""
    if base is not None:
        cells.append(base)
        names.append(f"{base.player} (tabular baseline)")
    first = cells[0]
    task = first.domain.task_of(first, by)
    columns = {name: task[name] for name in task if name in first.columns}
    settings = [f"{name} {first.facts[name]}" for name in told]
    words = [held, first.domain.task_words(columns), *settings]
    stem = [held, *map(str, columns.values()), *settings]
    return Overlay(
        (", ".join(filter(None, words)) or first.domain.name) + missing,
        "_".join(filter(None, stem)),
        cells,
        names,
    )
