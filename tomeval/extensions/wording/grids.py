"""Runs laid out by wording: for every model and task, players by wordings by episodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.comparing.sides import Runs, Side, metric_names, opened, read_sides
from tomeval.core.errors import TomevalError
from tomeval.runs.capabilities import Worded
from tomeval.runs.domain import Domain
from tomeval.statistics.paired import FloatArray

NOTHING_SWEPT = (
    "no language model's player was asked in two wordings here: sweep labels, or options such as "
    "prompts, option_order or goal"
)

Unit = tuple[int, Any]
"""A seed and a sampling unit, see `tomeval.runs.cell.RunCell.clusters`."""


class Factor(NamedTuple):
    """An option of wording and its values in a run."""

    name: str
    levels: tuple[str, ...]


Cells = Mapping[tuple[str, tuple[str, ...]], Sequence[Side]]
"""What was played, by player and values of the factors."""


@dataclass(frozen=True, eq=False)
class Grid:
    """One model in one task, and a measure of players that all were asked in all wordings.

    `where` names the model and the task. `exact`: every distinct episode was played once
    everywhere, so means have no sampling error. `values`, shape (S, l_1, ..., l_k, U), are those of
    `metric` of S `players`, such as strategies, under the values of k `factors`, by sampling unit,
    such as an episode, that the cells share; NaN where a cell lacks it. `notes` say what was left
    out, and why.
    """

    model: str
    task: dict[str, Any]
    where: str
    exact: bool
    players: tuple[str, ...]
    factors: tuple[Factor, ...]
    metric: str = ""
    values: FloatArray = field(default_factory=lambda: np.zeros(0))
    notes: tuple[str, ...] = ()

    @property
    def wordings(self) -> list[str]:
        """The W combinations of values in words, the last factor's fastest."""
        return [", ".join(one) for one in itertools.product(*(f.levels for f in self.factors))]


def filled(laid: Grid, cells: Cells, metric: str, column: int) -> Grid:
    """Return a grid with the measure in a column of the sides' values, complete.

    Raises
    ------
    TomevalError
        No two wordings are left of which all players have episodes.
    """
    draws = {
        (side.seed, label): drawn
        for sides in cells.values()
        for side in sides
        if not side.cell.each_once
        for label, drawn in zip(side.clusters.tolist(), side.which.tolist(), strict=True)
    }
    by_cell = {
        key: [pair for side in sides for pair in _by_unit(side, column, laid.exact, draws)]
        for key, sides in cells.items()
    }
    units = dict.fromkeys(unit for pairs in by_cell.values() for unit, _ in pairs)
    number = {unit: index for index, unit in enumerate(units)}
    names = [laid.players, *(factor.levels for factor in laid.factors)]
    total = np.zeros((*map(len, names), len(units)))
    count = np.zeros_like(total)
    for (player, levels), pairs in by_cell.items():
        at = tuple(some.index(one) for some, one in zip(names, (player, *levels), strict=True))
        for unit, value in pairs:
            if np.isfinite(value):
                total[(*at, number[unit])] += value
                count[(*at, number[unit])] += 1
    values = np.full(total.shape, np.nan)
    np.divide(total, count, out=values, where=count > 0)
    kept, left_out = _complete((count > 0).sum(axis=-1) >= (1 if laid.exact else 2), names)
    if not kept or all(len(part) < 2 for part in kept[1:]):
        raise TomevalError("no two wordings have enough complete episodes of a player")
    titles = ["player", *(factor.name for factor in laid.factors)]
    swept = [
        Factor(factor.name, tuple(factor.levels[i] for i in part))
        for factor, part in zip(laid.factors, kept[1:], strict=True)
    ]
    single = tuple(1 + i for i, factor in enumerate(swept) if len(factor.levels) < 2)
    return replace(
        laid,
        players=tuple(laid.players[i] for i in kept[0]),
        factors=tuple(factor for factor in swept if len(factor.levels) > 1),
        metric=metric,
        values=values[np.ix_(*kept, range(len(units)))].squeeze(axis=single),
        notes=tuple(
            f"{titles[axis]} {level!r} is left out: {missing} of its {cells} cells have too few "
            "complete episodes"
            for axis, level, missing, cells in left_out
        ),
    )


def _by_unit(
    side: Side, column: int, exact: bool, draws: Mapping[Unit, int]
) -> Iterable[tuple[Unit, float]]:
    """Return the values of a cell by unit; `draws` are what every unit drew, such as its partner.

    Where each distinct episode was played once, its value holds for all units of its draw.
    """
    values = side.values[:, column].tolist()
    if not side.cell.each_once:
        return zip(((side.seed, label) for label in side.clusters.tolist()), values, strict=True)
    drawn = dict(zip(side.which.tolist(), values, strict=True))
    if exact:
        return [((0, draw), value) for draw, value in drawn.items()]
    return [
        (unit, drawn[draw])
        for unit, draw in draws.items()
        if unit[0] == side.seed and draw in drawn
    ]


def _complete(
    present: NDArray[np.bool_], levels: Sequence[Sequence[str]]
) -> tuple[list[list[int]], list[tuple[int, str, int, int]]]:
    """Return what to keep of every axis so that all cells are there, and what is left out.

    The value that lacks most of its cells goes first. Left out: axis, value, missing cells, cells.
    """
    kept = [list(range(size)) for size in present.shape]
    left_out = []
    while not (now := present[np.ix_(*kept)]).all():
        worst = (0.0, 0, 0, 0, 0)
        for axis, places in enumerate(kept):
            others = tuple(a for a in range(now.ndim) if a != axis)
            missing, cells = (~now).sum(axis=others), now.size // len(places)
            index = int(missing.argmax())
            worst = max(worst, (missing[index] / cells, axis, index, int(missing[index]), cells))
        _, axis, index, gone, cells = worst
        left_out.append((axis, levels[axis][kept[axis].pop(index)], gone, cells))
        if not kept[axis]:
            return [], left_out
    return kept, left_out


def grids_of(
    runs: Runs, metrics: Sequence[str] | None = None, reference: str | None = None
) -> tuple[Domain, list[Grid], list[str]]:
    """Return the runs' domain, every complete grid, and notes on what was left out.

    By model and task, then measure. `runs` and `reference` as for `tomeval.comparing.compare`;
    `metrics` are the measures, by default the headline of the runs' domain.

    Raises
    ------
    TomevalError
        The wording varies nowhere.
    """
    grids, notes = [], []
    with opened(runs) as listed:
        domain = listed[0].domain
        names = metric_names(listed, metrics if metrics is not None else listed[0].headline)
        groups: dict[tuple[Any, ...], list[tuple[Worded, Side]]] = {}
        for side in read_sides(listed, None, names, reference):
            said = domain.compare.worded(side.cell)
            if said is not None:
                without = (domain.compare.by[0], *said.options)
                task = {k: v for k, v in side.task.items() if k not in without}
                groups.setdefault((said.model, *task.items()), []).append((said, side))
        swept = [one for key, mine in groups.items() if (one := _swept(domain, key, mine))]
        if not swept:
            raise TomevalError(NOTHING_SWEPT)
        for laid, cells in swept:
            for column, name in enumerate(names):
                try:
                    grids.append(filled(laid, cells, name, column))
                except TomevalError as error:
                    notes.append(f"{laid.where}: {error}")
                else:
                    notes += [f"{laid.where}: {note}" for note in grids[-1].notes]
    return domain, grids, list(dict.fromkeys(notes))


def _swept(
    domain: Domain, key: tuple[Any, ...], mine: Sequence[tuple[Worded, Side]]
) -> tuple[Grid, Cells] | None:
    """Return one model in one task, still without values; None if there is one wording only."""
    options = [said.options for said, _ in mine]
    levels = {name: tuple(dict.fromkeys(one[name] for one in options)) for name in options[0]}
    factors = tuple(Factor(name, some) for name, some in levels.items() if len(some) > 1)
    if not factors:
        return None
    cells: dict[tuple[str, tuple[str, ...]], list[Side]] = {}
    short = _short_names(list(dict.fromkeys(said.player for said, _ in mine)))
    for said, side in mine:
        wording = tuple(said.options[factor.name] for factor in factors)
        cells.setdefault((short[said.player], wording), []).append(side)
    exact = all(side.cell.each_once for _, side in mine if len(side.episodes))
    task = dict(key[1:])
    where = ", ".join(filter(None, (key[0], domain.compare.words(task)))) or "the task"
    return Grid(key[0], task, where, exact, tuple(short.values()), factors), cells


def _short_names(players: Sequence[str]) -> dict[str, str]:
    """Return names without options where they tell players apart all the same."""
    short = {player: player.partition("(")[0] for player in players}
    several = [name for name in short.values() if list(short.values()).count(name) > 1]
    return {player: player if name in several else name for player, name in short.items()}
