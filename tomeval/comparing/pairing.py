"""Pair the episodes of players that met the same chance, from one or several run folders.

What an episode meets by chance depends on its seed, its number and the columns in
`Domain.shares_draws` alone, so episodes of two players with these in common are a pair. Episodes
that were recorded elsewhere are paired if they are of one person, or if the record says that they
met the same chance, and never by their order; else the two sides are groups of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.sides import Incomparable, Side, held_name, task_names
from tomeval.core.errors import TomevalError, unknown
from tomeval.runs.domain import Domain
from tomeval.runs.measures import Measure
from tomeval.statistics.paired import FloatArray, IntArray


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
    side : ndarray of int, shape (U, T_g, L), optional
        0 for a pair; of groups that are no pairs, 1 for a unit of the level and -1 for one of the
        baseline. Default: all are pairs.
    """

    units: list[tuple[int, Any]]
    tasks: list[int]
    level: FloatArray
    baseline: FloatArray
    paired: NDArray[np.bool_]
    side: IntArray | None = None

    @cached_property
    def sides(self) -> IntArray:
        """`side`, as an array."""
        return np.zeros(self.paired.shape, dtype=np.int64) if self.side is None else self.side


@dataclass(frozen=True, eq=False)
class Pairing:
    """Everything that could be paired with a baseline.

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


def pair(sides: Sequence[Side], by: str, baseline: str | None, metrics: Sequence[str]) -> Pairing:
    """Pair every level with the baseline.

    Raises
    ------
    TomevalError
        An unknown baseline, a single level, or nothing that pairs.
    """
    names = tuple(dict.fromkeys(side.level for side in sides))
    baseline = names[0] if baseline is None else baseline
    if baseline not in names:
        raise unknown(f"{by} as the baseline", baseline, names)
    levels = tuple(name for name in names if name != baseline)
    if not levels:
        raise Incomparable(f"only one {by} was played ({baseline!r}): nothing to compare it with")
    domain = sides[0].cell.domain
    base = [side for side in sides if side.level == baseline]
    table = _Table(domain, by, baseline, levels, (*sides[0].task, held_name(domain, by)), base)
    for side in sides:
        if side.level != baseline:
            table.add(side)
    if not table.pairs:
        raise Incomparable(
            f"no {by} shares a task ({', '.join((*table.columns, 'seed'))}) with the baseline "
            f"{baseline!r}: nothing can be paired"
        )
    chosen = [sides[0].cell.measures[name] for name in metrics]
    return table.finish(tuple(replace(m, better=m.better_by.get(by, m.better)) for m in chosen))


@dataclass
class _Table:
    """Collects pairs of cells by task; `columns` name a task's columns and what is held."""

    domain: Domain
    by: str
    baseline: str
    levels: tuple[str, ...]
    columns: tuple[str, ...]
    base: list[Side]
    pairs: dict[tuple[Any, ...], list[tuple[Side, Side]]] = field(default_factory=dict)
    lonely: list[Side] = field(default_factory=list)

    @cached_property
    def _base_of(self) -> dict[tuple[Any, ...], list[Side]]:
        """The baseline's cells by the columns of their task and their seed."""
        sides_of: dict[tuple[Any, ...], list[Side]] = {}
        for side in self.base:
            sides_of.setdefault((*side.task.values(), side.seed), []).append(side)
        return sides_of

    def add(self, side: Side) -> None:
        """Find the baseline's cells that a cell pairs with."""
        paired = False
        for other in self._base_of.get((*side.task.values(), side.seed), ()):
            if "" in (side.held, other.held) or side.held == other.held:
                key = (*side.task.values(), side.held or other.held)
                self.pairs.setdefault(key, []).append((side, other))
                paired = True
        if not paired:
            self.lonely.append(side)

    def finish(self, measures: tuple[Measure, ...]) -> Pairing:
        """Lay the pairs out as arrays."""
        self._join_bare()
        empty = [
            key
            for key, pairs in self.pairs.items()
            if not any(len(_met(a, b).units) for a, b in pairs)
        ]
        keys = [key for key in self.pairs if key not in empty]
        if not keys:
            raise Incomparable(
                f"no episode was completed by both the baseline {self.baseline!r} and another "
                f"{self.by}: nothing can be paired"
            )
        tasks = self._tasks(keys)
        alone = np.zeros((len(keys), len(self.levels)), dtype=np.int64)
        people = self._of_people(keys)
        meetings: dict[tuple[Any, ...], list[int]] = {}
        for number, key in enumerate(keys):
            draws = ("people",) if key in people else self.pairs[key][0][0].draws
            meetings.setdefault(draws, []).append(number)
        laid = [self._meeting(mine, keys, len(measures), alone) for mine in meetings.values()]
        of_task: dict[tuple[Any, ...], list[Side]] = {}
        for side in (*self.lonely, *self.base):
            of_task.setdefault(tuple(side.task.values()), []).append(side)
        for number, key in enumerate(keys):
            for column, level in enumerate(self.levels):
                others = of_task.get(key[:-1], ())
                alone[number, column] += self._without_partner(key, level, others)
        names, empty_names = (task_names(self.domain, t) for t in (tasks, self._tasks(empty)))
        fixed = (self.by, self.baseline, self.levels, measures)
        sizes = [
            np.max([side.sizes for pair in self.pairs[key] for side in pair], axis=0)
            for key in keys
        ]
        told = (np.stack(sizes), empty_names)
        return Pairing(*fixed, names, tasks, laid, alone, *told)

    def _of_people(self, keys: Sequence[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
        """Return the tasks that people played, one unit each over all of their tasks.

        None if anybody is in the group of a level in one task and in the baseline's in another: an
        exchange of people between the groups would then mean nothing.
        """
        of_people = {
            key for key in keys if all(a.persons and b.persons for a, b in self.pairs[key])
        }
        sides: dict[tuple[str, Any], int] = {}
        for a, b in (pair for key in of_people for pair in self.pairs[key]):
            met = _met(a, b)
            for unit, side in zip(
                met.units, np.broadcast_to(met.side, len(met.units)), strict=True
            ):
                if side and sides.setdefault((a.level, unit), int(side)) != side:
                    return set()
        return of_people

    def _join_bare(self) -> None:
        """Join pairs that nothing else is held for, such as a model, with the others of their task.

        So a task is one, and not two, where a player with a model and one without meet a baseline
        without. With several models each is a task, and the bare pairs stay one of their own: they
        count once.
        """
        held: dict[tuple[Any, ...], list[Any]] = {}
        for key in self.pairs:
            held.setdefault(key[:-1], []).append(key[-1])
        joined: dict[tuple[Any, ...], list[tuple[Side, Side]]] = {}
        for key, pairs in self.pairs.items():
            others = [other for other in held[key[:-1]] if other != ""]
            group = (*key[:-1], others[0]) if key[-1] == "" and len(others) == 1 else key
            joined.setdefault(group, []).extend(pairs)
        self.pairs = joined

    def _tasks(self, keys: Sequence[tuple[Any, ...]]) -> tuple[dict[str, Any], ...]:
        """Return tasks as columns."""
        return tuple(dict(zip(self.columns, key, strict=True)) for key in keys)

    def _without_partner(self, key: tuple[Any, ...], level: str, others: Sequence[Side]) -> int:
        """Count episodes of seeds that only one side of a task has.

        `others` are the cells of the task that pair with nothing, and the baseline's.
        """
        mine = [pair for pair in self.pairs[key] if pair[0].level == level]
        if not mine:
            return 0
        used = {id(side) for pair in mine for side in pair}
        return sum(
            len(side.episodes)
            for side in others
            if side.level in (level, self.baseline)
            and id(side) not in used
            and side.held in ("", key[-1])
        )

    def _meeting(
        self,
        mine: list[int],
        keys: list[tuple[Any, ...]],
        width: int,
        alone: IntArray,
    ) -> Meeting:
        """Lay out the tasks of one meeting, and count in `alone` what has no pair."""
        pairs = [(t, one, two) for t, n in enumerate(mine) for one, two in self.pairs[keys[n]]]
        met = [_met(a, b) for _, a, b in pairs]
        units = sorted(
            {unit for meeting_of_task in met for unit in meeting_of_task.units}, key=_in_order
        )
        row_of = {unit: index for index, unit in enumerate(units)}
        shape = (len(units), len(mine), len(self.levels))
        level, base = np.full((2, *shape, width), np.nan)
        paired, side = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
        for (task, a, _), meeting_of_task in zip(pairs, met, strict=True):
            column = self.levels.index(a.level)
            rows = np.array([row_of[unit] for unit in meeting_of_task.units], dtype=np.int64)
            level[rows, task, column] = meeting_of_task.level
            base[rows, task, column] = meeting_of_task.baseline
            paired[rows, task, column] = True
            side[rows, task, column] = meeting_of_task.side
            alone[mine[task], column] += meeting_of_task.alone
        return Meeting(units, mine, level, base, paired, side if side.any() else None)


class _Met(NamedTuple):
    """The sampling units of two cells, each once; `side` as in `Meeting`, values (U, M)."""

    units: list[tuple[int, Any]]
    level: FloatArray
    baseline: FloatArray
    side: IntArray | int
    alone: int  # episodes without a partner episode


def _in_order(unit: tuple[int, Any]) -> tuple[int, str, Any]:
    return unit[0], type(unit[1]).__name__, unit[1]


def _met(a: Side, b: Side) -> _Met:
    """Return the units of a cell of a level and of one of the baseline."""
    if a.cell.recorded or b.cell.recorded:
        return _met_elsewhere(a, b)
    labels, at_a, at_b = common_episodes(a, b)
    if (a.which[at_a] != b.which[at_b]).any():
        raise TomevalError(
            f"{a.cell.name} in {a.run} and {b.cell.name} in {b.run} have different draws in "
            "episodes with the same number, so they cannot be paired"
        )
    common, of_a, of_b = _by_unit(labels, a.values[at_a], b.values[at_b])
    used = len(set(at_a.tolist())) + len(set(at_b.tolist()))
    units = [(b.seed, label) for label in common.tolist()]
    alone = len(a.episodes) + len(b.episodes) - used
    return _Met(units, of_a, of_b, 0, alone)


def _met_elsewhere(a: Side, b: Side) -> _Met:
    """Return the units of cells whose episodes of one number need not have met the same chance."""
    (names_a, means_a), (names_b, means_b) = _means_by_label(a), _means_by_label(b)
    if shared := sorted(set(names_a) & set(names_b)):
        at_a, at_b = ([names.index(name) for name in shared] for names in (names_a, names_b))
        used = sum(np.isin(side.clusters, shared).sum() for side in (a, b))
        units = [(b.seed, name) for name in shared]
        alone = len(a.episodes) + len(b.episodes) - int(used)
        return _Met(units, means_a[at_a], means_b[at_b], 0, alone)
    if not (len(names_a) and len(names_b)):
        alone = len(a.episodes) + len(b.episodes)
        return _Met([], means_a[:0], means_b[:0], 0, alone)
    units = [(side.seed, name) for side, names in ((a, names_a), (b, names_b)) for name in names]
    gone_a, gone_b = np.full_like(means_a, np.nan), np.full_like(means_b, np.nan)
    side = np.repeat([1, -1], [len(names_a), len(names_b)])
    level, base = np.concatenate([means_a, gone_b]), np.concatenate([gone_a, means_b])
    return _Met(units, level, base, side, 0)


def _means_by_label(side: Side) -> tuple[list[str], FloatArray]:
    """Return a cell's sampling units and their means, of the episodes that have a value, (U, M)."""
    names, at = np.unique(side.clusters, return_inverse=True)
    some = np.isfinite(side.values)
    count, total = np.zeros((2, len(names), side.values.shape[1]))
    np.add.at(count, at, some)
    np.add.at(total, at, np.where(some, side.values, 0.0))
    means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return [str(name) for name in names], means


def _by_unit(
    rows: NDArray[Any], first: FloatArray, second: FloatArray
) -> tuple[NDArray[Any], FloatArray, FloatArray]:
    """Return the units of pairs, each once, with the means of both sides, shape (U, M).

    Pairs of which a side has no value of a measure do not count, unless the unit has no other.
    """
    units, at, count = np.unique(rows, return_inverse=True, return_counts=True)
    if len(units) == len(rows):
        return rows, first, second
    both = np.isfinite(first) & np.isfinite(second)
    some = np.zeros((len(units), first.shape[1]))
    np.add.at(some, at, both)
    weight = np.where(some[at] > 0, both / np.maximum(some[at], 1), 1 / count[at][:, None])
    sums = []
    for values in (first, second):
        total = np.zeros_like(some)
        np.add.at(total, at, np.where(weight > 0, weight * values, 0.0))
        sums.append(total)
    return units, sums[0], sums[1]


def common_episodes(a: Side, b: Side) -> tuple[NDArray[Any], IntArray, IntArray]:
    """Return the episodes that both sides have, as sampling units, and their indices in each.

    Where one side played each distinct episode once (`RunCell.each_once`), its value in an episode
    of the other side is known without playing: that of its episode with the same draw. Two such
    sides pair by number, so that no difference counts twice.
    """
    if a.cell.each_once == b.cell.each_once:
        _, at_a, at_b = np.intersect1d(a.episodes, b.episodes, return_indices=True)
        return a.clusters[at_a], at_a, at_b
    once, drawn = (a, b) if a.cell.each_once else (b, a)
    row_of = {draw: index for index, draw in enumerate(once.which.tolist())}
    kept = np.array([i for i, d in enumerate(drawn.which.tolist()) if d in row_of], dtype=np.int64)
    known = np.array([row_of[d] for d in drawn.which[kept].tolist()], dtype=np.int64)
    rows = (known, kept) if once is a else (kept, known)
    return (drawn.clusters[kept], *rows)
