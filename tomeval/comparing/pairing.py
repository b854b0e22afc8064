"""Pair the episodes of players that met the same chance, from one or several run folders.

What an episode meets by chance depends on its seed, its number and the columns in
`Domain.shares_draws` alone, so episodes of two players with these in common are a pair. Episodes
that were recorded elsewhere are paired if they are of one person, or if the record says that they
met the same chance, and never by their order; else the two sides are groups of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.layout import Meeting, Pairing
from tomeval.comparing.sides import Incomparable, Side, held_name, task_names
from tomeval.core.errors import TomevalError, unknown
from tomeval.statistics.paired import FloatArray, IntArray


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
    columns = (*sides[0].task, held_name(domain, by))
    of_task: dict[tuple[Any, ...], list[Side]] = {}
    for side in sides:
        of_task.setdefault(tuple(side.task.values()), []).append(side)
    pairs = _pairs(sides, of_task, baseline)
    if not pairs:
        raise Incomparable(
            f"no {by} shares a task ({', '.join((*columns, 'seed'))}) with the baseline "
            f"{baseline!r}: nothing can be paired"
        )
    met = {key: [(a, b, _met(a, b)) for a, b in mine] for key, mine in pairs.items()}
    empty = [key for key, mine in met.items() if not any(len(one.units) for *_, one in mine)]
    keys = [key for key in met if key not in empty]
    if not keys:
        raise Incomparable(
            f"no episode was completed by both the baseline {baseline!r} and another "
            f"{by}: nothing can be paired"
        )
    people = _of_people({key: met[key] for key in keys})
    meetings: dict[tuple[Any, ...], list[int]] = {}
    alone = np.zeros((len(keys), len(levels)), dtype=np.int64)
    for number, key in enumerate(keys):
        draws = ("people",) if key in people else met[key][0][0].draws
        meetings.setdefault(draws, []).append(number)
        for column, level in enumerate(levels):
            mine = [one for one in met[key] if one[0].level == level]
            inside = {id(side) for a, b, _ in mine for side in (a, b)}
            alone[number, column] = sum(one.alone for *_, one in mine) + sum(
                len(side.episodes)
                for side in of_task[key[:-1]]
                if mine and side.level in (level, baseline) and side.held in ("", key[-1])
                if id(side) not in inside
            )
    tasks, gone = ([dict(zip(columns, key, strict=True)) for key in of] for of in (keys, empty))
    sizes = [
        np.max([side.sizes for a, b, _ in met[key] for side in (a, b)], axis=0) for key in keys
    ]
    chosen = [sides[0].cell.measures[name] for name in metrics]
    return Pairing(
        by=by,
        baseline=baseline,
        levels=levels,
        measures=tuple(replace(m, better=m.better_by.get(by, m.better)) for m in chosen),
        names=task_names(domain, tasks),
        tasks=tuple(tasks),
        meetings=[
            _meeting(mine, [met[keys[number]] for number in mine], levels, len(metrics))
            for mine in meetings.values()
        ],
        alone=alone,
        sizes=np.stack(sizes),
        empty=task_names(domain, gone),
    )


def _pairs(
    sides: Sequence[Side], of_task: Mapping[tuple[Any, ...], Sequence[Side]], baseline: str
) -> dict[tuple[Any, ...], list[tuple[Side, Side]]]:
    """Return the cells of levels and of the baseline that pair, by task and what is held.

    Pairs that nothing is held for, such as a model, join the others of their task. So a task is
    one, and not two, where a player with a model and one without meet a baseline without. With
    several models each is a task, and the bare pairs stay one of their own: they count once.
    """
    pairs: dict[tuple[Any, ...], list[tuple[Side, Side]]] = {}
    held: dict[tuple[Any, ...], set[str]] = {}
    for side in sides:
        task = tuple(side.task.values())
        for other in of_task[task] if side.level != baseline else ():
            alike = side.seed == other.seed and other.level == baseline
            if alike and ("" in (side.held, other.held) or side.held == other.held):
                pairs.setdefault((*task, side.held or other.held), []).append((side, other))
                held.setdefault(task, set()).add(side.held or other.held)
    joined: dict[tuple[Any, ...], list[tuple[Side, Side]]] = {}
    for key, mine in pairs.items():
        others = held[key[:-1]] - {""}
        joined.setdefault((*key[:-1], *others) if len(others) == 1 else key, []).extend(mine)
    return joined


class _Met(NamedTuple):
    """The sampling units of two cells, each once; `side` as in `Meeting`, values (U, M)."""

    units: list[tuple[int, Any]]
    level: FloatArray
    baseline: FloatArray
    side: IntArray
    alone: int  # episodes without a partner episode


_MetOf = Mapping[tuple[Any, ...], Sequence[tuple[Side, Side, _Met]]]


def _of_people(met: _MetOf) -> set[tuple[Any, ...]]:
    """Return the tasks that people played, one unit each over all of their tasks.

    None if anybody is in the group of a level in one task and in the baseline's in another: an
    exchange of people between the groups would then mean nothing.
    """
    chosen = {key for key, mine in met.items() if all(a.persons and b.persons for a, b, _ in mine)}
    groups = {
        (a.level, unit, side)
        for key in chosen
        for a, _, one in met[key]
        for unit, side in zip(one.units, one.side.tolist(), strict=True)
        if side
    }
    crossed = any((level, unit, -side) in groups for level, unit, side in groups)
    return set() if crossed else chosen


def _meeting(
    tasks: list[int],
    met: Sequence[Sequence[tuple[Side, Side, _Met]]],
    levels: Sequence[str],
    width: int,
) -> Meeting:
    """Lay out the tasks of one meeting."""
    known = {unit for mine in met for *_, one in mine for unit in one.units}
    units = sorted(known, key=lambda unit: (unit[0], type(unit[1]).__name__, unit[1]))
    row_of = {unit: row for row, unit in enumerate(units)}
    shape = (len(units), len(tasks), len(levels))
    level, base = np.full((2, *shape, width), np.nan)
    paired, side = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
    for place, mine in enumerate(met):
        for a, _, one in mine:
            at = ([row_of[unit] for unit in one.units], place, levels.index(a.level))
            level[at], base[at], side[at], paired[at] = one.level, one.baseline, one.side, True
    return Meeting(units, tasks, level, base, paired, side)


def _met(a: Side, b: Side) -> _Met:
    """Return the units of a cell of a level and of one of the baseline."""
    if a.cell.recorded or b.cell.recorded:
        return _met_elsewhere(a, b)
    at_a, at_b = _common_episodes(a, b)
    if (a.which[at_a] != b.which[at_b]).any():
        raise TomevalError(
            f"{a.cell.name} in {a.run} and {b.cell.name} in {b.run} have different draws in "
            "episodes with the same number, so they cannot be paired"
        )
    drawn, at = (b, at_b) if a.cell.each_once and not b.cell.each_once else (a, at_a)
    labels, level, baseline = _by_unit(drawn.clusters[at], a.values[at_a], b.values[at_b])
    alone = len(a.episodes) + len(b.episodes) - len(set(at_a.tolist())) - len(set(at_b.tolist()))
    side = np.zeros(len(labels), dtype=np.int64)
    return _Met([(b.seed, label) for label in labels.tolist()], level, baseline, side, alone)


def _met_elsewhere(a: Side, b: Side) -> _Met:
    """Return the units of cells whose episodes of one number need not have met the same chance."""
    of_a, of_b = _means_by_label(a), _means_by_label(b)
    shared = sorted(of_a.keys() & of_b.keys())
    if not shared and of_a and of_b:
        side = np.repeat([1, -1], [len(of_a), len(of_b)])
        units = [*((a.seed, name) for name in of_a), *((b.seed, name) for name in of_b)]
        gone = np.full(a.values.shape[1], np.nan)
        level = np.stack([*of_a.values(), *[gone] * len(of_b)])
        base = np.stack([*[gone] * len(of_a), *of_b.values()])
        return _Met(units, level, base, side, 0)
    level, base = (
        np.reshape([of[name] for name in shared], (len(shared), -1)) for of in (of_a, of_b)
    )
    alone = sum(int((~np.isin(side.clusters, shared)).sum()) for side in (a, b))
    units = [(b.seed, name) for name in shared]
    return _Met(units, level, base, np.zeros(len(shared), dtype=np.int64), alone)


def _means_by_label(side: Side) -> dict[str, FloatArray]:
    """Return the means of a cell's sampling units, (M,), of the episodes that have a value."""
    import pandas

    means = pandas.DataFrame(side.values).groupby(side.clusters).mean()
    return {str(name): row for name, row in zip(means.index, means.to_numpy(), strict=True)}


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
    sums = np.zeros((2, *some.shape))
    for total, values in zip(sums, (first, second), strict=True):
        np.add.at(total, at, np.where(weight > 0, weight * values, 0.0))
    return units, *sums


def _common_episodes(a: Side, b: Side) -> tuple[IntArray, IntArray]:
    """Return the indices in each side of the episodes that both have.

    Where one side played each distinct episode once (`RunCell.each_once`), its value in an episode
    of the other side is known without playing: that of its episode with the same draw. Two such
    sides pair by number, so that no difference counts twice.
    """
    if a.cell.each_once == b.cell.each_once:
        _, at_a, at_b = np.intersect1d(a.episodes, b.episodes, return_indices=True)
        return at_a, at_b
    once, drawn = (a, b) if a.cell.each_once else (b, a)
    row_of = {draw: index for index, draw in enumerate(once.which.tolist())}
    found = [(row_of[d], i) for i, d in enumerate(drawn.which.tolist()) if d in row_of]
    known, kept = np.reshape(np.array(found, dtype=np.int64), (-1, 2)).T
    return (known, kept) if once is a else (kept, known)
