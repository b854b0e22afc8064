"""What a reader must know besides the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tomeval.runs.notes import first_names
from tomeval.statistics.bounded import FEWEST

if TYPE_CHECKING:
    from tomeval.comparing.result import Comparison
    from tomeval.runs.cell import RunCell
    from tomeval.runs.measures import Measure


def comparison_notes(found: Comparison, ranges: Mapping[str, float]) -> list[str]:
    """Return what a reader must know; `ranges` of payoffs by what tasks say first."""
    notes = []
    for k, level in enumerate(found.levels):
        missing, have = _missing(found, k)
        if missing and have:
            notes.append(
                f"{level}: paired in {have} of {have + len(missing)} tasks (not in "
                f"{first_names(missing)}); its numbers over all tasks cover only these"
            )
        elif missing:
            notes.append(f"{level}: shares no task with the baseline and is not compared")
        if lost := found.unpaired[0, k]:
            notes.append(
                f"{level}: {lost} complete episodes left out, as their counterpart was void, "
                "failed or not played, or the other side did not meet the same partner, person or "
                "draws; the difference holds only for episodes that both sides complete"
            )
    bare = (np.isnan(found.t_low[0]) & np.isfinite(found.difference[0])).any(axis=1)
    if bare.any():
        notes.append(
            f"no intervals ({first_names(compress(found.levels, bare))}): at least {FEWEST} pairs "
            "are needed, and two in every task"
        )
    return [*notes, *_unit_notes(found, ranges)]


def _missing(found: Comparison, level: int) -> tuple[list[str], int]:
    """Return the tasks that a level lacks, and how many it has.

    Where nothing is held, such as a model, a task is the same as those in which something is: a
    level that has it there, or here, lacks nothing.
    """
    first = int(len(found.scopes) > 1)
    scopes = [(s, list(found.tasks[s].values())) for s in range(first, len(found.scopes))]
    have = [task for s, task in scopes if found.covered[s, level]]
    missing = [
        found.scopes[s]
        for s, task in scopes
        if not found.covered[s, level]
        and not any(
            task[:-1] == mine[:-1] and "" in (task[-1], mine[-1]) for mine in have if mine != task
        )
    ]
    return missing, len(have)


def share_notes(cells: Sequence[RunCell], names: Sequence[str]) -> list[str]:
    """List the metrics that a comparison weighs by episode and a table by item."""
    uneven = [
        cells[0].measures[name].heading
        for name in names
        if any(_uneven(cell, name) for cell in cells)
    ]
    return [
        "differences weight all episodes equally, tables weight them by their number of items: "
        f"{first_names(uneven)}"
    ] * bool(uneven)


def _uneven(cell: RunCell, name: str) -> bool:
    """Return whether a metric is a share of items that some episodes have more of."""
    totals = cell.totals(name)
    if not totals.share or totals.bottom is None:
        return False
    return len(np.unique(totals.bottom[totals.bottom > 0])) > 1


def _unit_notes(found: Comparison, ranges: Mapping[str, float]) -> list[str]:
    """Return notes about units, and what was lost to NaN."""
    notes = []
    if len(set(ranges.values())) > 1 and any(measure.in_payoffs for measure in found.measures):
        column = next(iter(found.tasks[-1]))
        shown = ", ".join(f"{name} {ranges[name]:g}" for name in sorted(ranges))
        notes.append(
            f"payoff ranges differ between {column}s ({shown}), and the widest dominates means "
            f"over all tasks: the measure plays has one unit in all {column}s"
        )
    lost = np.isnan(found.difference[0]) & (found.pairs[0] > 0)[:, None]
    if lost.any():
        names = ", ".join(found.measures[m].heading for m in np.flatnonzero(lost.any(axis=0)))
        notes.append(f"no difference in {names}: some episodes have no value")
    return notes


def blind_notes(
    names: Sequence[str], measures: Sequence[Measure], blind: NDArray[np.bool_]
) -> list[str]:
    """List which tasks are left out of all tasks, as no level has a value there.

    `blind`, shape (T, M), tells it of every task in `names`.
    """
    return [
        f"{measure.heading} has no value in {first_names(list(compress(names, column)))}: "
        "left out of the mean over all tasks"
        for measure, column in zip(measures, blind.T, strict=True)
        if column.any() and not column.all()
    ]
