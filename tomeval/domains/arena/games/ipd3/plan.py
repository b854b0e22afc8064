"""Values of all that can follow one point of a game, by backward induction in numpy.

A point is (rounds left, stage, states of both machines) and, where ranks are the reward, by how
much the seat is ahead of each opponent. A lead that the rounds left cannot undo counts as the least
such lead, which changes no reward. The points that can follow are listed stage by stage, and valued
from the last stage back.

Past `MAX_CELLS` branches no further stage is listed. What follows the last one then lies between
the least and the most that the rounds left can pay, or the ranks after the largest swings: values
are bounds. Where the list reaches the end of the game both bounds are one number, and exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.arena.games.ipd3.product import Pair, Product
from tomeval.domains.arena.games.ipd3.states import DECIDE

MAX_CELLS = 200_000_000
"""Branches (point, option, chance) of all stages; past them values are bounds."""

_AT_ONCE = 2**20
"""Branches that are looked at together."""

_DENSE = 2**25
"""Keys that a table may have; of more the listed ones are searched."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Point(NamedTuple):
    """Where a plan begins, or is asked about; `ahead` is (0, 0) where points are the reward."""

    left: int
    stage: int
    pair: Pair
    ahead: tuple[int, int] = (0, 0)


class Branches(NamedTuple):
    """Branches of some pairs: by pair, option and chance, filled up with the first of the option.

    Attributes
    ----------
    chance : array, shape (Z, A, K)
        0 where filled up.
    following : array of int, shape (Z, A, K)
        Pairs of the next stage.
    gains : array of int, shape (3, Z, A, K)
        Units won, and by how much the seat moves ahead of each opponent.
    """

    chance: Floats
    following: Ints
    gains: Ints


class Layer(NamedTuple):
    """The points of one stage of one round, each once, in the order of their keys.

    Attributes
    ----------
    left, stage : int
    low, size : pair of int
        The least lead on each opponent, and how many there may be.
    pairs : int
        How many pairs there may be.
    keys : array of int, shape (N,)
        One number for each point: of its pair and its leads.
    """

    left: int
    stage: int
    low: tuple[int, int]
    size: tuple[int, int]
    pairs: int
    keys: Ints

    def key(self, pair: Ints, first: Ints, second: Ints) -> Ints:
        """Return the keys of points."""
        a, b = first - self.low[0], second - self.low[1]
        return (pair * self.size[0] + a) * self.size[1] + b

    def find(self, pair: int, leads: tuple[int, int]) -> int | None:
        """Return the place of a point; None if it is not among them."""
        a, b = leads[0] - self.low[0], leads[1] - self.low[1]
        if not (0 <= a < self.size[0] and 0 <= b < self.size[1]):
            return None
        key = (pair * self.size[0] + a) * self.size[1] + b
        at = int(self.keys.searchsorted(key))
        return at if at < len(self.keys) and self.keys[at] == key else None

    def points(self, keys: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the pairs and leads of keys."""
        rest, second = np.divmod(keys, self.size[1])
        pair, first = np.divmod(rest, self.size[0])
        return pair, first + self.low[0], second + self.low[1]

    @property
    def dense(self) -> int:
        """How many keys there could be; 0 if they are too many for a table."""
        span = self.pairs * self.size[0] * self.size[1]
        return span if span <= _DENSE else 0


class Plan:
    """Values of a point and of all that can follow it.

    Parameters
    ----------
    product : Product
    root : Point
    random : bool
        The seat decides at random and says nothing, instead of as well as it can.
    """

    def __init__(self, product: Product, root: Point, random: bool = False) -> None:
        self.product, self.root, self._random = product, root, random
        self._ranked = product.game.rules.reward == "rank"
        gains = np.array(product.gains)
        self._least, self._most = gains.min(axis=0), gains.max(axis=0)
        self._swing = tuple(np.abs(gains).max(axis=0).tolist()[1:])
        self._pairs: dict[int, dict[Pair, int]] = {s: {} for s in range(product.first, DECIDE + 1)}
        self._branches: dict[tuple[int, bytes], Branches] = {}
        self._layers: list[Layer] = []
        self._list()
        self._values = self._back()

    @property
    def size(self) -> int:
        """Number of points that are kept."""
        return sum(len(layer.keys) for layer in self._layers)

    def value(self, point: Point) -> tuple[float, float] | None:
        """Return bounds of a point's value; None if the plan does not know the point.

        In units still to be won, or the reward by rank.
        """
        stages = DECIDE - self.product.first + 1
        number = (self.root.left - point.left) * stages + point.stage - self.root.stage
        pair = self._pairs[point.stage].get(point.pair)
        if pair is None or not 0 <= number < len(self._layers):
            return None
        at = self._layers[number].find(pair, self._settled_leads(point))
        if at is None:
            return None
        ends = self._values[number][:, at]
        return float(ends[0]), float(ends[-1])

    def _settled_leads(self, point: Point) -> tuple[int, int]:
        """Return leads without what the rounds left cannot undo."""
        first, second = (
            min(max(lead, -bound), bound)
            for lead, bound in zip(point.ahead, self._bounds(point.left), strict=True)
        )
        return first, second

    def _bounds(self, left: int) -> tuple[int, int]:
        """Return the least leads that the rounds left cannot undo."""
        return left * self._swing[0] + 1, left * self._swing[1] + 1

    # Forward

    def _list(self) -> None:
        """List the points, stage by stage."""
        root = self.root
        self._pairs[root.stage][root.pair] = 0
        leads = self._settled_leads(root)
        layer = Layer(root.left, root.stage, leads, (1, 1), 1, np.zeros(1, np.int64))
        self._layers.append(layer)
        cells = 0
        while layer.left:
            present = np.unique(layer.keys // (layer.size[0] * layer.size[1]))
            branches = self._branched(layer.stage, present)
            cells += len(layer.keys) * branches.chance[0].size
            if cells > MAX_CELLS:
                break
            layer = self._next(layer)
            self._layers.append(layer)

    def _branched(self, stage: int, present: Ints) -> Branches:
        """Return the branches of pairs, given in order; those that follow are numbered."""
        key = stage, present.tobytes()
        if key not in self._branches:
            pairs = list(self._pairs[stage])
            numbers = self._pairs[self.product.following(stage)]
            rows = []
            for at in present.tolist():
                options = self.product.options(stage, pairs[at])
                rows.append(
                    [
                        [(b.chance, numbers.setdefault(b.pair, len(numbers)), *b.gain) for b in own]
                        for own in options
                    ]
                )
            self._branches[key] = _arrays(rows, self._ranked)
        return self._branches[key]

    def _next(self, layer: Layer) -> Layer:
        """Return the points that can follow those of a layer."""
        left, stage = layer.left - (layer.stage == DECIDE), self.product.following(layer.stage)
        low, size = [], []
        for k, bound in enumerate(self._bounds(left)):
            ends = [layer.low[k], layer.low[k] + layer.size[k] - 1]
            if layer.stage == DECIDE and self._ranked:
                ends = [ends[0] + int(self._least[1 + k]), ends[1] + int(self._most[1 + k])]
            ends = [min(max(end, -bound), bound) for end in ends]
            low.append(ends[0])
            size.append(ends[1] - ends[0] + 1)
        pairs = len(self._pairs[stage])
        after = Layer(left, stage, (low[0], low[1]), (size[0], size[1]), pairs, layer.keys[:0])
        parts = (following for _, _, following in self._parts(layer, after))
        if after.dense:
            seen = np.zeros(after.dense, dtype=bool)
            for part in parts:
                seen[part] = True
            return after._replace(keys=np.flatnonzero(seen))
        return after._replace(keys=np.unique(np.concatenate([np.unique(p) for p in parts])))

    def _parts(self, layer: Layer, after: Layer) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Yield, for some points at a time, chances, units won and the keys of what follows."""
        present = np.unique(layer.keys // (layer.size[0] * layer.size[1]))
        chance, following, gains = self._branched(layer.stage, present)
        step, bounds = max(1, _AT_ONCE // chance[0].size), self._bounds(after.left)
        for start in range(0, len(layer.keys), step):
            pair, *leads = layer.points(layer.keys[start : start + step])
            at = np.searchsorted(present, pair)
            first, second = (
                (lead[:, None, None] + gains[k + 1][at]).clip(-bound, bound)
                for k, (lead, bound) in enumerate(zip(leads, bounds, strict=True))
            )
            yield chance[at], gains[0][at], after.key(following[at], first, second)

    # Back

    def _back(self) -> list[Floats]:
        """Return the values of all layers, shape (1, N), or (2, N) where they are bounds."""
        values = self._leaf(self._layers[-1])
        layers = [values]
        for layer, after in zip(self._layers[-2::-1], self._layers[:0:-1], strict=True):
            if after.dense:
                table = np.empty((len(values), after.dense))
                table[:, after.keys] = values
            parts = []
            for chance, mine, following in self._parts(layer, after):
                at = following if after.dense else np.searchsorted(after.keys, following)
                worth = table[:, at] if after.dense else values[:, at]
                worth = worth if self._ranked else worth + mine
                parts.append(self._decided((chance * worth).sum(axis=3), layer.stage))
            values = np.concatenate(parts, axis=1)
            layers.append(values)
        return layers[::-1]

    def _decided(self, worth: Floats, stage: int) -> Floats:
        """Return the values of points from those of their options, shape (ends, N, A)."""
        if stage == DECIDE and self._random:
            return np.asarray(worth.mean(axis=2))
        return np.asarray(worth[:, :, 0] if self._random else worth.max(axis=2))

    def _leaf(self, layer: Layer) -> Floats:
        """Return the least and the most that the remaining rounds can bring."""
        swings = [self._least, self._most] if layer.left else [self._least]
        if not self._ranked:
            return np.array([np.full(len(layer.keys), float(layer.left * s[0])) for s in swings])
        _, *leads = layer.points(layer.keys)
        ranked = self.product.game.ranked
        by_sign = np.array([[ranked((0, -a, -b))[0] for b in (-1, 0, 1)] for a in (-1, 0, 1)])
        signs = [
            [np.sign(lead + layer.left * int(swing[k + 1])) + 1 for k, lead in enumerate(leads)]
            for swing in swings
        ]
        return np.array([by_sign[first, second] for first, second in signs])


def _arrays(rows: list[list[list[tuple[float, int, int, int, int]]]], ranked: bool) -> Branches:
    """Return branches as arrays; leads where ranks are the reward."""
    most = max(len(branches) for row in rows for branches in row)
    filled = np.array(
        [
            [branches + [(0.0, *branches[0][1:])] * (most - len(branches)) for branches in row]
            for row in rows
        ]
    )
    chance, following, *gains = np.ascontiguousarray(np.moveaxis(filled, 3, 0))
    whole = np.array([following, *gains]).astype(np.int64)
    if not ranked:
        whole[2:] = 0
    return Branches(chance, whole[0], whole[1:])
