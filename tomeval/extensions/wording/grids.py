"""Runs laid out by wording: one measure of the players of a model in a task, by episode."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tomeval.comparing.sides import Side
from tomeval.core.errors import TomevalError
from tomeval.runs.capabilities import Worded
from tomeval.statistics.paired import FloatArray, IntArray

Cells = Mapping[tuple[str, tuple[str, ...]], Sequence[Side]]
"""What was played, by player and by the values of the options that are swept."""


class Grid(NamedTuple):
    """One measure of one model in one task, of players that all were asked in all wordings.

    `options` have the values that were swept. `values`, shape (S, W, U), are those of S `players`,
    such as strategies, in W wordings, all combinations of the values, the last option's fastest, by
    sampling unit, such as an episode, which all may share; NaN where a cell lacks it. `exact`:
    every distinct episode was played once everywhere, so that means have no sampling error.
    """

    players: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    values: FloatArray
    exact: bool

    @property
    def sources(self) -> dict[str, tuple[list[str], IntArray]]:
        """The names of each source's values, and which of them each cell has, shape (S * W,).

        Sources are the ``player``, every option, and ``any wording``: whole combinations.
        """
        wordings = list(itertools.product(*self.options.values()))
        cells = list(itertools.product(range(len(self.players)), wordings))
        sources = {"player": (list(self.players), np.array([player for player, _ in cells]))}
        for place, (name, levels) in enumerate(self.options.items()):
            numbers = np.array([levels.index(wording[place]) for _, wording in cells])
            sources[name] = (list(levels), numbers)
        numbers = np.array([wordings.index(wording) for _, wording in cells])
        sources["any wording"] = ([", ".join(wording) for wording in wordings], numbers)
        return {name: source for name, source in sources.items() if len(source[0]) > 1}


class Range(NamedTuple):
    """The largest less the smallest of some means, with a 95 % interval, and their places."""

    value: float
    low: float
    high: float
    smallest: int
    largest: int


def swept(asked: Sequence[Worded]) -> dict[str, tuple[str, ...]]:
    """Return the options of wording that have several values, with these."""
    levels = {
        name: tuple(dict.fromkeys(one.options[name] for one in asked)) for name in asked[0].options
    }
    return {name: values for name, values in levels.items() if len(values) > 1}


def grid_of(cells: Cells, options: Mapping[str, tuple[str, ...]], column: int) -> Grid:
    """Return the grid of the measure in a column of the sides' values.

    Raises
    ------
    TomevalError
        No player has enough complete episodes in every wording.
    """
    exact = all(side.cell.each_once for sides in cells.values() for side in sides)
    wordings = list(itertools.product(*options.values()))
    by_cell = {key: _by_unit(sides, column, exact) for key, sides in cells.items()}
    least = 1 if exact else 2
    players = tuple(
        player
        for player in dict.fromkeys(player for player, _ in cells)
        if all(len(by_cell.get((player, wording), ())) >= least for wording in wordings)
    )
    if not players:
        raise TomevalError("no player has enough complete episodes in all wordings")
    units = list(dict.fromkeys(unit for values in by_cell.values() for unit in values))
    rows = [
        [[by_cell[player, wording].get(unit, math.nan) for unit in units] for wording in wordings]
        for player in players
    ]
    return Grid(players, options, np.array(rows), exact)


def _by_unit(sides: Sequence[Side], column: int, exact: bool) -> dict[Any, float]:
    """Return the mean of each unit: of a seed and cluster, or if `exact` of what was drawn."""
    values: dict[Any, list[float]] = {}
    for side in sides:
        labels = side.which if exact else side.clusters
        for label, value in zip(labels.tolist(), side.values[:, column].tolist(), strict=True):
            if math.isfinite(value):
                values.setdefault((0 if exact else side.seed, label), []).append(value)
    return {unit: float(np.mean(several)) for unit, several in values.items()}


def range_of(values: FloatArray, groups: IntArray, exact: bool = False) -> Range:
    """Return the range of the true means of groups of cells: the largest less the smallest.

    Parameters
    ----------
    values : ndarray, shape (C, U)
        One value per cell and unit, such as an episode that all cells share; NaN where a cell lacks
        the unit. Units are independent; values of one unit need not be.
    groups : ndarray of int, shape (C,)
        The group of each cell; cells of a group count the same.
    exact : bool
        The units are all there are: means have no noise, and the range has no interval.

    Notes
    -----
    Every pair of means has Student's interval at the level that Bonferroni's correction gives, and
    the range lies between the largest lower and the largest upper end of |difference|. With more
    than two means it is conservative. The range of the estimates itself lies too high where the
    true means are alike; its interval then begins at 0.

    Examples
    --------
    >>> range_of(np.array([[0.9, 1.1], [3.1, 2.9]]), np.array([0, 1]))[:3]
    (2.0, 0.0, 4.541...)
    """
    from scipy.special import stdtrit

    there = np.isfinite(values)
    count = there.sum(axis=1, keepdims=True)
    cell_means = np.where(there, values, 0.0).sum(axis=1, keepdims=True) / count
    member = (groups == np.arange(groups.max() + 1)[:, None]).astype(float)
    member /= member.sum(axis=1, keepdims=True)
    means = (member @ cell_means)[:, 0]
    smallest, largest = int(means.argmin()), int(means.argmax())
    value = float(means[largest] - means[smallest])
    if exact:
        return Range(value, math.nan, math.nan, smallest, largest)
    # how far every unit moves a mean: sums of products estimate variances and covariances
    moves = np.where(there, values - cell_means, 0.0) / np.sqrt(count * (count - 1.0))
    products = (member @ moves) @ (member @ moves).T
    own = np.diag(products)
    error = np.sqrt(np.clip(own[:, None] + own - 2 * products, 0.0, None))
    pairs = len(means) * (len(means) - 1) / 2
    reach = float(stdtrit(count.min() - 1, 1 - 0.025 / pairs)) * error
    gaps = np.abs(means[:, None] - means)
    low, high = float((gaps - reach).max()), float((gaps + reach).max())
    return Range(value, max(0.0, low), high, smallest, largest)
