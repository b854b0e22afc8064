"""The comparisons of a report: apart for each model, in one unit where games are pooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tomeval.comparing.comparison import Comparison, compare
from tomeval.comparing.scales import SCALES, pooled_scale
from tomeval.core.errors import TomevalError
from tomeval.report.comparisons import comparison_rows
from tomeval.report.rows import grid_of
from tomeval.report.tables import Grid
from tomeval.runs.results import Run
from tomeval.statistics.estimates import AUTO

MOST_GROUPS = 8
"""With more groups than this, such as models, all are compared together."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    Attributes
    ----------
    interval : {"auto", "normal", "t", "sequence"}
        How the table's intervals are made, see `tomeval.statistics.estimate`.
    reference : str, optional
        What regret is measured from, if the domain knows several; overrides the cells' own.
    by, baseline : str, optional
        What is compared, and with which level; see `tomeval.comparing.compare`. Default: the first
        of `Compare.by` that has several levels, or several runs; and the first of these.
    games : bool
        Whether a few games are shown with their prompts and replies, see `tomeval.report.games`.
    figures : bool
        Whether the first figures are drawn, `Show.first_figures`; ``tomeval plot`` draws others.
    metrics : sequence of str
        The measures of the tables, as `tomeval.runs.selection.choose_measures` reads them; default:
        the headline ones. All others are in a table that opens on demand.
    """

    interval: str = AUTO
    reference: str | None = None
    by: str | None = None
    baseline: str | None = None
    games: bool = True
    figures: bool = True
    metrics: Sequence[str] = ()


def comparisons(
    runs: Sequence[Run], names: Sequence[str], options: ReportOptions
) -> list[dict[str, Any]]:
    """Return what the template shows of each comparison of measures `names`: a group, or a reason.

    The levels of one run are compared within each group of cells that must share something besides
    the task, such as a model (`Compare.held`): a mean over models hides what differs between them.
    Cells without a group, such as those of a tabular learner, belong to each. Several runs are
    compared with each other, player by player on the tasks that both have, unless `options` ask for
    a column.

    Raises
    ------
    TomevalError
        No group can be compared as `options.by` or `options.baseline` ask.
    """
    by = options.by or ("run" if len(runs) > 1 else compared_by(runs[0]))
    if by is None:
        one = runs[0].domain.compare.by[0]
        return [_reason("", f"The run has only one {one}: there is nothing to compare.")]
    groups: list[dict[str, Any]] = []
    errors = []
    baseline = options.baseline
    for title, part in _groups(runs, by):
        try:
            comparison = _compared(part, by, baseline, names, options)
        except TomevalError as error:
            errors.append(error)
            groups.append(_reason(title, f"No comparison: {error}."))
            continue
        baseline = comparison.baseline
        groups.append(_shown(title, comparison))
    if errors and len(errors) == len(groups) and (options.by or options.baseline):
        raise errors[0]
    return groups


def compared_by(run: Run) -> str | None:
    """Return the first column of `Compare.by` with several values, by which cells are compared."""
    for by in run.domain.compare.by:
        named = any(cell.columns.get(by, by) != "" for cell in run.cells)
        if named and len({run.domain.compare.level(cell, by) for cell in run.cells}) > 1:
            return by
    return None


def _groups(runs: Sequence[Run], by: str) -> list[tuple[str, Sequence[Run]]]:
    """Return the parts of a run that are compared apart, with a title each."""
    compare_ = runs[0].domain.compare
    if len(runs) > 1 or by not in compare_.by:
        return [("", runs)]
    held = {cell.number: compare_.held(cell, by) for cell in runs[0].cells}
    values = list(dict.fromkeys(filter(None, held.values())))
    if not 1 < len(values) <= MOST_GROUPS:
        return [("", runs)]
    parts = [
        runs[0].part([cell for cell in runs[0].cells if held[cell.number] in (value, "")])
        for value in values
    ]
    return [
        (f"{compare_.held_name(by)} {v}", [part]) for v, part in zip(values, parts, strict=True)
    ]


def _compared(
    runs: Sequence[Run],
    by: str,
    baseline: str | None,
    names: Sequence[str],
    options: ReportOptions,
) -> Comparison:
    """Compare levels; measures in payoff units in ranges where games are pooled."""
    known = [name for name in names if all(name in run.measures for run in runs)]
    metrics = [name for name in known if name in (runs[0].scores or runs[0].headline)] or known
    pooled = any(runs[0].measures[name].in_payoffs for name in metrics)
    cells = [cell for run in runs for cell in run.cells]
    scale = pooled_scale(cells, options.reference) if pooled else "payoff"
    comparison = compare(
        runs,
        by,
        baseline,
        metrics=metrics,
        reference=options.reference,
        scale=scale,
    )
    if scale == "payoff":
        return comparison
    measures = (
        replace(m, heading=f"{m.heading} / {SCALES[scale]}") if m.in_payoffs else m
        for m in comparison.measures
    )
    return replace(comparison, measures=tuple(measures))


def _reason(title: str, reason: str) -> dict[str, Any]:
    return {"title": title, "reason": reason, "notes": []}


def _shown(title: str, comparison: Comparison) -> dict[str, Any]:
    """Return the comparison of a group, which may have no title, for the template."""
    test = f"p comes from a permutation test ({comparison.resamples:,} resamples)"
    how = f"Student's 95 % interval; {test}"
    several = len(comparison.scopes) > 1
    return {
        "title": title,
        "reason": "",
        "notes": [f"{note}." for note in comparison.notes],
        "caption": f"Differences from {comparison.baseline}, with {how}. {comparison.family}.",
        "table": _grid(comparison, by_task=False),
        "by_task": _grid(comparison, by_task=True) if several else None,
    }


def _grid(found: Comparison, by_task: bool) -> Grid:
    """Return the comparisons over all tasks, or also those of every task; levels stand first."""
    rows = comparison_rows(found, "text", by_task)
    return grid_of([{found.by: row[found.by], **row} for row in rows])
