"""The result of a comparison of levels with a baseline, and what must be known besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import unknown
from tomeval.core.numbers import exact
from tomeval.runs.measures import Measure
from tomeval.runs.notes import first_names
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.flips import enough_pairs
from tomeval.statistics.paired import FloatArray, IntArray

if TYPE_CHECKING:
    from tomeval.comparing.layout import Pairing
    from tomeval.runs.cell import RunCell

ALPHA = 0.05
INTERVAL, TEST, APART = "t", "sign flip", "exchange of units"
"""The kinds of the interval and of the test that a row shows first, of pairs and of two groups."""


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
    p_t: FloatArray
    p_permutation: FloatArray
    p_holm: FloatArray
    p_smallest: FloatArray
    effect_size: FloatArray
    margin: FloatArray
    p_equivalence: FloatArray
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
        {"higher", "lower", "equivalent", "identical", "too few", "undecided", "untested"}
            The level against the baseline. ``higher`` and ``lower``: the corrected permutation p is
            below 0.05. ``equivalent``: else the equivalence test's p is. ``identical``: every pair
            has the same value. ``too few``: whatever the pairs had shown, no test could have
            rejected, see `enough`. ``undecided``: none of these, which is not evidence for no
            difference. ``untested``: fewer than two pairs.
        """
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
        test = APART if self.apart[s, k] else TEST
        row |= {"interval": INTERVAL, "test": test, "pairs_enough": self.enough(at)}
        row["margin"] = float(self.margin[m])
        row["p_equivalence"] = float(self.p_equivalence[at])
        return row | {"verdict": self.verdict(at)}

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


def comparison_notes(found: Comparison) -> list[str]:
    """Return what a reader must know of pairs, units and what was lost to NaN."""
    notes = []
    for k, level in enumerate(found.levels):
        missing, have = _missing(found, k)
        if missing and have:
            notes.append(
                f"{level}: paired in {have} of {have + len(missing)} tasks (not in "
                f"{first_names(missing)}); its numbers over all tasks cover only these"
            )
        elif missing:
            notes.append(f"{level}: shares no task with the baseline and is not compared")
        if lost := found.unpaired[0, k]:
            notes.append(
                f"{level}: {lost} complete episodes left out, as their counterpart was void, "
                "failed or not played, or the other side did not meet the same partner, person or "
                "draws; the difference holds only for episodes that both sides complete"
            )
    bare = (np.isnan(found.t_low[0]) & np.isfinite(found.difference[0])).any(axis=1)
    if bare.any():
        notes.append(
            f"no intervals ({first_names(compress(found.levels, bare))}): at least {FEWEST} pairs, "
            f"or {FEWEST} units per group, are needed, and two in every task"
        )
    if apart := [found.levels[k] for k in np.flatnonzero(found.apart.any(axis=0))]:
        notes.append(
            f"no participant is on both sides, so nothing can be paired: {', '.join(apart)} and "
            f"{found.baseline} are compared as independent groups (Welch's interval; permutation "
            "test between groups) of participants where the file names them, else of episodes"
        )
    lost = (np.isnan(found.difference[0]) & (found.pairs[0] > 0)[:, None]).any(axis=0)
    if lost.any():
        names = ", ".join(measure.heading for measure in compress(found.measures, lost))
        notes.append(f"no difference in {names}: some episodes have no value")
    return notes


def _missing(found: Comparison, level: int) -> tuple[list[str], int]:
    """Return the tasks that a level lacks, and how many it has.

    Where nothing is held, such as a model, a task is the same as those in which something is: a
    level that has it there, or here, lacks nothing.
    """
    first = int(len(found.scopes) > 1)
    scopes = [(s, list(found.tasks[s].values())) for s in range(first, len(found.scopes))]
    have = [task for s, task in scopes if found.covered[s, level]]
    missing = [
        found.scopes[s]
        for s, task in scopes
        if not found.covered[s, level]
        and not any(
            task[:-1] == mine[:-1] and "" in (task[-1], mine[-1]) for mine in have if mine != task
        )
    ]
    return missing, len(have)


def share_notes(cells: Sequence[RunCell], names: Sequence[str]) -> list[str]:
    """List the metrics that a comparison weighs by episode and a table by item."""
    uneven = [
        cells[0].measures[name].heading
        for name in names
        if any(_uneven(cell, name) for cell in cells)
    ]
    return [
        "differences weight all episodes equally, tables weight them by their number of items: "
        f"{first_names(uneven)}"
    ] * bool(uneven)


def _uneven(cell: RunCell, name: str) -> bool:
    """Return whether a metric is a share of items that some episodes have more of."""
    totals = cell.totals(name)
    if not totals.share or totals.bottom is None:
        return False
    return len(np.unique(totals.bottom[totals.bottom > 0])) > 1


def range_notes(pairing: Pairing, cells: Sequence[RunCell]) -> list[str]:
    """Tell where payoffs of the paired tasks have several ranges, by the first column of tasks."""
    column = next(iter(pairing.tasks[0]))
    paired = {task[column] for task in pairing.tasks}
    payoffs = {str(cell.facts[column]): cell.payoffs for cell in cells}
    ranges = {name: of[1] - of[0] for name, of in payoffs.items() if name in paired and of}
    if len(set(ranges.values())) < 2 or not any(one.in_payoffs for one in pairing.measures):
        return []
    shown = ", ".join(f"{name} {ranges[name]:g}" for name in sorted(ranges))
    return [
        f"payoff ranges differ between {column}s ({shown}), and the widest dominates means "
        f"over all tasks: the measure plays has one unit in all {column}s"
    ]


def blind_notes(
    names: Sequence[str], measures: Sequence[Measure], blind: NDArray[np.bool_]
) -> list[str]:
    """List which tasks are left out of all tasks, as no level has a value there.

    `blind`, shape (T, M), tells it of every task in `names`.
    """
    return [
        f"{measure.heading} has no value in {first_names(list(compress(names, column)))}: "
        "left out of the mean over all tasks"
        for measure, column in zip(measures, blind.T, strict=True)
        if column.any() and not column.all()
    ]
