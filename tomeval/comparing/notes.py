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
from tomeval.statistics.estimates import SEQUENCE

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
                f"{level}: paired in {have} of {total} tasks (none in {some}); its numbers over "
                "all tasks cover other tasks than those of complete levels"
                if have
                else f"{level}: shares no task with the baseline and is not compared"
            )
        if unmet[k]:
            notes.append(
                f"{level}: {unmet[k]} complete episodes are left out, because on the other side "
                "no complete one has the same partner, person or chance"
            )
        if lost := found.unpaired[0, k] - unmet[k]:
            notes.append(
                f"{level}: {lost} complete episodes have no partner episode (the other was "
                "voided, failed or not played, as where a cell stopped earlier) and are left out; "
                "if what is void or fails depends on how an episode goes, the difference holds "
                "only for episodes that both complete"
            )
    notes += _group_notes(found)
    single = found.pairs[0] <= 1
    enough = np.isfinite(found.bca_low[0]).any(axis=1)
    few = [found.levels[k] for k in np.flatnonzero(enough & (found.pairs[0] < FEW))]
    if few and found.interval != SEQUENCE:
        notes.append(
            f"fewer than {FEW} pairs ({', '.join(few)}): the bootstrap's interval is too narrow, "
            "read Student's"
        )
    lone = [found.levels[k] for k in np.flatnonzero(found.pairs[0] == 1)]
    if lone:
        notes.append(f"one pair only ({', '.join(lone)}): a difference without interval or test")
    least = FEWEST * (1 + found.apart[0])
    scarce = [found.levels[k] for k in np.flatnonzero((found.pairs[0] < least) & ~single)]
    if scarce:
        notes.append(
            f"fewer than {FEWEST} pairs, or units of a group ({', '.join(scarce)}): no interval, "
            "because so few do not show how others differ"
        )
    no_error = (np.isnan(found.t_low[0]) & np.isfinite(found.difference[0])).any(axis=1)
    partly = [found.levels[k] for k in np.flatnonzero(no_error & (found.pairs[0] >= least))]
    if partly:
        notes.append(
            f"a single pair in one of the tasks ({', '.join(partly)}): no interval over all tasks"
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
        f"nothing says that the episodes of {', '.join(apart)} and of {found.baseline} met the "
        "same chance: they are compared as groups, and not paired (Welch's interval; p exchanges "
        "the units between the groups). A unit is a participant where the record names them, each "
        "counting the same, and else an episode"
    ]


def _improvement_notes(found: Comparison) -> list[str]:
    """Say why probabilities of improvement lack an interval that the differences have."""
    if found.interval == SEQUENCE:
        said = ["P(better) has no interval, and the effect none either, that holds at every look"]
        if found.apart.any():
            said.append("groups that are no pairs have no sequence: they are as if not tested")
        return said
    without = np.isnan(found.improvement_low) & np.isfinite(found.improvement)
    lost = (without & np.isfinite(found.t_low)).any(axis=0)
    if not lost.any():
        return []
    places = [f"{found.levels[k]}: {found.measures[m].heading}" for k, m in np.argwhere(lost)]
    shown = ", ".join(places[:3]) + (f" and {len(places) - 3} more" * (len(places) > 3))
    return [
        f"no interval of the probability of improvement ({shown}): all episodes tie, or some tasks "
        "are won in every episode and the others lost or tied in every one, so that nothing varies"
    ]


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
        f"every episode counts the same in a difference; tables print the share of all items, in "
        f"which long episodes count more: {shown}"
    ]


def once_notes(sides: Sequence[Side]) -> list[str]:
    """Tell how players that played each distinct episode once are compared."""
    levels = list(dict.fromkeys(side.level for side in sides if side.cell.each_once))
    if not levels:
        return []
    return [
        f"each distinct episode was played once ({', '.join(levels)}), because nothing but the "
        "partner is drawn: against other players every episode of theirs is paired with the one of "
        "the same partner; between two of these the difference is exact for the partners that were "
        "drawn, and interval and test only say how it varies among them"
    ]


def unit_notes(sides: Sequence[Side]) -> list[str]:
    """Tell which tasks of a paired comparison share their draws, and so are one sampling unit."""
    return [
        f"tasks that differ in {words} share draws, such as the partner: with one seed and number "
        "their episodes are one sampling unit over all tasks, and no independent repetitions"
        for words in shared_draws(sides)
    ]


def draw_notes(sides: Sequence[Side]) -> list[str]:
    """Tell which tasks share their draws where statistics take them as independent."""
    return [
        f"tasks that differ in {words} share draws, such as the partner: with one seed and number "
        "their episodes are no independent repetitions, but are taken as such here, so intervals "
        "over them are too narrow"
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
            f"the {column}s' payoffs have different ranges ({shown}); over all tasks, metrics in "
            "payoff units are dominated by the widest: --scale attainable or range gives all "
            f"{column}s equal weight"
        )
    largest = int(found.family_size.max(initial=0))
    if largest and largest / (1 + found.resamples) >= ALPHA:
        notes.append(
            f"{found.resamples} resamples cannot give a corrected p below {ALPHA} in a family of "
            f"{largest}: use more"
        )
    lost = np.isnan(found.difference[0]) & (found.pairs[0] > 0)[:, None]
    if lost.any():
        names = ", ".join(found.measures[m].heading for m in np.flatnonzero(lost.any(axis=0)))
        notes.append(f"not every episode has a value of {names}: no difference is given")
    return notes


def blind_notes(
    names: Sequence[str], measures: Sequence[Measure], blind: NDArray[np.bool_]
) -> list[str]:
    """Say which tasks are left out of all tasks, as no level has a value there.

    `blind`, shape (T, M), tells it of every task in `names`.
    """
    return [
        f"{measure.heading} has no value in {first_names(list(compress(names, column)))}: "
        "left out of all tasks"
        for measure, column in zip(measures, blind.T, strict=True)
        if column.any() and not column.all()
    ]
