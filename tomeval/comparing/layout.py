"""Paired values: meetings of one chance, tasks and scopes, and what units add to differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.runs.measures import Measure, is_score
from tomeval.statistics.paired import FloatArray, IntArray, split_counts

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Meeting:
    """All tasks whose episodes of one seed and number met the same chance, or of the same people.

    In matrix games: one game with one partner set. Units of different meetings are independent.

    Attributes
    ----------
    units : list of (seed, cluster)
        U sampling units: without clusters, the episodes.
    tasks : list of int
        The T_g tasks of the pairing that belong here.
    level, baseline : ndarray, shape (U, T_g, L, M)
        Values of the pairs; NaN if there is no pair. Of a unit of several pairs, the mean of those
        in which both sides have a value.
    paired : ndarray of bool, shape (U, T_g, L)
        Whether both sides are complete; of groups that are no pairs, whether the unit is in one.
    side : ndarray of int, shape (U, T_g, L)
        0 for a pair; of groups that are no pairs, 1 for a unit of the level and -1 for one of the
        baseline.
    """

    units: list[tuple[int, Any]]
    tasks: list[int]
    level: FloatArray
    baseline: FloatArray
    paired: BoolArray
    side: IntArray

    @cached_property
    def adds(self) -> FloatArray:
        """What each unit adds to each task's mean difference, (U, T_g, L, M); 0 if unpaired."""
        added = (self.level - self.baseline) / np.maximum(self.paired.sum(axis=0), 1)[..., None]
        for side, values in ((1, self.level), (-1, -self.baseline)):
            mine = self.side == side
            if mine.any():
                means = values / np.maximum(mine.sum(axis=0), 1)[..., None]
                added = np.where(mine[..., None], means, added)
        return np.where(self.paired[..., None], added, 0.0)

    @cached_property
    def moves(self) -> FloatArray:
        """Influences on each task's mean difference, (U, T_g, L, M), exactly 0 if all are equal."""
        moves = np.zeros_like(self.adds)
        for side in np.unique(self.side):  # two groups, each around its own mean
            members = self.paired & (self.side == side)
            first = np.take_along_axis(self.adds, members.argmax(axis=0)[None, ..., None], axis=0)
            shifted = np.where(members[..., None], self.adds - first, 0.0)  # equal: exact zeros
            mean = shifted.sum(axis=0) / np.maximum(members.sum(axis=0), 1)[..., None]
            moves += np.where(members[..., None], shifted - mean, 0.0)
        tiny = 1e-12 * np.abs(self.adds).max(axis=0, initial=0.0)
        return np.where(np.abs(moves).max(axis=0, initial=0.0) <= tiny, 0.0, moves)


class Part(NamedTuple):
    """The units of a meeting that are in a scope for a level, n of them.

    Attributes
    ----------
    meeting : Meeting
    at : tuple
        Their place in its arrays: units, tasks, level.
    weights : ndarray, shape (T, M)
        Of the tasks in the scope's mean.
    """

    meeting: Meeting
    at: tuple[Any, ...]
    weights: FloatArray

    @property
    def adds(self) -> FloatArray:
        """What each unit adds to the mean difference, shape (n, M)."""
        return self.over_tasks(np.nan_to_num(self.meeting.adds[self.at]))

    @property
    def moves(self) -> list[FloatArray]:
        """The influence of each unit, (n, M), apart for groups that are no pairs: own strata."""
        moves, side = self.over_tasks(self.meeting.moves[self.at]), np.sign(self.side.sum(axis=1))
        return [moves[side == one] for one in np.unique(side)]

    def over_tasks(self, values: FloatArray) -> FloatArray:
        """Return the weighted sum over tasks, shape (n, M), of values of shape (n, T, M)."""
        return np.asarray(np.where(self.weights > 0, values * self.weights, 0.0).sum(axis=1))

    @property
    def side(self) -> IntArray:
        """On which side each unit is in each task, shape (n, T)."""
        return np.asarray(self.meeting.side[self.at])


@dataclass(frozen=True, eq=False)
class Pairing:
    """Everything that could be paired with a baseline.

    A *scope* is one task, or, the first of several, all of them together: S scopes.

    Attributes
    ----------
    levels : tuple of str
        L levels other than the baseline.
    measures : tuple of Measure
        M measures.
    names : tuple of str
        The T tasks, in words that tell them apart.
    tasks : tuple of dict
        Their columns, with what else was held fixed, such as ``model``, if known.
    alone : ndarray of int, shape (T, L)
        Complete episodes of either side without a partner episode.
    sizes : ndarray, shape (T, M)
        How large the numbers are that each measure is computed from, which rounding is relative to.
    empty : tuple of str
        Tasks that were played on both sides, but no episode was completed by both.
    """

    by: str
    baseline: str
    levels: tuple[str, ...]
    measures: tuple[Measure, ...]
    names: tuple[str, ...]
    tasks: tuple[dict[str, Any], ...]
    meetings: list[Meeting]
    alone: IntArray
    sizes: FloatArray
    empty: tuple[str, ...] = ()

    @property
    def difference_limits(self) -> FloatArray:
        """Between what the difference of each measure lies, shape (M, 2)."""
        return np.array([measure.difference_limits for measure in self.measures]).reshape(-1, 2)

    @cached_property
    def scopes(self) -> list[list[int]]:
        """The tasks of each scope."""
        alone = [[task] for task in range(len(self.tasks))]
        return [list(range(len(alone))), *alone] if len(alone) > 1 else alone

    @property
    def pooled(self) -> bool:
        """Whether there is a scope of all tasks."""
        return len(self.scopes) > 1

    @cached_property
    def places(self) -> dict[int, tuple[Meeting, int]]:
        """The meeting of each task and the task's place in it, meeting by meeting."""
        return {task: (m, place) for m in self.meetings for place, task in enumerate(m.tasks)}

    def by_task(self, of: Callable[[Meeting], NDArray[Any]]) -> Any:
        """Return an array by task from those of the meetings."""
        return np.concatenate([of(m) for m in self.meetings])[np.argsort([*self.places])]

    def by_scope(self, tasks: NDArray[Any], together: Callable[..., Any] = np.sum) -> Any:
        """Return an array by scope from one by task."""
        return np.concatenate([together(tasks, axis=0)[None], tasks]) if self.pooled else tasks

    @cached_property
    def counts(self) -> IntArray:
        """Sampling units of each task and level, shape (T, L)."""
        return np.asarray(self.by_task(lambda m: m.paired.sum(axis=0)))

    @cached_property
    def blind(self) -> BoolArray:
        """Whether a score cannot be computed for any pair of a task, on either side, (T, L, M).

        Other measures have no mean over tasks where one lacks them.
        """
        scored = [is_score(measure.name) for measure in self.measures]

        def none(m: Meeting) -> NDArray[Any]:
            some = np.isfinite(m.level) | np.isfinite(m.baseline)
            return np.logical_not((some & m.paired[..., None]).any(axis=0))

        return np.asarray(self.by_task(none) & scored)

    @cached_property
    def used(self) -> BoolArray:
        """Whether a task counts in means over tasks, (T, L, M): those that do count the same."""
        return (self.counts > 0)[..., None] & ~self.blind

    @cached_property
    def pairs(self) -> IntArray:
        """The sampling units of each scope and level, shape (S, L)."""
        units = [m.paired.any(axis=1).sum(axis=0) for m in self.meetings]
        return np.asarray(self.by_scope(self.counts, lambda tasks, axis: np.sum(units, axis=0)))

    @cached_property
    def apart(self) -> BoolArray:
        """In which scopes a level is compared with the baseline as another group, (S, L)."""
        sides = self.by_task(lambda m: np.abs(m.side).max(axis=0, initial=0) > 0)
        return np.asarray(self.by_scope(sides, np.any))

    @cached_property
    def divisions(self) -> FloatArray:
        """In how many ways each scope's units divide into two groups, shape (S, L)."""
        first = self.by_task(lambda m: (m.side > 0).sum(axis=0))
        second = self.by_task(lambda m: (m.side < 0).sum(axis=0))
        ways = np.vectorize(lambda a, b: float(split_counts([(a, b)])))(first, second)
        return np.asarray(self.by_scope(ways, np.max))

    def parts(self, scope: int, level: int) -> list[Part]:
        """Return the units of a scope, meeting by meeting."""
        used, found = self.used[self.scopes[scope], level], []
        weights = used / np.maximum(used.sum(axis=0), 1)
        chosen: dict[int, tuple[Meeting, list[int], list[int]]] = {}
        for row, task in enumerate(self.scopes[scope]):
            meeting, place = self.places[task]
            _, places, rows = chosen.setdefault(id(meeting), (meeting, [], []))
            places.append(place)
            rows.append(row)
        for meeting, places, rows in chosen.values():
            units = np.flatnonzero(meeting.paired[:, places, level].any(axis=1))
            if len(units):
                at = (units[:, None], np.array(places), level)
                found.append(Part(meeting, at, weights[rows]))
        return found
