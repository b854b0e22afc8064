"""Paired values laid out for estimates and resamples: scopes, shares, differences, influences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.pairing import Meeting, Pairing
from tomeval.runs.measures import is_score
from tomeval.statistics.paired import FloatArray, IntArray, split_counts


class Layout:
    """What estimates and resamples of a pairing share; it never changes.

    Tasks are numbered in the meetings' order. With several tasks scope 0 is all of them together;
    S scopes, T tasks, L levels, M measures.

    Attributes
    ----------
    pooled : bool
        Whether there is a scope of all tasks.
    shape : tuple of int
        (S, L, M).
    first : list of int
        The first task of each meeting, and T.
    order : list of int
        Each task's number in the pairing.
    counts : ndarray of int, shape (T, L)
        Pairs.
    blind : ndarray of bool, shape (T, L, M)
        Whether a score cannot be computed for any pair of a task, on either side.
        Other measures have no mean over tasks where one lacks them.
    shares : ndarray, shape (T, L, M)
        Weight of each task in the mean over tasks: those with pairs that are not `blind` count the
        same.
    signs : list of ndarray, shape (U, T_g, L, M)
        Per meeting what each unit adds to each task's mean difference; 0 if unpaired.
    moves : list of ndarray, shape (U, T_g, L, M)
        Influences on the task's mean difference, exactly 0 if all are equal.
    """

    def __init__(self, pairing: Pairing) -> None:
        meetings = pairing.meetings
        self.pairing = pairing
        self.first = [0]
        for meeting in meetings:
            self.first.append(self.first[-1] + len(meeting.tasks))
        self.order = [task for meeting in meetings for task in meeting.tasks]
        self.pooled = len(self.order) > 1
        size = len(self.order) + self.pooled
        self.shape = (size, len(pairing.levels), len(pairing.measures))
        self.counts: IntArray = np.concatenate([m.paired.sum(axis=0) for m in meetings])
        scored = [is_score(one.name) for one in pairing.measures]
        self.blind: NDArray[np.bool_] = np.concatenate([_blind(m) & scored for m in meetings])
        used = (self.counts > 0)[..., None] & ~self.blind
        self.shares = used / np.maximum(used.sum(axis=0), 1)
        self.signs = [_differences(meeting) for meeting in meetings]
        self.moves = [_influences(m, d) for m, d in zip(meetings, self.signs, strict=True)]

    def scope(self, task: int) -> int:
        """Return the scope of a task."""
        return self.order[task] + int(self.pooled)

    def tasks(self) -> Iterator[tuple[int, int, int]]:
        """Yield the number of a meeting, a task's place in it, and the task's number."""
        for number, meeting in enumerate(self.pairing.meetings):
            for task in range(len(meeting.tasks)):
                yield number, task, self.first[number] + task

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """In which scopes a level is compared with the baseline as another group, (S, L)."""
        sides = [np.abs(meeting.sides).max(axis=0) > 0 for meeting in self.pairing.meetings]
        return np.asarray(self._by_scope(np.concatenate(sides), np.max), dtype=np.bool_)

    @cached_property
    def divisions(self) -> FloatArray:
        """In how many ways each scope's units divide into two groups, shape (S, L)."""
        first, second = (
            np.concatenate([(sign * m.sides > 0).sum(axis=0) for m in self.pairing.meetings])
            for sign in (1, -1)
        )
        ways: FloatArray = np.vectorize(lambda a, b: float(split_counts([(a, b)])))(first, second)
        return np.asarray(self._by_scope(ways, np.max), dtype=np.float64)

    @cached_property
    def pairs(self) -> IntArray:
        """The sampling units of each scope and level, shape (S, L)."""
        units = [m.paired.any(axis=1).sum(axis=0) for m in self.pairing.meetings]
        pairs: IntArray = self._by_scope(self.counts, lambda tasks, axis: np.sum(units, axis=0))
        return pairs

    @cached_property
    def covered(self) -> IntArray:
        """The tasks of each scope with at least one pair, shape (S, L)."""
        return np.asarray(self._by_scope(self.counts > 0, np.sum), dtype=np.int64)

    def _by_scope(self, tasks: NDArray[Any], together: Callable[..., Any]) -> Any:
        """Return numbers by scope from those of tasks in their order here, shape (T, L)."""
        tasks = tasks[np.argsort(self.order)]
        return np.concatenate([together(tasks, axis=0)[None], tasks]) if self.pooled else tasks


def _blind(meeting: Meeting) -> NDArray[np.bool_]:
    """Return `Layout.blind` of the tasks of a meeting, shape (T_g, L, M)."""
    some = np.isfinite(meeting.level) | np.isfinite(meeting.baseline)
    return np.logical_not((some & meeting.paired[..., None]).any(axis=0))


def _differences(meeting: Meeting) -> FloatArray:
    """Return what each unit adds to each task's mean difference."""
    count = np.maximum(meeting.paired.sum(axis=0), 1)[..., None]
    added = (meeting.level - meeting.baseline) / count
    if meeting.side is not None:
        for side, values in ((1, meeting.level), (-1, -meeting.baseline)):
            mine = meeting.side == side
            added = np.where(mine[..., None], values / np.maximum(mine.sum(0), 1)[..., None], added)
    return np.where(meeting.paired[..., None], added, 0.0)


def _influences(meeting: Meeting, parts: FloatArray) -> FloatArray:
    """Return the influences on the task's mean difference."""
    influences = _centred(parts, meeting.paired & (meeting.sides == 0))
    if meeting.side is not None:  # two samples, each around its own mean
        influences = influences + sum(_centred(parts, meeting.side == side) for side in (1, -1))
    tiny = 1e-12 * np.abs(parts).max(axis=0, initial=0.0)
    influences[np.broadcast_to(np.abs(influences).max(axis=0) <= tiny, influences.shape)] = 0.0
    return influences


def _centred(parts: FloatArray, members: NDArray[np.bool_]) -> FloatArray:
    """Return the parts of some units less their mean, and 0 for the others."""
    paired = members[..., None]
    count = np.maximum(members.sum(axis=0), 1)[..., None]
    first = np.take_along_axis(parts, paired.argmax(axis=0)[None], axis=0)
    shifted = np.where(paired, parts - first, 0.0)  # equal values give exact zeros
    centred: FloatArray = np.where(paired, shifted - shifted.sum(axis=0) / count, 0.0)
    return centred
