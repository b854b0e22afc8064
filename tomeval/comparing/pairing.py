"""Pair the episodes of subjects that met the same partners, from one or several run folders.

A partner's draw and its random numbers depend on seed, game, partner set and episode number alone
(`tomeval.domains.matrix.play.Setup`), so episodes of two subjects with these in common are a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.sides import (
    TASK_COLUMNS,
    FloatArray,
    IntArray,
    Side,
    level_names,
    task_names,
)
from tomeval.core.errors import TomevalError, unknown


@dataclass(frozen=True, eq=False)
class Meeting:
    """All that was played with one partner set in one game: units that are drawn independently.

    Attributes
    ----------
    name : tuple of str
        Game and partner set.
    units : list of (seed, episode)
        U sampling units.
    tasks : list of int
        The tasks of the pairing that belong here, T_g of them.
    level, baseline : ndarray, shape (U, T_g, L, M)
        Values of the pairs; NaN where there is none.
    paired : ndarray of bool, shape (U, T_g, L)
        Where both sides are complete.
    """

    name: tuple[str, str]
    units: list[tuple[int, int]]
    tasks: list[int]
    level: FloatArray
    baseline: FloatArray
    paired: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pairing:
    """Everything that could be paired with a baseline.

    Attributes
    ----------
    by, baseline : str
    levels, metrics : tuple of str
        L levels other than the baseline; M metrics.
    names : tuple of str
        The T tasks, in words that tell them apart.
    tasks : tuple of dict
        Their columns, with ``model`` (or what else was held fixed) where it is known.
    meetings : list of Meeting
    alone : ndarray of int, shape (T, L)
        Complete episodes of either side without a partner episode.
    empty : tuple of str
        Tasks that were played on both sides, but no episode was completed by both.
    """

    by: str
    baseline: str
    levels: tuple[str, ...]
    metrics: tuple[str, ...]
    names: tuple[str, ...]
    tasks: tuple[dict[str, Any], ...]
    meetings: list[Meeting]
    alone: IntArray
    empty: tuple[str, ...] = ()


def pair(sides: Sequence[Side], by: str, baseline: str | None, metrics: Sequence[str]) -> Pairing:
    """Pair every level with the baseline.

    Raises
    ------
    TomevalError
        An unknown baseline, a single level, or nothing that pairs.
    """
    names = level_names(sides)
    if baseline is None:
        baseline = names[0]
    if baseline not in names:
        raise unknown(f"{by} as the baseline", baseline, names)
    levels = tuple(name for name in names if name != baseline)
    if not levels:
        raise TomevalError(f"only one {by} was played ({baseline!r}): nothing to compare it with")
    table = _Table(baseline, levels)
    for side in sides:
        if side.level == baseline:
            table.base.append(side)
    for side in sides:
        if side.level != baseline:
            table.add(side)
    if not table.pairs:
        raise TomevalError(
            f"no {by} shares a task (game, labels, partners, horizon, model, seed) with the "
            f"baseline {baseline!r}: nothing can be paired"
        )
    return table.finish(by, tuple(metrics))


@dataclass
class _Table:
    """Collects pairs of cells by task."""

    baseline: str
    levels: tuple[str, ...]
    base: list[Side] = field(default_factory=list)
    pairs: dict[tuple[Any, ...], list[tuple[Side, Side]]] = field(default_factory=dict)
    lonely: dict[tuple[Any, ...], list[Side]] = field(default_factory=dict)

    def add(self, side: Side) -> None:
        """Find the baseline's cells that a cell pairs with."""
        found = False
        for other in self.base:
            same = side.task == other.task and side.seed == other.seed
            if same and ("" in (side.player, other.player) or side.player == other.player):
                key = (*side.task, side.player or other.player)
                self.pairs.setdefault(key, []).append((side, other))
                found = True
        if not found:
            self.lonely.setdefault((*side.task, side.player), []).append(side)

    def finish(self, by: str, metrics: tuple[str, ...]) -> Pairing:
        """Lay the pairs out as arrays."""
        columns = [name for name in TASK_COLUMNS if name != by]
        held = {"model": "subject", "labels": "subject", "run": "subject"}.get(by, "model")
        empty = [
            key
            for key, pairs in self.pairs.items()
            if not any(np.intersect1d(a.episodes, b.episodes).size for a, b in pairs)
        ]
        keys = [key for key in self.pairs if key not in empty]
        if not keys:
            raise TomevalError(
                f"no episode was completed by both the baseline {self.baseline!r} and another "
                f"{by}: nothing can be paired"
            )
        tasks = tuple(dict(zip([*columns, held], key, strict=True)) for key in keys)
        shape = (len(keys), len(self.levels))
        alone = np.zeros(shape, dtype=np.int64)
        meetings: dict[tuple[str, str], list[int]] = {}
        for number, task in enumerate(tasks):
            meetings.setdefault((task["game"], task["partners"]), []).append(number)
        laid = [
            self._meeting(name, mine, keys, len(metrics), alone) for name, mine in meetings.items()
        ]
        for number, key in enumerate(keys):
            for column, level in enumerate(self.levels):
                alone[number, column] += self._without_partner(key, level)
        return Pairing(
            by,
            self.baseline,
            self.levels,
            metrics,
            task_names(tasks),
            tasks,
            laid,
            alone,
            task_names([dict(zip([*columns, held], key, strict=True)) for key in empty]),
        )

    def _without_partner(self, key: tuple[Any, ...], level: str) -> int:
        """Count episodes of seeds that only one side of a task has."""
        mine = [pair for pair in self.pairs[key] if pair[0].level == level]
        if not mine:
            return 0
        used = {id(side) for pair in mine for side in pair}
        others = [s for sides in self.lonely.values() for s in sides if s.level == level]
        return sum(
            len(side.episodes)
            for side in [*others, *self.base]
            if id(side) not in used and side.task == key[:-1] and side.player in ("", key[-1])
        )

    def _meeting(
        self,
        name: tuple[str, str],
        mine: list[int],
        keys: list[tuple[Any, ...]],
        width: int,
        alone: IntArray,
    ) -> Meeting:
        """Lay out the tasks of one game and partner set."""
        pairs = [(t, one, two) for t, n in enumerate(mine) for one, two in self.pairs[keys[n]]]
        common = [np.intersect1d(a.episodes, b.episodes, return_indices=True) for _, a, b in pairs]
        units = sorted(
            {
                (a.seed, episode)
                for (_, a, _), found in zip(pairs, common, strict=True)
                for episode in found[0].tolist()
            }
        )
        place = {unit: index for index, unit in enumerate(units)}
        shape = (len(units), len(mine), len(self.levels))
        level = np.full((*shape, width), np.nan)
        base = np.full((*shape, width), np.nan)
        paired = np.zeros(shape, dtype=bool)
        for (task, a, b), (numbers, at_a, at_b) in zip(pairs, common, strict=True):
            if (a.which[at_a] != b.which[at_b]).any():
                raise TomevalError(
                    f"{a.cell.name} in {a.run} and {b.cell.name} in {b.run} met different partners "
                    "in episodes of the same number: they cannot be paired"
                )
            column = self.levels.index(a.level)
            rows = [place[(a.seed, number)] for number in numbers.tolist()]
            level[rows, task, column] = a.values[at_a]
            base[rows, task, column] = b.values[at_b]
            paired[rows, task, column] = True
            alone[mine[task], column] += len(a.episodes) + len(b.episodes) - 2 * len(numbers)
        return Meeting(name, units, mine, level, base, paired)
