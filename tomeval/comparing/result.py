"""The result of a comparison of levels with a baseline, and what its test can reach."""

from __future__ import annotations

from collections.abc import Sequence
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
INTERVAL, TEST = "t", "sign flip"
"""The kinds of the interval and of the test that a row shows first."""


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
    t_low, t_high : ndarray, shape (S, L, M)
        Student's interval of the difference, Welch-Satterthwaite over several meetings, see
        `Meeting`.
    p_t, p_permutation, p_holm : ndarray, shape (S, L, M)
        Two-sided p of Student's t, of the sign-flip permutation test, and the latter's after Holm's
        correction over the levels compared in one metric and scope.
    p_smallest : ndarray, shape (S, L, M)
        The smallest `p_holm` that these pairs could have given: if in every comparison of the
        family all differences had one sign.
    effect_size : ndarray, shape (S, L, M)
        Hedges' g of the paired differences: mean / SD; over all tasks the mean of the tasks'
        differences / the root of the tasks' mean variance.
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
    differing: IntArray
    covered: IntArray
    unpaired: IntArray
    level_mean: FloatArray
    baseline_mean: FloatArray
    difference: FloatArray
    t_low: FloatArray
    t_high: FloatArray
    p_t: FloatArray
    p_permutation: FloatArray
    p_holm: FloatArray
    p_smallest: FloatArray
    effect_size: FloatArray
    identical: NDArray[np.bool_]
    family_size: IntArray
    resamples: int
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(measure.name for measure in self.measures)

    def verdict(self, at: tuple[int, int, int]) -> str:
        """Return in a word what the tests of a comparison (scope, level, metric) show at 5 %.

        Returns
        -------
        {"higher", "lower", "identical", "too few", "undecided", "untested"}
            The level against the baseline. ``higher`` and ``lower``: the corrected permutation p is
            below 0.05. ``identical``: every pair has the same value. ``too few``: whatever the
            pairs had shown, no test could have rejected, see `enough`. ``undecided``: none of
            these, which is not evidence for no difference. ``untested``: fewer than two pairs.
        """
        if self.identical[at]:
            return "identical"
        if np.isnan(self.p_holm[at]):
            return "untested"
        if self.p_holm[at] < ALPHA:
            return "higher" if self.difference[at] > 0 else "lower"
        return "undecided" if self.p_smallest[at] < ALPHA else "too few"

    def enough(self, at: tuple[int, int, int]) -> int | None:
        """Return the fewest pairs with which a comparison (scope, level, metric) could reject.

        They must differ, all in one direction. None: not with so few resamples, not tested, or no
        pairs.
        """
        tests = int(self.family_size[at])
        return enough_pairs(tests, self.resamples, ALPHA) if tests else None

    def at(self, level: str, metric: str, scope: int = 0) -> dict[str, Any]:
        """Return one comparison as a row; see `rows`."""
        if level not in self.levels:
            raise unknown(self.by, level, self.levels)
        if metric not in self.metrics:
            raise unknown("metric", metric, self.metrics)
        return self._row((scope, self.levels.index(level), self.metrics.index(metric)))

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
        names = ["level_mean", "baseline_mean", "difference", "t_low", "t_high", "p_t"]
        names += ["p_permutation", "p_holm", "p_smallest", "family_size", "effect_size"]
        renamed = {"t_low": "difference_low", "t_high": "difference_high"}
        for name in names:
            value = getattr(self, name)[at].item()
            row[renamed.get(name, name)] = exact(value) if isinstance(value, float) else value
        row |= {"interval": INTERVAL, "test": TEST, "pairs_enough": self.enough(at)}
        return row | {"verdict": self.verdict(at)}

    def rows(self, scopes: Sequence[int] | None = None) -> list[dict[str, Any]]:
        """Return one dict per scope, metric and level, at full precision.

        ``difference_low`` and ``difference_high`` are the interval of the kind ``interval``,
        Student's, of one difference alone; ``p_permutation``, ``p_holm`` and ``p_smallest`` are of
        ``test``, the sign flip. ``pairs_enough`` is `enough`.
        """
        chosen = range(len(self.scopes)) if scopes is None else scopes
        return [
            self._row((s, k, m))
            for s in chosen
            for m in range(len(self.metrics))
            for k in range(len(self.levels))
        ]
