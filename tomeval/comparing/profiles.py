"""Interquartile means and performance profiles.

After Agarwal et al. 2021, *Deep reinforcement learning at the edge of the statistical precipice*,
with stratified bootstraps: episodes are resampled within each task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tomeval.comparing.notes import draw_notes
from tomeval.comparing.sides import (
    Runs,
    check_by,
    left_out,
    level_names,
    opened,
    read_sides,
    task_names,
)
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.streams import Stream
from tomeval.statistics.bootstrap import chunks, draw_bins, draw_counts, percentile_ends
from tomeval.statistics.paired import FloatArray, IntArray

RESAMPLES = 2_000
MANY = 100
_TIE = 1e-9  # scores lie between 0 and 1, and one step of 100,000 moves them by more


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of every episode, by level and task.

    Attributes
    ----------
    levels, tasks : tuple of str
        L levels and K tasks, in the runs' order.
    values : tuple of tuple of ndarray
        ``values[l][k]`` are the scores of level l in task k, shape (n,); empty if not played.
    notes : tuple of str
        What a reader must know besides the numbers.
    units : tuple of tuple of ndarray of int
        For each score the number of its sampling unit in the task, from 0; empty: every episode is
        its own.
    """

    by: str
    score: str
    levels: tuple[str, ...]
    tasks: tuple[str, ...]
    values: tuple[tuple[FloatArray, ...], ...]
    notes: tuple[str, ...] = ()
    units: tuple[tuple[IntArray, ...], ...] = ()

    def played(self, level: str) -> list[FloatArray]:
        """Return the scores of a level in the tasks it has episodes of."""
        if level not in self.levels:
            raise unknown(self.by, level, self.levels)
        return [part for part in self.values[self.levels.index(level)] if len(part)]

    def sampled(self, level: str) -> list[IntArray]:
        """Return the sampling units of `played`."""
        if not self.units:
            return [np.arange(len(part)) for part in self.played(level)]
        return [part for part in self.units[self.levels.index(level)] if len(part)]


@dataclass(frozen=True, eq=False)
class Aggregates:
    """One number per level with its 95 % interval; arrays of shape (L,).

    NaN interval: a task has fewer than two episodes. ``episodes`` and ``tasks`` count what the
    value is over; levels with different tasks cannot be compared.
    """

    levels: tuple[str, ...]
    value: FloatArray
    low: FloatArray
    high: FloatArray
    episodes: IntArray
    tasks: IntArray


@dataclass(frozen=True, eq=False)
class Profiles:
    """Share of episodes with a score above each threshold, shape (L, K), with pointwise bands."""

    levels: tuple[str, ...]
    thresholds: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray


def collect_scores(
    runs: Runs, by: str | None = None, score: str | None = None, reference: str | None = None
) -> Scores:
    """Read the scores of all complete episodes that have one.

    Parameters
    ----------
    runs, by
        As for `tomeval.comparing.compare`.
    score : str, optional
        One of the domain's scores; default: its first. In matrix games ``attained``, the share of
        the attainable reward, or ``tom``, ToM % / 100.
    reference : str, optional
        Only changes the tasks' names: no score depends on it.

    Raises
    ------
    TomevalError
        An unknown score, a domain without scores, or a task in which a score is not defined.
    """
    with opened(runs) as listed:
        domain = listed[0].domain
        if not domain.compare.scores:
            raise TomevalError(f"domain {domain.name!r} has no scores from 0 to 1 to aggregate")
        score = next(iter(domain.compare.scores)) if score is None else score
        if score not in domain.compare.scores:
            raise unknown("score", score, domain.compare.scores)
        by = check_by(listed, by)
        sides = read_sides(listed, by, (), reference)
        notes = [*draw_notes(sides), *left_out(listed, by)]
        parts: dict[tuple[str, tuple[Any, ...]], list[FloatArray]] = {}
        labels: dict[tuple[str, tuple[Any, ...]], list[str]] = {}
        for side in sides:
            mine = np.asarray(domain.compare.scores[score].of(side.cell), dtype=np.float64)
            has = np.isfinite(mine)
            whose = (side.level, side.key)
            parts.setdefault(whose, []).append(mine[has])
            labels.setdefault(whose, []).extend(f"{side.seed} {c}" for c in side.clusters[has])
    keys = list(dict.fromkeys(side.key for side in sides))
    levels = level_names(sides)
    columns = [*sides[0].task, "player"]
    names = task_names(domain, [dict(zip(columns, key, strict=True)) for key in keys])
    empty = [np.empty(0)]
    laid = tuple(
        tuple(np.concatenate(parts.get((level, key), empty)) for key in keys) for level in levels
    )
    units = tuple(
        tuple(_numbered(labels.get((level, key), [])) for key in keys) for level in levels
    )
    return Scores(by, score, levels, names, laid, tuple(notes), units)


def _numbered(labels: Sequence[str]) -> IntArray:
    """Return the number of each label, from 0 in order of appearance."""
    number = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    return np.array([number[label] for label in labels], dtype=np.int64)


def interquartile_mean(values: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the mean of the middle half of the weighted values; NaN without values.

    The mean of the quantile function between 1/4 and 3/4. With equal weights and a number of values
    that 4 divides, it is the 25 % trimmed mean; else the values at the edges count in part.

    Examples
    --------
    >>> interquartile_mean([0, 1, 2, 100])
    1.5
    >>> round(interquartile_mean([0, 1, 2, 3, 100]), 12)
    2.0
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        return float("nan")
    mass = np.ones(data.size) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.argsort(data, kind="stable")
    return float(_middle(data[order], (mass / mass.sum())[order][None])[0])


def _middle(ordered: FloatArray, mass: FloatArray) -> FloatArray:
    """Return interquartile means of sorted values under each row of weights that sum to 1."""
    reached = np.clip(np.cumsum(mass, axis=1), 0.25, 0.75)
    kept = np.diff(reached, axis=1, prepend=0.25)
    means: FloatArray = (kept @ ordered) / kept.sum(axis=1)
    return means


def interquartile_means(scores: Scores, *, resamples: int = RESAMPLES, seed: int = 0) -> Aggregates:
    """Return the interquartile mean of every level over all its episodes, tasks counting the same.

    A few games or episodes sway it less than the mean, and it uses more episodes than the median
    (Agarwal et al. 2021, section 4.3). Percentile intervals of a bootstrap within tasks.
    """
    rows = []
    for level in scores.levels:
        parts = scores.played(level)
        flat = np.concatenate(parts) if parts else np.empty(0)
        weights = _weights(parts)
        low = high = float("nan")
        units = scores.sampled(level)
        if parts and min(int(part.max()) for part in units) >= 1:
            rng = np.random.default_rng(Stream.of(seed, "iqm", level).key)
            means = _resampled_means(parts, units, rng, resamples)
            low, high = map(float, percentile_ends(means))
        value = interquartile_mean(flat, weights)
        rows.append((value, low, high, len(flat), len(parts)))
    return Aggregates(scores.levels, *(np.array(column) for column in zip(*rows, strict=True)))


def _weights(parts: Sequence[FloatArray]) -> FloatArray:
    """Return each episode's weight, so that every task weighs the same."""
    if not parts:
        return np.empty(0)
    return np.concatenate([np.full(len(p), 1 / (len(p) * len(parts))) for p in parts])


def _resampled_means(
    parts: Sequence[FloatArray],
    units: Sequence[IntArray],
    rng: np.random.Generator,
    resamples: int,
) -> FloatArray:
    """Return interquartile means of bootstrap samples of units, shape (resamples,)."""
    flat = np.concatenate(parts)
    order = np.argsort(flat, kind="stable")
    result = np.empty(resamples)
    for chunk in chunks(resamples, len(flat)):
        count = chunk.stop - chunk.start
        times = np.concatenate([_drawn(count, part, rng) for part in units], axis=1)
        result[chunk] = _middle(flat[order], times[:, order] / len(parts))
    return result


def _drawn(count: int, units: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return each episode's share in resamples of their units, shape (count, n)."""
    drawn = draw_counts(count, int(units.max()) + 1, rng)
    if drawn.shape[1] < len(units):
        whole = drawn[:, units]
        shares: FloatArray = whole / whole.sum(axis=1, keepdims=True)
        return shares
    return drawn[:, units] / len(units)


def performance_profiles(
    scores: Scores,
    thresholds: ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Profiles:
    """Return the share of episodes above each threshold, tasks counting the same.

    Agarwal et al. 2021, equation 3 (score distributions), with pointwise 95 % percentile bands of a
    bootstrap within tasks. Default thresholds: 0 to 1 in steps of 0.01. The bands are too narrow
    with fewer than about `MANY` episodes per task, most where shares are near 0 or 1; see
    docs/comparisons.md.
    """
    edges = np.linspace(0, 1, 101) if thresholds is None else np.asarray(thresholds, np.float64)
    if edges.ndim != 1 or edges.size == 0 or (np.diff(edges) <= 0).any():
        raise TomevalError("thresholds must be increasing")
    share = np.full((3, len(scores.levels), len(edges)), np.nan)
    for row, level in enumerate(scores.levels):
        parts = scores.played(level)
        if not parts:
            continue
        # A score that equals a threshold is not above it, however both were rounded; shapes (n, K).
        above = [part[:, None] > edges + _TIE * np.maximum(1.0, np.abs(edges)) for part in parts]
        share[0, row] = np.mean([shares.sum(axis=0) / len(shares) for shares in above], axis=0)
        units = scores.sampled(level)
        if min(int(part.max()) for part in units) >= 1:
            rng = np.random.default_rng(Stream.of(seed, "profile", level).key)
            drawn = np.zeros((resamples, len(edges)))
            for task, part in zip(above, units, strict=True):  # one at a time: all are gigabytes
                drawn += _resampled_shares(task, part, rng, resamples)
            share[1:, row] = percentile_ends(drawn / len(above))
    return Profiles(scores.levels, edges, share[0], share[1], share[2])


def _resampled_shares(
    above: NDArray[np.bool_], units: IntArray, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Return bootstrap shares above each threshold, shape (resamples, K).

    Resampling episodes is drawing how many fall between neighbouring thresholds.
    """
    sizes = np.bincount(units)
    if len(sizes) < len(units):
        sums = np.zeros((len(sizes), above.shape[1]))
        np.add.at(sums, units, above)
        counts = draw_counts(resamples, len(sizes), rng)
        by_cluster: FloatArray = (counts @ sums) / (counts @ sizes)[:, None]
        return by_cluster
    passed = above.sum(axis=1)  # thresholds rise: an episode passes the first ones
    drawn = draw_bins(np.bincount(passed, minlength=above.shape[1] + 1), resamples, rng)
    shares: FloatArray = drawn[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:] / len(above)
    return shares
