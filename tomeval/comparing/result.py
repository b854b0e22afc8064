"""The result of a comparison of levels with a baseline, and what its test can reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import unknown
from tomeval.core.numbers import exact
from tomeval.runs.measures import Measure
from tomeval.statistics.flips import enough_pairs
from tomeval.statistics.paired import FloatArray, IntArray

ALPHA = 0.05
LARGEST = 10
"""Effect sizes beyond ± this say only that the differences hardly vary."""
_SHOWN = 3
INTERVAL, TEST, APART = "t", "sign flip", "exchange of units"
"""The kinds of the interval and of the test that a row shows first, of pairs and of two groups;
the last is the test of sequences."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences of L levels from a baseline in M metrics, over S scopes.

    A scope is one task with what else is held fixed, such as the model, all seeds together. With
    several tasks scope 0 is the mean over all of them, every task counting the same. NaN stands for
    undefined; intervals are 95 %.

    Attributes
    ----------
    by, baseline : str
        What levels differ in, and which of them is the baseline.
    tasks : tuple of dict
        Per scope the columns of its task; empty for "all tasks".
    pairs : ndarray of int, shape (S, L)
        Sampling units that both sides completed: episodes of one seed and number. Episodes of
        several tasks that met the same chance are one unit: in matrix games those against one
        partner set, whatever the label set and the model.
    apart : ndarray of bool, shape (S, L)
        Whether level and baseline are two groups, because nothing says that their episodes met the
        same chance. ``pairs`` then counts the units of both groups together, and every unit, such
        as a person, counts the same: intervals are Welch's, and the test exchanges the units
        between the groups.
    differing : ndarray of int, shape (S, L, M)
        Those of them whose difference is not 0: flipping the sign of a 0 changes nothing.
    covered : ndarray of int, shape (S, L)
        Tasks of the scope with at least one pair.
    unpaired : ndarray of int, shape (S, L)
        Complete episodes of either side without a pair: the other was voided, failed or not played,
        or, where pairs go by partner, person or chance, the other side met none of these.
        No number here includes them.
    level_mean, baseline_mean, difference : ndarray, shape (S, L, M)
        Means over the pairs; `difference` is level - baseline.
    t_low, t_high, bca_low, bca_high : ndarray, shape (S, L, M)
        Student's (Welch-Satterthwaite over several meetings, see `Meeting`) and the BCa bootstrap's
        interval of the difference, resampling pairs within each meeting.
    p_t, p_permutation, p_holm : ndarray, shape (S, L, M)
        Two-sided p of Student's t, of the sign-flip permutation test, and the latter's after Holm's
        correction within `family`.
    p_smallest : ndarray, shape (S, L, M)
        The smallest `p_holm` that these pairs could have given: if in every comparison of the
        family all differences had one sign.
    effect_size : ndarray, shape (S, L, M)
        Hedges' g of the paired differences: mean / SD; over all tasks the mean of the tasks'
        differences / the root of the tasks' mean variance.
    improvement, improvement_low, improvement_high : ndarray, shape (S, L, M)
        Probability of improvement: that an episode of the level beats one of the baseline, ties
        half. NaN for metrics without a better side.
    margin : ndarray, shape (M,)
        Margin of the equivalence test; NaN if none was stated.
    p_equivalence : ndarray, shape (S, L, M)
        Two one-sided t tests: a small p says that the difference lies within ± margin.
    family_size : ndarray of int, shape (S, L, M)
        How many tests Holm's correction of this one covers; 0 without a test.
    notes : tuple of str
        What a reader must know besides the numbers.
    """

    by: str
    baseline: str
    levels: tuple[str, ...]
    measures: tuple[Measure, ...]
    scopes: tuple[str, ...]
    tasks: tuple[dict[str, Any], ...]
    pairs: IntArray
    apart: NDArray[np.bool_]
    differing: IntArray
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
    p_smallest: FloatArray
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

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(measure.name for measure in self.measures)

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
        {"higher", "lower", "equivalent", "identical", "too few", "undecided", "untested"}
            The level against the baseline. ``higher`` and ``lower``: the corrected permutation p is
            below 0.05. ``equivalent``: else the equivalence test's p is. ``identical``: every pair
            has the same value. ``too few``: whatever the pairs had shown, no test could have
            rejected, see `enough`. ``undecided``: none of these, which is not evidence for no
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
        if self.p_equivalence[at] < ALPHA:
            return "equivalent"
        return "undecided" if self.p_smallest[at] < ALPHA else "too few"

    def enough(self, at: tuple[int, int, int]) -> int | None:
        """Return the fewest pairs with which a comparison (scope, level, metric) could reject.

        They must differ, all in one direction. None: not with so few resamples, not tested, or no
        pairs.
        """
        tests = int(self.family_size[at])
        if self.apart[at[:2]]:
            return None
        return enough_pairs(tests, self.resamples, ALPHA) if tests else None

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
            "differing": int(self.differing[at]),
            "unpaired": int(self.unpaired[s, k]),
            "tasks": int(self.covered[s, k]),
        }
        names = ["level_mean", "baseline_mean", "difference", "t_low", "t_high"]
        names += ["bca_low", "bca_high", "p_t", "p_permutation", "p_holm", "p_smallest"]
        names += ["family_size"]
        names += ["effect_size", "improvement", "improvement_low", "improvement_high"]
        renamed = {"t_low": "difference_low", "t_high": "difference_high"}
        for name in names:
            value = getattr(self, name)[at].item()
            row[renamed.get(name, name)] = exact(value) if isinstance(value, float) else value
        test = APART if self.apart[s, k] else TEST
        row |= {"interval": INTERVAL, "test": test, "pairs_enough": self.enough(at)}
        row["margin"] = float(self.margin[m])
        row["p_equivalence"] = float(self.p_equivalence[at])
        return row | {"verdict": self._verdict(at)}

    def rows(self, scopes: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """Return one dict per scope, metric and level, at full precision.

        ``difference_low`` and ``difference_high`` are the interval of the kind ``interval``,
        Student's, of one difference alone; ``p_permutation``, ``p_holm`` and ``p_smallest`` are of
        ``test``, the sign flip or between groups the exchange of units. ``pairs_enough`` is
        `enough`.
        """
        chosen = range(len(self.scopes)) if scopes is None else scopes
        return [
            self._row((s, k, m))
            for s in chosen
            for m in range(len(self.metrics))
            for k in range(len(self.levels))
        ]


def reach_notes(found: Comparison) -> list[str]:
    """Say in which scopes no test can reject, whatever the pairs show, and what would be enough."""
    tested = ~np.isnan(found.p_smallest)
    stuck = tested & ~found.identical & ~(found.p_smallest < ALPHA) & ~(found.p_holm < ALPHA)
    notes: dict[tuple[str, ...], list[str]] = {}
    for s, scope in enumerate(found.scopes):
        levels = np.flatnonzero(stuck[s].any(axis=1)).tolist()
        free = (tested[s] & ~stuck[s] & ~found.identical[s]).any(axis=1)
        for key, mine in _alike(found, stuck, s, levels).items():
            where = scope
            if free.any() or len(mine) < len(levels):  # not all that this scope compares
                where += f" ({_some(found.levels[k] for k in mine)})"
            notes.setdefault(key, []).append(where)
    return [f"{key[0]} in {_some(where, '; ')}: {key[1]}" for key, where in notes.items()]


def _alike(
    found: Comparison, stuck: NDArray[np.bool_], s: int, levels: Sequence[int]
) -> dict[tuple[str, str], list[int]]:
    """Group the levels of a scope without a usable test by the reason."""
    said: dict[tuple[str, str], list[int]] = {}
    for k in levels:
        m = int(np.flatnonzero(stuck[s, k])[0])
        tests, pairs = int(found.family_size[s, k, m]), int(found.pairs[s, k])
        enough = found.enough((s, k, m))
        if enough is None:
            continue  # the number of resamples is what is too small, which has its own note
        if pairs < enough:
            lead = f"no test can reject at {100 * ALPHA:g} %"
            best = f"{pairs} pairs are too few even if all differ in one direction"
            least = min(1.0, tests * 2.0 ** (1 - pairs))
        else:
            lead = f"the test cannot reject at {100 * ALPHA:g} %"
            best = f"{int(found.differing[s, k, m])} of {pairs} pairs differ"
            least = float(found.p_smallest[s, k, m])
        p = f"{best}, so p is at least {least:.2g}"
        p += f" after correction for {tests} tests" if tests > 1 else ""
        said.setdefault((lead, f"{p}; {enough} differing pairs are needed"), []).append(k)
    return said


def kind_notes(found: Comparison) -> list[str]:
    """Say how many intervals exclude 0 without a find, or include it with one, and why."""
    finds = found.p_holm < ALPHA
    excludes = (found.t_low > 0) | (found.t_high < 0)
    counted = ~np.isnan(found.p_holm) & ~np.isnan(found.t_low) & ~found.identical
    alone, without = int((counted & excludes & ~finds).sum()), int((finds & ~excludes).sum())
    if not alone + without:
        return []
    which = f"{alone + without} of {int(counted.sum())} intervals"
    which += " disagree with their test" if alone + without > 1 else " disagrees with its test"
    return [f"{which}: intervals are not corrected for multiple comparisons"]


def alike(of: Mapping[str, Any]) -> Any:
    """Tell which differences hardly vary between pairs, or not at all.

    Their effect size and p grow without limit, or do not exist, whatever the difference means.
    `of` has columns of `Comparison.rows`: a row, or arrays.
    """
    never = np.isnan(of["effect_size"]) & np.isnan(of["p_t"]) & (np.abs(of["difference"]) > 0)
    return (np.abs(of["effect_size"]) > LARGEST) | (never & (of["pairs"] > 2 * of["tasks"]))


def alike_notes(found: Comparison) -> list[str]:
    """Say of how many comparisons tables for reading show no p, and why."""
    names = ("effect_size", "p_t", "difference")
    counts = {"pairs": found.pairs[:, :, None], "tasks": found.covered[:, :, None]}
    count = int(alike({name: getattr(found, name) for name in names} | counts).sum())
    which = "1 comparison has" if count == 1 else f"{count} comparisons have"
    why = (
        f"{which} no p and no effect size beyond ± {LARGEST}, because the differences hardly vary "
        "(SD below a tenth of the mean); read the difference itself"
    )
    return [why] if count else []


def _some(names: Iterable[str], separator: str = ", ") -> str:
    """Return the first names of a list, and how many more there are."""
    listed = list(names)
    more = len(listed) - _SHOWN
    return separator.join(listed[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
