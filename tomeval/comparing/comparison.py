"""Compare strategies, or whatever else cells differ in, with a baseline, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.estimates import differing_pairs, estimates, permutation_p
from tomeval.comparing.layout import Layout
from tomeval.comparing.pairing import Pairing, pair
from tomeval.comparing.result import Comparison as Comparison
from tomeval.comparing.result import blind_notes, comparison_notes, share_notes
from tomeval.comparing.sides import (
    Runs,
    Side,
    check_by,
    left_out,
    metric_names,
    opened,
    read_sides,
)
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.streams import Stream
from tomeval.runs.notes import looked_notes
from tomeval.runs.results import Run
from tomeval.statistics import RESAMPLES
from tomeval.statistics.flips import smallest_division_p, smallest_p
from tomeval.statistics.paired import FloatArray, IntArray, holm

ALL_TASKS = "all tasks"


def compare(
    runs: Runs,
    by: str | None = None,
    baseline: str | None = None,
    *,
    metrics: Sequence[str] | None = None,
    reference: str | None = None,
    margins: Mapping[str, float] | None = None,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare every level with a baseline on the episodes that both played to the end.

    Parameters
    ----------
    runs : Run, path, or sequence of them
        Several folders are joined.
    by : str, optional
        What levels differ in: one of the domain's columns, or ``run``. In matrix games ``strategy``
        (the default), ``subject``, ``model`` or ``labels``; a subject without a strategy or a
        model, such as a tabular learner, is a level of its own, paired with every model.
    baseline : str, optional
        Default: the first level in the runs.
    metrics : sequence of str, optional
        Default: all with a value in any episode.
    reference : str, optional
        What regret is measured from, if the domain knows several; overrides the cells' own.
    margins : mapping of str to float, optional
        Per metric the margin of the equivalence test, in the unit of the comparison.
    resamples : int
        Random sign patterns, at least 99; they are the same in every call.

    Raises
    ------
    TomevalError
        An unknown name, runs of different domains, a single level, nothing that pairs, cells that
        cannot be told apart.

    Notes
    -----
    One pair gives a difference and nothing else. With at most 13 pairs the permutation test tries
    all sign patterns, and its p is exact. If all differences are equal, intervals have width 0, and
    Student's p and the effect size are undefined unless all are 0. See docs/comparisons.md.
    """
    if resamples < 99:
        raise TomevalError(f"resamples must be at least 99, is {resamples}")
    with opened(runs) as listed:
        by = check_by(listed, by)
        known = metric_names(listed, metrics)
        asked = {metric_names(listed, [name])[0]: value for name, value in (margins or {}).items()}
        margin_of = dict(zip(known, _margins(asked, known), strict=True))
        names, sides = compared_sides(listed, by, metrics, reference)
        margin = np.array([margin_of[name] for name in names])
        pairing = pair(sides, by, baseline, names)
        ranges = _ranges(sides, pairing)
        more = share_notes([side.cell for side in sides], names)
        more += [note for run in listed for note in looked_notes(run)]
        more += left_out(listed, by)
    comparison = compare_pairs(pairing, margin=margin, ranges=ranges, resamples=resamples)
    return replace(comparison, notes=(*comparison.notes, *dict.fromkeys(more)))


def compared_sides(
    runs: Sequence[Run], by: str, metrics: Sequence[str] | None, reference: str | None
) -> tuple[tuple[str, ...], list[Side]]:
    """Return the metrics that are compared, and the cells with their values, in this order.

    Metrics that no episode has a value of are left out unless they are asked for.
    """
    names = metric_names(runs, metrics)
    sides = read_sides(runs, by, names, reference)
    if metrics is None and not (kept := _valued(sides)).all():
        names = tuple(np.array(names)[kept].tolist())
        sides = [
            replace(side, values=side.values[:, kept], sizes=side.sizes[kept]) for side in sides
        ]
    return names, sides


def _valued(sides: Sequence[Side]) -> NDArray[np.bool_]:
    """Return which metrics have a value in some episode, shape (M,); all metrics if none has."""
    values = np.concatenate([side.values for side in sides])
    some: NDArray[np.bool_] = np.isfinite(values).any(axis=0)
    return some if some.any() else ~some


def _ranges(sides: Sequence[Side], pairing: Pairing) -> dict[str, float]:
    """Return the range of payoffs by the first column of paired tasks: in matrix games the game."""
    column = next(iter(pairing.tasks[0]))
    paired = {str(task[column]) for task in pairing.tasks}
    payoffs = {str(side.cell.facts.get(column)): side.cell.payoffs for side in sides}
    return {name: of[1] - of[0] for name, of in payoffs.items() if name in paired and of}


def _margins(margins: Mapping[str, float], names: Sequence[str]) -> FloatArray:
    """Check margins and return one per metric, shape (M,)."""
    for name, value in margins.items():
        if name not in names:
            raise unknown("metric of a margin", name, names)
        if not (np.isfinite(value) and value > 0):
            raise TomevalError(f"margin of {name} must be above 0, is {value}")
    return np.array([margins.get(name, np.nan) for name in names])


def compare_pairs(
    pairing: Pairing,
    *,
    margin: FloatArray,
    resamples: int = RESAMPLES,
    ranges: Mapping[str, float] | None = None,
) -> Comparison:
    """Compute a `Comparison` from paired values; `ranges` of payoffs by game only add a note."""
    layout = Layout(pairing)
    numbers, identical = estimates(layout, margin)
    difference = numbers["difference"]
    signs = np.random.default_rng(Stream.of(0, "signs", pairing.by).key)
    p = permutation_p(layout, difference, resamples, signs)
    adjusted, sizes = corrected(p)
    differ, pairs = differing_pairs(layout), layout.pairs
    least = smallest_p(differ, pairs[..., None], resamples)
    apart, divisions = layout.apart, layout.divisions
    least[apart] = smallest_division_p(divisions[apart], resamples)[:, None]
    least = np.where(np.isnan(p), np.nan, least)
    scopes, tasks = pairing.names, pairing.tasks
    if layout.pooled:
        scopes, tasks = (ALL_TASKS, *scopes), ({}, *tasks)
    alone = pairing.alone
    unpaired = np.concatenate([alone.sum(axis=0)[None], alone]) if layout.pooled else alone
    comparison = Comparison(
        by=pairing.by,
        baseline=pairing.baseline,
        levels=pairing.levels,
        measures=pairing.measures,
        scopes=scopes,
        tasks=tasks,
        pairs=pairs,
        apart=apart,
        differing=differ,
        covered=layout.covered,
        unpaired=unpaired,
        margin=margin,
        p_permutation=p,
        p_holm=adjusted,
        p_smallest=corrected(least)[0],
        identical=identical,
        family_size=sizes,
        resamples=resamples,
        notes=(),
        **numbers,
    )
    notes = [f"{name}: no episode was completed by both sides" for name in pairing.empty]
    said = comparison_notes(comparison, ranges or {})
    if layout.pooled:
        blind = np.all(layout.blind[np.argsort(layout.order)], axis=1)
        notes += blind_notes(pairing.names, pairing.measures, blind)
    return replace(comparison, notes=(*notes, *said))


def corrected(p: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return p of shape (S, L, M) after Holm's correction, and how many it covers for each."""
    result = np.full(p.shape, np.nan)
    for scope, metric in np.ndindex(p.shape[0], p.shape[2]):
        result[scope, :, metric] = holm(p[scope, :, metric])
    tests = ~np.isnan(p)
    return result, np.where(tests, tests.sum(axis=1, keepdims=True), 0)
