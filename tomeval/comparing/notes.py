"""What a reader must know besides the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.result import ALPHA, alike_notes, kind_notes, reach_notes
from tomeval.runs.notes import first_names
from tomeval.statistics.bounded import FEWEST

if TYPE_CHECKING:
    from tomeval.comparing.result import Comparison
    from tomeval.comparing.sides import Side
    from tomeval.runs.cell import RunCell
    from tomeval.runs.measures import Measure

FEW = 20
"""Below this many pairs the bootstrap's interval is too narrow; see docs/comparisons.md."""


def comparison_notes(
    found: Comparison, ranges: Mapping[str, float], unmet: NDArray[np.int64]
) -> list[str]:
    """Return what a reader must know; `ranges` of payoffs by what tasks say first.

    `unmet` counts by level those of `unpaired` whose partner, person or chance has no pair.
    """
    notes = [*reach_notes(found), *kind_notes(found), *alike_notes(found)]
    for k, level in enumerate(found.levels):
        missing, have = _missing(found, k)
        if missing:
            some = "; ".join(missing[:3]) + (f" and {len(missing) - 3} more" * (len(missing) > 3))
            total = have + len(missing)
            notes.append(
                f"{level}: paired in {have} of {total} tasks (not in {some}); its numbers over all "
                "tasks cover only these"
                if have
                else f"{level}: shares no task with the baseline and is not compared"
            )
        if unmet[k]:
            notes.append(
                f"{level}: complete episodes left out, as the other side completed none with the "
                f"same partner, person or draws: {unmet[k]}"
            )
        if lost := found.unpaired[0, k] - unmet[k]:
            notes.append(
                f"{level}: complete episodes left out, as their counterpart was void, failed or "
                f"not played: {lost}; the difference holds only for episodes that both sides "
                "complete"
            )
    notes += _group_notes(found)
    single = found.pairs[0] <= 1
    enough = np.isfinite(found.bca_low[0]).any(axis=1)
    few = [found.levels[k] for k in np.flatnonzero(enough & (found.pairs[0] < FEW))]
    if few:
        notes.append(
            f"fewer than {FEW} pairs ({', '.join(few)}): the bootstrap interval is too narrow; use "
            "Student's t"
        )
    lone = [found.levels[k] for k in np.flatnonzero(found.pairs[0] == 1)]
    if lone:
        notes.append(f"only one pair ({', '.join(lone)}): no interval and no test")
    least = FEWEST * (1 + found.apart[0])
    scarce = [found.levels[k] for k in np.flatnonzero((found.pairs[0] < least) & ~single)]
    if scarce:
        notes.append(
            f"no intervals ({', '.join(scarce)}): at least {FEWEST} pairs, or {FEWEST} units per "
            "group, are needed"
        )
    no_error = (np.isnan(found.t_low[0]) & np.isfinite(found.difference[0])).any(axis=1)
    partly = [found.levels[k] for k in np.flatnonzero(no_error & (found.pairs[0] >= least))]
    if partly:
        notes.append(
            f"only one pair in one of the tasks ({', '.join(partly)}): no interval over all tasks"
        )
    notes += [*_improvement_notes(found), *_unit_notes(found, ranges)]
    return notes


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


def _group_notes(found: Comparison) -> list[str]:
    """Say which levels are compared as groups, and what is one unit of them."""
    apart = [found.levels[k] for k in np.flatnonzero(found.apart.any(axis=0))]
    if not apart:
        return []
    return [
        f"no `seed` or participant on both sides, so nothing can be paired: {', '.join(apart)} and "
        f"{found.baseline} are compared as independent groups (Welch's interval; permutation test "
        "between groups) of participants where the file names them, else of episodes"
    ]


def _improvement_notes(found: Comparison) -> list[str]:
    """Say why probabilities of improvement lack an interval that the differences have."""
    without = np.isnan(found.improvement_low) & np.isfinite(found.improvement)
    lost = (without & np.isfinite(found.t_low)).any(axis=0)
    if not lost.any():
        return []
    places = [f"{found.levels[k]}: {found.measures[m].heading}" for k, m in np.argwhere(lost)]
    shown = ", ".join(places[:3]) + (f" and {len(places) - 3} more" * (len(places) > 3))
    return [f"no interval for P(better) ({shown}): every episode of a task had the same outcome"]


def share_notes(cells: Sequence[RunCell], names: Sequence[str]) -> list[str]:
    """Tell which metrics a comparison weighs by episode and a table by item."""
    uneven = [
        cells[0].domain.measures[name].heading
        for name in names
        if any(_uneven(cell, name) for cell in cells)
    ]
    if not uneven:
        return []
    shown = ", ".join(uneven[:3]) + (f" and {len(uneven) - 3} more" * (len(uneven) > 3))
    return [
        "differences weight all episodes equally, tables weight them by their number of items: "
        f"{shown}"
    ]


def once_notes(sides: Sequence[Side]) -> list[str]:
    """Tell how players that played each distinct episode once are compared."""
    levels = list(dict.fromkeys(side.level for side in sides if side.cell.each_once))
    if not levels:
        return []
    return [
        f"each distinct episode was played once ({', '.join(levels)}), as only the partner is "
        "drawn: other players' episodes are paired with it by partner; between two such players "
        "the difference is exact for these partners, and interval and test describe its variation "
        "among them"
    ]


def unit_notes(sides: Sequence[Side]) -> list[str]:
    """Tell which tasks of a paired comparison share their draws, and so are one sampling unit."""
    return [
        f"tasks that differ in {words} share draws, such as the partner: episodes with the same "
        "seed and number are one sampling unit over all tasks, not independent repetitions"
        for words in shared_draws(sides)
    ]


def draw_notes(sides: Sequence[Side]) -> list[str]:
    """Tell which tasks share their draws where statistics take them as independent."""
    return [
        f"tasks that differ in {words} share draws, such as the partner, but are treated as "
        "independent here: intervals over them are too narrow"
        for words in shared_draws(sides)
    ]


def shared_draws(sides: Sequence[Side]) -> list[str]:
    """Return in words what differs between tasks with the same draws of a seed, such as horizon."""
    tasks: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for side in sides:
        tasks.setdefault((*side.draws, side.seed), []).append(side.task)
    differing: dict[str, None] = {}
    for several in tasks.values():
        for name in several[0]:
            if len({str(task[name]) for task in several}) > 1:
                differing[name] = None
    own = sides[0].cell.domain.compare.shares_draws
    words = [name for name in differing if name not in own]
    return [" or ".join(words)] if words else []


def _uneven(cell: RunCell, name: str) -> bool:
    """Tell whether a metric is a share of items that some episodes have more of."""
    totals = cell.totals(name)
    if not totals.share or totals.bottom is None:
        return False
    return len(np.unique(totals.bottom[totals.bottom > 0])) > 1


def _unit_notes(found: Comparison, ranges: Mapping[str, float]) -> list[str]:
    """Return notes about units, the resolution of p, and what was lost to NaN."""
    notes = []
    if len(set(ranges.values())) > 1 and any(measure.in_payoffs for measure in found.measures):
        column = next(iter(found.tasks[-1]))
        shown = ", ".join(f"{name} {ranges[name]:g}" for name in sorted(ranges))
        notes.append(
            f"payoff ranges differ between {column}s ({shown}), and the widest dominates means "
            f"over all tasks: --scale attainable or range weights all {column}s equally"
        )
    largest = int(found.family_size.max(initial=0))
    if largest and largest / (1 + found.resamples) >= ALPHA:
        notes.append(
            f"{found.resamples} resamples are too few for a corrected p below {ALPHA} in a family "
            f"of {largest}: use more"
        )
    lost = np.isnan(found.difference[0]) & (found.pairs[0] > 0)[:, None]
    if lost.any():
        names = ", ".join(found.measures[m].heading for m in np.flatnonzero(lost.any(axis=0)))
        notes.append(f"no difference in {names}: some episodes have no value")
    return notes


def blind_notes(
    names: Sequence[str], measures: Sequence[Measure], blind: NDArray[np.bool_]
) -> list[str]:
    """Say which tasks are left out of all tasks, as no level has a value there.

    `blind`, shape (T, M), tells it of every task in `names`.
    """
    return [
        f"{measure.heading} has no value in {first_names(list(compress(names, column)))}: "
        "left out of the mean over all tasks"
        for measure, column in zip(measures, blind.T, strict=True)
        if column.any() and not column.all()
    ]
