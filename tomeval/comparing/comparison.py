"""Compare strategies, or whatever else cells differ in, with a baseline, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.estimates import estimates, permutation_tests
from tomeval.comparing.layout import Pairing
from tomeval.comparing.pairing import pair
from tomeval.comparing.result import Comparison as Comparison
from tomeval.comparing.result import blind_notes, comparison_notes, range_notes, share_notes
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
        _check_margins(asked, known)
        names, sides = compared_sides(listed, by, metrics, reference)
        pairing = pair(sides, by, baseline, names)
        notes = [
            *range_notes(pairing, [side.cell for side in sides]),
            *share_notes([side.cell for side in sides], names),
            *(note for run in listed for note in looked_notes(run)),
            *left_out(listed, by),
        ]
    margin = np.array([asked.get(name, np.nan) for name in names])
    comparison = compare_pairs(pairing, margin=margin, resamples=resamples)
    return replace(comparison, notes=(*comparison.notes, *dict.fromkeys(notes)))


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


def _check_margins(margins: Mapping[str, float], names: Sequence[str]) -> None:
    for name, value in margins.items():
        if name not in names:
            raise unknown("metric of a margin", name, names)
        if not (np.isfinite(value) and value > 0):
            raise TomevalError(f"margin of {name} must be above 0, is {value}")


def compare_pairs(
    pairing: Pairing, *, margin: FloatArray, resamples: int = RESAMPLES
) -> Comparison:
    """Compute a `Comparison` from paired values, with margins by metric, NaN without one."""
    numbers, identical = estimates(pairing, margin)
    signs = np.random.default_rng(Stream.of(0, "signs", pairing.by).key)
    p, differ = permutation_tests(pairing, resamples, signs)
    p[np.isnan(numbers["difference"])] = np.nan
    adjusted, sizes = corrected(p)
    pairs, apart = pairing.pairs, pairing.apart
    least = smallest_p(differ, pairs[..., None], resamples)
    least[apart] = smallest_division_p(pairing.divisions[apart], resamples)[:, None]
    pooled = pairing.pooled
    comparison = Comparison(
        by=pairing.by,
        baseline=pairing.baseline,
        levels=pairing.levels,
        measures=pairing.measures,
        scopes=(ALL_TASKS, *pairing.names) if pooled else pairing.names,
        tasks=({}, *pairing.tasks) if pooled else pairing.tasks,
        pairs=pairs,
        apart=apart,
        differing=differ,
        covered=pairing.by_scope((pairing.counts > 0).astype(np.int64)),
        unpaired=pairing.by_scope(pairing.alone),
        margin=margin,
        p_permutation=p,
        p_holm=adjusted,
        p_smallest=corrected(np.where(np.isnan(p), np.nan, least))[0],
        identical=identical,
        family_size=sizes,
        resamples=resamples,
        notes=(),
        **numbers,
    )
    notes = [f"{name}: no episode was completed by both sides" for name in pairing.empty]
    if pooled:
        notes += blind_notes(pairing.names, pairing.measures, np.asarray(pairing.blind.all(axis=1)))
    return replace(comparison, notes=(*notes, *comparison_notes(comparison)))


def corrected(p: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return p of shape (S, L, M) after Holm's correction, and how many it covers for each."""
    result = np.full(p.shape, np.nan)
    for scope, metric in np.ndindex(p.shape[0], p.shape[2]):
        result[scope, :, metric] = holm(p[scope, :, metric])
    tests = ~np.isnan(p)
    return result, np.where(tests, tests.sum(axis=1, keepdims=True), 0)
