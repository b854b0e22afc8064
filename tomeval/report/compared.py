"""The comparisons of a report: apart for each model, in one unit where games are pooled, in words.

Every sentence follows from the numbers that stand in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tomeval.comparing.comparison import Comparison, compare
from tomeval.comparing.scales import SCALES, pooled_scale
from tomeval.core.errors import TomevalError
from tomeval.core.numbers import between, p_words, signed
from tomeval.report.facts import counted
from tomeval.report.table import comparison_table
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

MOST_GROUPS = 8
"""With more groups than this, such as models, all are compared together."""


def comparisons(
    run: Run,
    names: Sequence[str],
    by: str | None = None,
    baseline: str | None = None,
    reference: str | None = None,
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
        return {"reason": f"The run has one {one} only: there is nothing to compare."}
    groups, errors, baseline_used = [], [], baseline
    for title, part in _groups(run, column):
        try:
            found = _compared(part, column, baseline_used, names, reference)
        except TomevalError as error:
            errors.append(error)
            groups.append({"title": title, "reason": f"No comparison: {error}."})
            continue
        baseline_used = found.baseline
        groups.append(_shown(title, found))
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
    scale = pooled_scale(run.cells, reference)
    words = SCALES[scale]
    found = compare(
        run,
        by,
        baseline,
        metrics=[name for name in names if name in run.headline] or names,
        reference=reference,
        scale=scale,
        by_task=False,  # the page shows Student's intervals
    )
    if scale == "payoff":
        return found
    measures = (
        replace(m, heading=f"{m.heading} / {words}", spoken=f"{m.words} / {words}")
        if m.in_payoffs
        else m
        for m in found.measures
    )
    return replace(found, measures=tuple(measures))


def _shown(title: str, found: Comparison) -> dict[str, Any]:
    """Return one group's comparison for the template."""
    return {
        "title": title,
        "reason": "",
        "scope": found.scopes[0],
        "summary": summary(found),
        "statements": statements(found),
        "notes": found.notes,
        "family": found.family,
        "resamples": found.resamples,
        "table": comparison_table(found, {measure.name: measure for measure in found.measures}),
    }


SPOKEN = 2
"""How many of the compared measures are also described in words."""

_PLURALS = {"strategy": "strategies", "labels": "label sets"}


class Statement(NamedTuple):
    """What is said of one level: its name, and a sentence per metric with its verdict."""

    level: str
    sentences: list[tuple[str, str]]


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
            parts.append(f"for {open_} the data do not decide on {name}")
        what = counted(len(found.levels), found.by, _PLURALS.get(found.by, ""))
        sentences.append(
            f"Of {what} compared with {found.baseline} ({found.scopes[0]}), {'; '.join(parts)}."
        )
    return sentences


def statements(found: Comparison, scope: int = 0) -> list[Statement]:
    """Return the result of comparing every level with the baseline in one scope."""
    result = []
    for level in found.levels:
        rows = [(found.at(level, m.name, scope), m) for m in found.measures[:SPOKEN]]
        said = [(row["verdict"], sentence(row, measure)) for row, measure in rows]
        result.append(Statement(level, said))
    return result


def sentence(row: dict[str, Any], measure: Measure) -> str:
    """Return one row of `Comparison.rows`, of a measure, in words.

    Examples
    --------
    >>> from tomeval.runs.domain import get_domain
    >>> measure = get_domain("matrix").measures["tom_percent"]
    >>> row = {"baseline": "QA", "pairs": 40, "difference": -2.5,
    ...        "difference_low": -4.0, "difference_high": -1.0, "p_holm": 0.004,
    ...        "margin": float("nan"), "verdict": "lower"}
    >>> sentence(row, measure)
    'ToM % is lower by 2.50 than with QA, which is worse (95 % interval 1.00 to 4.00; p = 0.004; 40
    pairs of episodes).'
    """
    verdict, baseline = row["verdict"], row["baseline"]
    name, digits = measure.heading, measure.digits
    pairs = counted(row["pairs"], "pair of episodes", "pairs of episodes")
    difference, low, high = (row[f"difference{end}"] for end in ("", "_low", "_high"))
    if verdict == "identical":
        return f"{name} is the same as with {baseline} in each of {pairs}."
    if verdict == "untested" or math.isnan(difference):
        return f"{name} cannot be compared with {baseline} ({pairs})."
    if verdict in ("higher", "lower"):
        sign = 1 if difference > 0 else -1
        near, far = sorted((sign * low, sign * high))
        return (
            f"{name} is {verdict} by {abs(difference):.{digits}f} than with {baseline}"
            f"{_side(measure, sign)} (95 % interval {between(near, far, digits)}; "
            f"{p_words(row['p_holm'])}; {pairs})."
        )
    numbers = (
        f"difference {signed(difference, digits)}, 95 % interval {between(low, high, digits)}; "
        f"{p_words(row['p_holm'])}; {pairs}"
    )
    if verdict == "equivalent":
        return f"{name} is that of {baseline} to within {row['margin']:g} ({numbers})."
    if verdict == "too few":
        enough = row["pairs_enough"]
        needed = f"; {enough} that differ could" * (enough is not None)
        return f"{name}: too few pairs to tell it from {baseline} at 5 % ({numbers}{needed})."
    return f"{name}: the data do not tell it from {baseline} ({numbers})."


def _side(measure: Measure, sign: int) -> str:
    """Say whether a change in this direction is good, if the measure has a better side."""
    if measure.better == 0:
        return ""
    return ", which is better" if measure.better == sign else ", which is worse"
