"""Differences of pairs with intervals and p values that hold at every look."""

from __future__ import annotations

import math

import numpy as np

from tomeval.comparing.layout import Layout
from tomeval.statistics.bounded import FEWEST, Bounds
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.sequences import e_value, mean_sequence


def anytime_numbers(layout: Layout, margin: FloatArray) -> dict[str, FloatArray]:
    """Return ``sequence_low``, ``sequence_high``, ``p_sequence`` and ``p_equivalence``, (S, L, M).

    Over several meetings, whose units are independent, these are one sample, in which a pair counts
    once every meeting has as many: what differs between the meetings' means only widens it, as the
    product of 1 + b (m_g - m) over the meetings is at most 1 for every bet b, by the inequality of
    the means. Groups that are no pairs have no sequence. `margin` is as in `Comparison`.
    """
    names = ("sequence_low", "sequence_high", "p_sequence", "p_equivalence")
    numbers = {name: np.full(layout.shape, np.nan) for name in names}
    scopes: dict[int, list[tuple[int, int, int]]] = {}
    for at in layout.tasks():
        for scope in {layout.scope(at[2]), 0 if layout.pooled else layout.scope(at[2])}:
            scopes.setdefault(scope, []).append(at)
    apart, limits = layout.apart(), layout.pairing.limits
    for scope, tasks in scopes.items():
        for level in range(layout.shape[1]):
            there = [at for at in tasks if layout.counts[at[2], level]]
            if not there or apart[scope, level]:
                continue
            values, low, high = _units(layout, there, level, limits, layout.pooled and scope == 0)
            for m in range(layout.shape[2]):
                row = _numbers(values[:, m], (float(low[m]), float(high[m])), float(margin[m]))
                for name, number in zip(names, row, strict=True):
                    numbers[name][scope, level, m] = number
    return numbers


def _units(
    layout: Layout, tasks: list[tuple[int, int, int]], level: int, limits: FloatArray, whole: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the difference of each sampling unit, (n, M), and between what it lies, (M,) each.

    A unit that lacks some of its tasks' pairs leaves the tasks' means as they are: the others count
    more there, and the bounds are as much wider.
    """
    parts, lows, highs = [], [], []
    numbers = list(dict.fromkeys(at[0] for at in tasks))
    for number in numbers:
        mine = [at for at in tasks if at[0] == number]
        places = [place for _, place, _ in mine]
        paired = layout.pairing.meetings[number].paired[:, places, level]
        rows = paired.any(axis=1)
        share = np.array([layout.shares[task, level] for *_, task in mine])
        share = share if whole else np.ones_like(share)
        signs = np.nan_to_num(layout.signs[number][rows][:, places, level], nan=0.0)
        lost = (np.isnan(layout.signs[number][rows][:, places, level]) & (share > 0)).any((0, 1))
        size = rows.sum() * len(numbers)
        values = size * np.einsum("utm,tm->um", signs, share)
        parts.append(np.where(lost, np.nan, values))
        weights = size * share * (paired[rows] / paired.sum(axis=0))[..., None]
        between = limits[[layout.order[task] for *_, task in mine], level]
        lows.append(_sums(weights, between[..., 0]).min(axis=0))
        highs.append(_sums(weights, between[..., 1]).max(axis=0))
    count = min(map(len, parts))
    values = np.concatenate([part[:count] for part in parts])
    return values, np.min(lows, axis=0), np.max(highs, axis=0)


def _sums(weights: FloatArray, ends: FloatArray) -> FloatArray:
    """Return weighted sums over tasks, (n, M); infinite if an end (T, M) is that a unit weighs."""
    known = np.isfinite(ends)
    sums = np.einsum("utm,tm->um", weights, np.where(known, ends, 0.0))
    result: FloatArray = sums + np.where(known | ~weights.any(axis=0), 0.0, ends).sum(axis=0)
    return result


def _numbers(values: FloatArray, bounds: Bounds, margin: float) -> tuple[float, ...]:
    """Return the ends of the sequence, p of no difference and p of one beyond the margin."""
    if np.isnan(values).any() or len(values) < 2:
        return (math.nan,) * 4
    ends = mean_sequence(values, bounds=bounds) if len(values) >= FEWEST else (math.nan, math.nan)
    p = min(1.0, 1 / max(e_value(values, bounds=bounds), 1e-300))
    if math.isnan(margin):
        return *ends, p, math.nan
    if abs(values.mean()) >= margin:
        return *ends, p, 1.0
    beyond = min(e_value(values, end, bounds=bounds) for end in (-margin, margin))
    return *ends, p, min(1.0, 1 / max(beyond, 1e-300))
