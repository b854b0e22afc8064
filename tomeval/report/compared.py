"""The comparisons of a report: apart for each model, in one unit where games are pooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tomeval.comparing.comparison import SCALES, Comparison, compare, pooled_scale
from tomeval.comparing.sides import compared_by
from tomeval.core.errors import TomevalError
from tomeval.report.comparisons import comparison_rows
from tomeval.report.rows import grid_of
from tomeval.report.tables import Grid
from tomeval.runs.results import Run

MOST_GROUPS = 8
"""With more groups than this, such as models, all are compared together."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    Attributes
    ----------
    by : str, optional
        What is compared, see `tomeval.comparing.compare`. Default: see
        `tomeval.comparing.sides.compared_by`.
    games : bool
        Whether a few games are shown with their prompts and replies, see
        `tomeval.report.transcripts.games`.
    figures : bool
        Whether the first figures are drawn; ``tomeval plot`` draws others.
    metrics : sequence of str
        The measures of the tables, as `tomeval.runs.selection.choose_measures` reads them; default:
        the headline ones. All others are in a table that opens on demand.
    """

    by: str | None = None
    games: bool = True
    figures: bool = True
    metrics: Sequence[str] = ()


def comparisons(run: Run, names: Sequence[str], options: ReportOptions) -> list[dict[str, Any]]:
    """Return what the template shows of each comparison of measures `names`: a group, or a reason.

    Levels are compared within each group of cells that must share something besides the task, such
    as a model (`Domain.held`): a mean over models hides what differs between them. Cells without a
    group, such as those of a tabular learner, belong to each.

    Raises
    ------
    TomevalError
        No group can be compared as `options.by` asks.
    """
    by = options.by or compared_by(run)
    if by is None:
        return [_reason("", "There is nothing to compare: no two players share a task.")]
    groups: list[dict[str, Any]] = []
    errors = []
    baseline = None
    for title, part in _groups(run, by):
        try:
            comparison = _compared(part, by, baseline, names)
        except TomevalError as error:
            errors.append(error)
            groups.append(_reason(title, f"No comparison: {error}."))
            continue
        baseline = comparison.baseline
        groups.append(_shown(title, comparison))
    if errors and len(errors) == len(groups) and options.by:
        raise errors[0]
    return groups


def _groups(run: Run, by: str) -> list[tuple[str, Run]]:
    """Return the parts of a run that are compared apart, with a title each."""
    domain = run.domain
    if by not in domain.by:
        return [("", run)]
    held = {cell.number: domain.held(cell, by) for cell in run.cells}
    values = list(dict.fromkeys(filter(None, held.values())))
    if not 1 < len(values) <= MOST_GROUPS:
        return [("", run)]
    return [
        (
            f"{domain.held_name(by)} {value}",
            run.part([cell for cell in run.cells if held[cell.number] in (value, "")]),
        )
        for value in values
    ]


def _compared(run: Run, by: str, baseline: str | None, names: Sequence[str]) -> Comparison:
    """Compare levels; measures in payoff units in ranges where games are pooled."""
    metrics = [name for name in names if name in (run.scores or run.headline)] or names
    pooled = any(run.measures[name].in_payoffs for name in metrics)
    scale = pooled_scale(run.cells) if pooled else "payoff"
    comparison = compare(run, by, baseline, metrics=metrics, scale=scale)
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
