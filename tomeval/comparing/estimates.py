"""Means, intervals, tests and probabilities of improvement of paired values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.layout import Layout
from tomeval.statistics.improvement import improvement, improvement_interval
from tomeval.statistics.paired import (
    FloatArray,
    equivalence_test,
    hedges,
    standard_error,
    t_interval,
    t_test,
)

_TIE = 1e-13  # of a value's size: what the rounding of sums over some thousand steps can add up to
_MEANS = ("level_mean", "baseline_mean", "difference")
_TESTS = (*_MEANS, "t_low", "t_high", "p_t", "p_equivalence")
_NAMES = (*_TESTS, "effect_size", "improvement", "improvement_low", "improvement_high")


class Estimates(NamedTuple):
    """The numbers that need no resampling, each of shape (S, L, M); see `Comparison`."""

    numbers: dict[str, FloatArray]
    identical: NDArray[np.bool_]


class _Task(NamedTuple):
    """What the scope of all tasks needs from one task and level."""

    number: int  # of the meeting
    scope: int
    deviation: FloatArray
    chance: FloatArray
    moved: FloatArray  # influences on the chance, shape (U, M)
    alike: NDArray[np.bool_]  # whether both sides have the same value in every pair


def estimates(layout: Layout, margin: FloatArray) -> Estimates:
    """Return the numbers that need no resampling; `margin` as in `Comparison`."""
    found = Estimates(
        {name: np.full(layout.shape, np.nan) for name in _NAMES}, np.zeros(layout.shape, dtype=bool)
    )
    for level in range(len(layout.pairing.levels)):
        played = [place for place in layout.tasks() if layout.counts[place[2], level]]
        parts = [_task(layout, found, place, level, margin) for place in played]
        if layout.pooled and parts:
            _pool(layout, found, level, margin, parts)
    return found


def _task(
    layout: Layout, found: Estimates, place: tuple[int, int, int], level: int, margin: FloatArray
) -> _Task:
    """Fill one level in one task."""
    number, task, index = place
    meeting = layout.pairing.meetings[number]
    rows = meeting.paired[:, task, level]
    count, scope = int(rows.sum()), layout.scope(index)
    at = (scope, level)
    x, y = meeting.level[rows, task, level], meeting.baseline[rows, task, level]
    mean = (x - y)[0] + ((x - y) - (x - y)[0]).mean(axis=0)  # exact if all are equal
    influences = layout.moves[number][rows, task, level]
    _fill(found, at, (x.mean(axis=0), y.mean(axis=0), mean), [influences], margin)
    tie = _TIE * layout.pairing.sizes[layout.order[index]]
    alike = (np.abs(x - y) <= tie).all(axis=0)
    found.identical[at] = alike if count > 1 else False
    deviation = np.sqrt((influences**2).sum(axis=0) * count**2 / max(count - 1, 1))
    found.numbers["effect_size"][at] = hedges(mean, deviation, count - 1)
    better = np.array([measure.better for measure in layout.pairing.measures])
    chance, moved = improvement(x * better, y * better, tie)
    chance = np.where((better == 0) | np.isnan(mean), np.nan, chance)
    _fill_improvement(found, at, chance, [moved], count)
    whole = np.zeros((len(rows), len(better)))
    whole[rows] = moved
    return _Task(number, scope, deviation, chance, whole, alike)


def _pool(
    layout: Layout, found: Estimates, level: int, margin: FloatArray, parts: list[_Task]
) -> None:
    """Fill one level over all its tasks, each counting the same."""
    at, share = (0, level), 1 / len(parts)
    means = np.zeros((3, layout.shape[2]))
    for part in parts:
        for row, name in enumerate(_MEANS):
            means[row] += share * found.numbers[name][part.scope, level]
    influences, moved, units = [], [], 0
    for number, meeting in enumerate(layout.pairing.meetings):
        rows = meeting.paired[:, :, level].any(axis=1)
        if rows.any():
            units += int(rows.sum())
            influences.append(share * layout.moves[number][rows, :, level].sum(axis=1))
            mine = [part.moved[rows] for part in parts if part.number == number]
            moved.append(share * np.sum(mine, axis=0))
    _fill(found, at, (means[0], means[1], means[2]), influences, margin)
    found.identical[at] = units > 1 and np.all([part.alike for part in parts], axis=0)
    freedom = sum(int(count) - 1 for count in layout.counts[:, level] if count)
    variance = np.mean([part.deviation**2 for part in parts], axis=0)
    found.numbers["effect_size"][at] = hedges(means[2], np.sqrt(variance), freedom)
    chance = np.mean([part.chance for part in parts], axis=0)
    _fill_improvement(found, at, chance, moved, units)


def _fill(
    found: Estimates,
    at: tuple[int, int],
    means: tuple[FloatArray, FloatArray, FloatArray],
    influences: list[FloatArray],
    margin: FloatArray,
) -> None:
    """Fill means, Student's interval and both t tests."""
    standard, difference = standard_error(influences), means[2]
    low, high = t_interval(difference, standard)
    p = t_test(difference, standard), equivalence_test(difference, standard, margin)
    for name, values in zip(_TESTS, (*means, low, high, *p), strict=True):
        found.numbers[name][at] = values


def _fill_improvement(
    found: Estimates, at: tuple[int, int], value: FloatArray, moved: list[FloatArray], units: int
) -> None:
    """Fill the probability of improvement and its interval."""
    low, high = improvement_interval(value, standard_error(moved), units)
    for name, values in {"": value, "_low": low, "_high": high}.items():
        found.numbers[f"improvement{name}"][at] = values
