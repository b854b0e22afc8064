"""Compare strategies (or subjects, models, label sets, runs) with a baseline, pair by pair."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.estimates import PairEstimates
from tomeval.comparing.notes import ALPHA, comparison_notes
from tomeval.comparing.pairing import Pairing, pair
from tomeval.comparing.sides import Runs, Side, metric_names, opened, read_sides
from tomeval.core.errors import TomevalError, unknown
from tomeval.runs.directions import in_payoff_units
from tomeval.statistics.estimates import RESAMPLES
from tomeval.statistics.paired import FloatArray, IntArray, holm

ALL_TASKS = "all tasks"
SCALES = ("payoff", "range")
FAMILIES = {
    "metric": "the comparisons of one metric in one scope with the baseline",
    "scope": "the comparisons of all metrics in one scope with the baseline",
    "all": "all comparisons of all metrics in all scopes",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences of L levels from a baseline in M metrics, over S scopes.

    A scope is one task: game, labels, partners, horizon and model, all seeds together. With several
    tasks scope 0 is the mean over all of them, every task counting the same. NaN stands for
    undefined; intervals are 95 %.

    Attributes
    ----------
    by, baseline : str
        What is compared, and with which.
    levels, metrics, scopes : tuple of str
    tasks : tuple of dict
        Per scope the columns of its task; empty for "all tasks".
    pairs : ndarray of int, shape (S, L)
        Sampling units that were complete with both: episodes of one seed and number. Episodes
        against one partner set in several tasks (label sets, models) drew the same random numbers
        and are one unit.
    covered : ndarray of int, shape (S, L)
        Tasks of the scope with at least one pair.
    unpaired : ndarray of int, shape (S, L)
        Complete episodes of either side that have no partner: the other one was voided, failed or
        not played. They are in no number here.
    level_mean, baseline_mean, difference : ndarray, shape (S, L, M)
        Means over the pairs; `difference` is level - baseline.
    t_low, t_high, bca_low, bca_high : ndarray, shape (S, L, M)
        Student's (Welch-Satterthwaite over several partner sets) and the BCa bootstrap's interval
        of the difference, resampling pairs within each game and partner set.
    p_t, p_permutation, p_holm : ndarray, shape (S, L, M)
        Two-sided p of Student's t, of the sign-flip permutation test, and the latter's after Holm's
        correction within `family`.
    effect_size : ndarray, shape (S, L, M)
        Hedges' g of the paired differences: mean / SD; over all tasks the mean of the tasks'
        differences / the root of the tasks' mean variance.
    improvement, improvement_low, improvement_high : ndarray, shape (S, L, M)
        Probability of improvement: that an episode of the level beats one of the baseline, ties
        half. NaN for metrics without a better side.
    margin : ndarray, shape (M,)
        Margin of the equivalence test; NaN where none was stated.
    p_equivalence : ndarray, shape (S, L, M)
        Two one-sided t tests: a small p says that the difference lies within ± margin.
    family : str
        What Holm's correction covers.
    family_size : ndarray of int, shape (S, L, M)
        How many tests were corrected together; 0 where there was none.
    resamples, seed : int
    notes : tuple of str
        What a reader must know beside the numbers.
    """

    by: str
    baseline: str
    levels: tuple[str, ...]
    metrics: tuple[str, ...]
    scopes: tuple[str, ...]
    tasks: tuple[dict[str, Any], ...]
    pairs: IntArray
    covered: IntArray
    unpaired: IntArray
    level_mean: FloatArray
    baseline_mean: FloatArray
    difference: FloatArray
    t_low: FloatArray
    t_high: FloatArray
    bca_low: FloatArray
    bca_high: FloatArray
    p_t: FloatArray
    p_permutation: FloatArray
    p_holm: FloatArray
    effect_size: FloatArray
    improvement: FloatArray
    improvement_low: FloatArray
    improvement_high: FloatArray
    margin: FloatArray
    p_equivalence: FloatArray
    identical: NDArray[np.bool_]
    family: str
    family_size: IntArray
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def _index(self, level: str, metric: str, scope: int) -> tuple[int, int, int]:
        if level not in self.levels:
            raise unknown(self.by, level, self.levels)
        if metric not in self.metrics:
            raise unknown("metric", metric, self.metrics)
        return scope, self.levels.index(level), self.metrics.index(metric)

    def verdict(self, level: str, metric: str, scope: int = 0) -> str:
        """Say in a word what the tests give at 5 %.

        Returns
        -------
        {"higher", "lower", "equivalent", "identical", "undecided", "untested"}
            The level against the baseline. ``higher`` and ``lower``: the corrected permutation p is
            below 0.05. ``equivalent``: else the equivalence test's p is. ``identical``: every pair
            has the same value. ``undecided``: none of these, which is not evidence for no
            difference. ``untested``: fewer than two pairs.
        """
        return self._verdict(self._index(level, metric, scope))

    def _verdict(self, at: tuple[int, int, int]) -> str:
        if self.identical[at]:
            return "identical"
        if np.isnan(self.p_holm[at]):
            return "untested"
        if self.p_holm[at] < ALPHA:
            return "higher" if self.difference[at] > 0 else "lower"
        return "equivalent" if self.p_equivalence[at] < ALPHA else "undecided"

    def at(self, level: str, metric: str, scope: int = 0) -> dict[str, Any]:
        """Return one comparison as a row; see `rows`."""
        return self._row(self._index(level, metric, scope))

    def _row(self, at: tuple[int, int, int]) -> dict[str, Any]:
        s, k, m = at
        row: dict[str, Any] = {
            "scope": self.scopes[s],
            self.by: self.levels[k],
            "baseline": self.baseline,
            "metric": self.metrics[m],
            "pairs": int(self.pairs[s, k]),
            "unpaired": int(self.unpaired[s, k]),
            "tasks": int(self.covered[s, k]),
        }
        names = ["level_mean", "baseline_mean", "difference", "t_low", "t_high"]
        names += ["bca_low", "bca_high", "p_t", "p_permutation", "p_holm"]
        renamed = {"t_low": "difference_low", "t_high": "difference_high"}
        row |= {renamed.get(name, name): float(getattr(self, name)[at]) for name in names}
        row["family_size"] = int(self.family_size[at])
        names = ["effect_size", "improvement", "improvement_low", "improvement_high"]
        row |= {name: float(getattr(self, name)[at]) for name in names}
        row["margin"] = float(self.margin[m])
        row["p_equivalence"] = float(self.p_equivalence[at])
        return row | {"verdict": self._verdict(at)}

    def rows(self, scopes: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """Return one dict per scope, metric and level, at full precision.

        ``difference_low`` and ``difference_high`` are Student's interval.
        """
        chosen = range(len(self.scopes)) if scopes is None else scopes
        return [
            self._row((s, k, m))
            for s in chosen
            for m in range(len(self.metrics))
            for k in range(len(self.levels))
        ]


def compare(
    runs: Runs,
    by: str = "strategy",
    baseline: str | None = None,
    *,
    metrics: Sequence[str] | None = None,
    reference: str | None = None,
    scale: str = "payoff",
    margins: Mapping[str, float] | None = None,
    family: str = "metric",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare every level with a baseline on the episodes that both played to the end.

    Parameters
    ----------
    runs : Run, path, or sequence of them
        Several folders are joined.
    by : {"strategy", "subject", "model", "labels", "run"}
        What levels are. A subject without a strategy or a model, such as a tabular learner, is a
        level under its own name, and is paired with every model.
    baseline : str, optional
        Default: the level that comes first in the runs.
    metrics : sequence of str, optional
        Default: all.
    reference : {"horizon", "stationary"}, optional
        Overrides the cells' own.
    scale : {"payoff", "range"}
        ``range`` divides metrics in payoff units by the game's range of own payoffs, so that a mean
        over different games is one of like things.
    margins : mapping of str to float, optional
        Per metric the margin of the equivalence test, in the unit of the comparison.
    family : {"metric", "scope", "all"}
        What Holm's correction covers, see `FAMILIES`.
    resamples : int
        Bootstrap resamples and random sign patterns, at least 99.
    seed : int
        Of the resamples: the same seed gives the same numbers.

    Returns
    -------
    Comparison

    Raises
    ------
    TomevalError
        An unknown name, a single level, nothing that pairs, cells that cannot be told apart.

    Notes
    -----
    One pair has a difference and nothing else. With at most 13 pairs the permutation test tries all
    sign patterns, and its p is exact. Where all differences are equal, intervals have width 0, and
    Student's p and the effect size are undefined unless all are 0. See docs/comparisons.md.
    """
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    if resamples < 99:
        raise TomevalError(f"resamples must be at least 99, is {resamples}")
    with opened(runs) as listed:
        names = metric_names(listed, metrics)
        sides = read_sides(listed, by, names, reference)
        if scale == "range":
            sides = [in_ranges(side, names) for side in sides]
        pairing = pair(sides, by, baseline, names)
        ranges = {side.cell.game.name: float(np.ptp(side.cell.game.own)) for side in sides}
    return compare_pairs(
        pairing,
        margin=_margins(margins or {}, names),
        family=family,
        resamples=resamples,
        seed=seed,
        ranges=ranges if scale == "payoff" else None,
    )


def in_ranges(side: Side, names: Sequence[str]) -> Side:
    """Divide metrics in payoff units by the range of the game's own payoffs."""
    width = float(np.ptp(side.cell.game.own))
    if width == 0:
        raise TomevalError(
            f"game {side.cell.game.name}: all own payoffs are equal: it has no range"
        )
    divisor = np.array([width if in_payoff_units(name) else 1.0 for name in names])
    return replace(side, values=side.values / divisor)


def _margins(margins: Mapping[str, float], names: Sequence[str]) -> FloatArray:
    """Check margins and lay them out by metric."""
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
    family: str = "metric",
    resamples: int = RESAMPLES,
    seed: int = 0,
    ranges: Mapping[str, float] | None = None,
) -> Comparison:
    """Compute a `Comparison` from paired values; `ranges` of payoffs only make a note."""
    work = PairEstimates(pairing)
    work.estimate(margin)
    work.permute(resamples, _generator(seed, "signs", pairing))
    work.bootstrap(resamples, lambda: _generator(seed, "bootstrap", pairing))
    adjusted, sizes = _holm(work.out["p_permutation"], family)
    scopes, tasks = pairing.names, pairing.tasks
    if work.pooled:
        scopes, tasks = (ALL_TASKS, *scopes), ({}, *tasks)
    comparison = Comparison(
        by=pairing.by,
        baseline=pairing.baseline,
        levels=pairing.levels,
        metrics=pairing.metrics,
        scopes=scopes,
        tasks=tasks,
        pairs=work.pairs,
        covered=work.covered,
        unpaired=work.unpaired,
        margin=margin,
        identical=work.identical,
        p_holm=adjusted,
        family=f"Holm's correction covers {FAMILIES[family]}",
        family_size=sizes,
        resamples=resamples,
        seed=seed,
        notes=(),
        **work.out,
    )
    notes = [f"{name}: no episode was completed by both sides" for name in pairing.empty]
    return replace(comparison, notes=(*notes, *comparison_notes(comparison, ranges)))


def _generator(seed: int, purpose: str, pairing: Pairing) -> np.random.Generator:
    """Return a generator that depends on the seed and its purpose alone."""
    digest = hashlib.sha256(repr((seed, purpose, pairing.by)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))


def _holm(p: FloatArray, family: str) -> tuple[FloatArray, IntArray]:
    """Return adjusted p and the number of tests corrected together."""
    axes = {"metric": (1,), "scope": (1, 2), "all": (0, 1, 2)}[family]
    result, sizes = np.full(p.shape, np.nan), np.zeros(p.shape, dtype=np.int64)
    kept = [axis for axis in range(3) if axis not in axes]
    for place in np.ndindex(*(p.shape[axis] for axis in kept)):
        index: list[Any] = [slice(None)] * 3
        for axis, value in zip(kept, place, strict=True):
            index[axis] = value
        part = p[tuple(index)]
        result[tuple(index)] = holm(part.ravel()).reshape(part.shape)
        sizes[tuple(index)] = np.where(np.isnan(part), 0, (~np.isnan(part)).sum())
    return result, sizes
