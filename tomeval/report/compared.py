"""The comparisons of a report: apart for each model, in one unit where games are pooled, in words.

Every sentence follows from the numbers that stand in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tomeval.comparing.comparison import Comparison, compare
from tomeval.comparing.scales import SCALES, pooled_scale
from tomeval.core.errors import TomevalError
from tomeval.report.facts import counted
from tomeval.report.table import comparison_table
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run
from tomeval.statistics.estimates import AUTO

MOST_GROUPS = 8
"""With more groups than this, such as models, all are compared together."""


def comparisons(
    run: Run,
    names: Sequence[str],
    by: str | None = None,
    baseline: str | None = None,
    reference: str | None = None,
    interval: str = AUTO,
) -> dict[str, Any]:
    """Return the comparisons of measures `names` for the template, or why there are none.

    Levels are compared within each group of cells that must share something besides the task, such
    as a model (`Compare.held`): a mean over models hides what differs between them. Cells without a
    group, such as those of a tabular learner, belong to each.

    Raises
    ------
    TomevalError
        No group can be compared as `by` or `baseline` ask.
    """
    column = by or compared_by(run)
    if column is None:
        one = run.domain.compare.by[0]
        return {"reason": f"The run has only one {one}: there is nothing to compare."}
    groups, errors, baseline_used = [], [], baseline
    for title, part in _groups(run, column):
        try:
            comparison = _compared(part, column, baseline_used, names, reference)
        except TomevalError as error:
            errors.append(error)
            groups.append({"title": title, "reason": f"No comparison: {error}."})
            continue
        baseline_used = comparison.baseline
        groups.append(shown_comparison(title, comparison))
    if len(errors) == len(groups):
        if by or baseline:
            raise errors[0]
        return {"reason": groups[0]["reason"]}
    return {"reason": "", "by": column, "baseline": baseline_used, "groups": groups}


def _groups(run: Run, by: str) -> list[tuple[str, Run]]:
    """Return the parts of a run that are compared apart, with a title each."""
    held = {
        cell.number: run.domain.compare.held(cell, by)
        for cell in run.cells
        if by in run.domain.compare.by
    }
    values = list(dict.fromkeys(value for value in held.values() if value))
    if not 1 < len(values) <= MOST_GROUPS:
        return [("", run)]
    word = run.domain.compare.held_name(by)
    return [
        (f"{word} {value}", run.part([c for c in run.cells if held[c.number] in (value, "")]))
        for value in values
    ]


def _compared(
    run: Run, by: str, baseline: str | None, names: Sequence[str], reference: str | None
) -> Comparison:
    """Compare levels; measures in payoff units in ranges where games are pooled."""
    metrics = [name for name in names if name in (run.scores or run.headline)] or names
    pooled = any(run.measures[name].in_payoffs for name in metrics)
    scale = pooled_scale(run.cells, reference) if pooled else "payoff"
    words = SCALES[scale]
    comparison = compare(
        run,
        by,
        baseline,
        metrics=metrics,
        reference=reference,
        scale=scale,
        by_task=False,  # the page shows no bootstrap's intervals
    )
    if scale == "payoff":
        return comparison
    measures = (
        replace(m, heading=f"{m.heading} / {words}", spoken=f"{m.words} / {words}")
        if m.in_payoffs
        else m
        for m in comparison.measures
    )
    return replace(comparison, measures=tuple(measures))


def shown_comparison(title: str, found: Comparison) -> dict[str, Any]:
    """Return the comparison of a group, which may have no title, for the template."""
    return {
        "title": title,
        "reason": "",
        "scope": found.scopes[0],
        "summary": summary(found),
        "notes": found.notes,
        "family": found.family,
        "how": _how(found),
        "table": comparison_table(found),
    }


def _how(found: Comparison) -> str:
    """Say how intervals and p are made."""
    test = f"p comes from a permutation test ({found.resamples:,} resamples)"
    return f"Student's 95 % interval; {test}"


SPOKEN = 2
"""How many of the compared measures are also described in words."""

_PLURALS = {"strategy": "strategies", "labels": "label sets"}


def compared_by(run: Run) -> str | None:
    """Return the first column of `Compare.by` with several values, by which cells are compared."""
    for by in run.domain.compare.by:
        named = any(cell.columns.get(by, by) != "" for cell in run.cells)
        if named and len({run.domain.compare.level(cell, by) for cell in run.cells}) > 1:
            return by
    return None


def summary(found: Comparison) -> list[str]:
    """Return one sentence per spoken measure that counts the verdicts of the first scope."""
    sentences = []
    for measure in found.measures[:SPOKEN]:
        name = measure.heading
        verdicts = Counter(found.verdict(level, measure.name) for level in found.levels)
        parts = [
            f"{verdicts[verdict]} {'has' if verdicts[verdict] == 1 else 'have'} {text}"
            for verdict, text in (
                ("lower", f"lower {name}{_side(measure, -1)}"),
                ("higher", f"higher {name}{_side(measure, 1)}"),
                ("equivalent", f"equivalent {name}"),
                ("identical", f"the same {name} in every pair"),
            )
            if verdicts[verdict]
        ]
        open_ = sum(verdicts[verdict] for verdict in ("undecided", "untested", "too few"))
        if open_:
            parts.append(f"for {open_} the difference in {name} is undecided")
        what = counted(len(found.levels), found.by, _PLURALS.get(found.by, ""))
        sentences.append(
            f"Of {what} compared with {found.baseline} ({found.scopes[0]}), {'; '.join(parts)}."
        )
    return sentences


def _side(measure: Measure, sign: int) -> str:
    """Say whether a change in this direction is good, if the measure has a better side."""
    if measure.better == 0:
        return ""
    return ", which is better" if measure.better == sign else ", which is worse"
