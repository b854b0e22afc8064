"""The fit behind ratings: players and sides as combinations of the weights of one likelihood."""

from __future__ import annotations

import itertools
import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.contests import Contests, choices_of
from tomeval.extensions.ratings.ends import NOTHING, ClusterSpread, evidence, profile_ends
from tomeval.extensions.ratings.likelihood import Choices, Peak
from tomeval.statistics.paired import FloatArray, IntArray

DRAWS = 4_000
TAIL = 0.025
"""What a 95 % interval leaves out on either side."""
SAME = 1e-9
"""Values no further apart are equal but for rounding."""
PRIOR = 5.0
"""Standard deviation in logits of the prior that keeps ratings without a maximum finite."""


class Fit:
    """One likelihood with the contrasts that are asked of it.

    `players`, shape (P, M), are the ratings as combinations of the model's weights, plus `known`.
    """

    def __init__(self, contests: Contests, given: FloatArray) -> None:
        self.contests, self.given = contests, given
        self.choices: Choices = choices_of(contests, given)
        count = len(contests.names)
        self.free = np.isnan(given[:count])
        self.frozen = not self.free.all()
        width = self.choices.apart.shape[1]
        self.players = np.zeros((count, width))
        self.players[self.free, : int(self.free.sum())] = np.eye(int(self.free.sum()))
        self.known = np.where(self.free, 0.0, given[:count])
        self.clustered = int(contests.cluster.max()) + 1 < contests.games
        self.limit = self.choices.limit
        self.core = self.free
        if not self.frozen:
            self.core = self._core()
            self.players -= self.players[self.core].mean(axis=0)

    def _core(self) -> NDArray[np.bool_]:
        """Return the most players whose ratings can be compared: they differ by finite amounts.

        Of these the most whose differences do not rest on one cluster; all, if no two are such.
        """
        for told in (self.told, self.limit.says):
            best = np.zeros(len(self.players), dtype=bool)
            left = list(range(len(self.players)))
            while left:
                one = left[0]
                alike = [k for k in left if told(self.players[one] - self.players[k])]
                if len(alike) > best.sum():
                    best[:] = False
                    best[alike] = True
                left = [k for k in left if k not in alike]
            if best.sum() > 1:
                return best
        return self.free

    def told(self, contrast: FloatArray) -> bool:
        """Tell whether a contrast is finite and does not rest on one cluster."""
        return self.limit.says(contrast) and not self.limit.rests(contrast)

    def check(self) -> None:
        """Raise if a rating cannot be estimated from any number of such games."""
        free = np.flatnonzero(self.free)
        first = self.players[free[0]] if len(free) and not self.frozen else None
        lost = []
        for k in free.tolist():
            contrast = self.players[k] if first is None else self.players[k] - first
            if not self.choices.says(contrast):
                lost.append(k)
        if lost:
            names = ", ".join(repr(self.contests.names[k]) for k in lost)
            than = "" if first is None else f" beside {self.contests.names[free[0]]!r}"
            raise TomevalError(
                f"ratings: these games cannot show how strong {names} is{than}: it always sat with "
                "the same team-mates, or in the same seat or role; let players change places"
            )

    @cached_property
    def peak(self) -> Peak:
        """The maximum of what has one."""
        return self.limit.best

    @cached_property
    def weak(self) -> Peak:
        """The maximum with a weak prior on every weight, which always exists."""
        return self.choices.peak(1 / PRIOR**2) if self.choices.hopeless.any() else self.peak

    @cached_property
    def spread(self) -> ClusterSpread:
        """How what has a maximum moves with other clusters."""
        return ClusterSpread(self.limit, self.peak)

    @cached_property
    def weak_spread(self) -> ClusterSpread:
        """The same with the weak prior."""
        return ClusterSpread(self.choices, self.weak, 1 / PRIOR**2)

    def square(self, contrast: FloatArray, tail: float = TAIL) -> float:
        """Return the squared quantile of an interval of a contrast, in the model's variances.

        NaN if the contrast rests on one cluster: no other shows how clusters vary. Else Student's
        for clustered games, times the ratio of the clustered to the model's variance, but at most
        the normal one times what it is if every cluster is worth one
        game; the normal one if games are independent, or if clusters do not vary at all.

        A contrast without a finite estimate has an interval with one end, at which games that are
        so one-sided have a chance of twice the tail (of one pair: as Clopper and Pearson 1934,
        one-sided), again with every cluster as one game.
        """
        from scipy.special import ndtri, stdtrit

        finite = self.limit.says(contrast)
        if (self.limit if finite else self.choices).rests(contrast):
            return math.nan
        normal = float(ndtri(tail)) ** 2
        if not finite:
            # Such games have a chance of exp(-square / 2) at the end, where they may fall short.
            return -2 * math.log(2 * tail) * self.weak_spread.most(contrast)
        if not self.clustered:
            return normal
        most = self.spread.most(contrast)
        if most < 1 + NOTHING:
            return normal
        ratio, freedom = self.spread.jackknife(contrast)
        if ratio <= NOTHING:
            return normal
        return min(normal * most, float(stdtrit(freedom, tail)) ** 2 * ratio)

    @cached_property
    def alike(self) -> bool:
        """Whether some rating has no spread over clusters.

        If players take turns and each deal ends alike whoever sits where, the clusters' scores are
        all 0: they then do not show how deals vary, and an interval of width 0 would be wrong.
        """
        if not self.clustered:
            return False
        told = (one for one in self.players[self.free] if one.any() and self.told(one))
        return any(self.spread.jackknife(one)[0] <= NOTHING for one in told)

    def ends(self, contrast: FloatArray) -> tuple[float, float]:
        """Return the ends of one contrast's interval; NaN: none."""
        square = self.square(contrast)
        if math.isnan(square):
            return math.nan, math.nan
        if not self.limit.says(contrast):
            return profile_ends(self.choices, contrast, self.weak, square / 2)
        return profile_ends(self.limit, contrast, self.peak, square / 2)

    def ranks(self, value: FloatArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return the ends of the interval of each rank, (P,).

        A player is compared with all others at once: its rank lies below as many as are surely
        better, and above as many as are surely worse. Two differ if their difference has a finite
        estimate and its standard error says so, or where it has none, the likelihood ratio of
        their equality.
        """
        count = len(value)
        pairs = self.players[:, None] - self.players
        finite = np.array([[self.limit.says(pair) for pair in row] for row in pairs])
        tails = comparison_tails(self.players @ self.spread.covariance @ self.players.T, rng)
        tails[~finite.all(axis=1)] = TAIL / max(1, count - 1)
        differ = np.zeros((count, count))  # of every row, who is surely above and below
        for i, j in itertools.permutations(range(count), 2):
            pair, gap = pairs[i, j], float(value[i] - value[j])
            if not pair.any():
                sure = abs(gap) > SAME
            # Without a finite estimate, either might have won all.
            elif math.isnan(square := self.square(pair, tails[i] / (1 + (not finite[i, j])))):
                sure = False
            elif finite[i, j]:
                sure = gap**2 > square * self.spread.variance(pair)
            else:
                known = float(self.known[i] - self.known[j])
                sure = evidence(self.choices, pair, -known, self.weak.place) > square / 2
            differ[i, j] = sure * np.sign(gap)
        return 1 + (differ < 0).sum(axis=1), count - (differ > 0).sum(axis=1)


def comparison_tails(covariance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the upper tail to leave out in each comparison of one value with all others, (P,).

    `covariance`, shape (P, P), is of normal estimates. Two-sided intervals of all differences from
    that value, each with this much outside on either side, hold at once in 95 % of draws: 0.025
    where there is one difference or all move together, less where they do not.
    """
    from scipy.special import ndtr

    count = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    drawn = rng.normal(size=(DRAWS, count)) @ (vectors * np.sqrt(np.clip(values, 0.0, None))).T
    variance = np.diag(covariance)
    error = np.sqrt(np.clip(variance[:, None] + variance - 2 * covariance, 0.0, None))
    tails = np.full(count, TAIL)
    for k in range(count):
        varies = error[k] > 1e-12
        if varies.sum() > 1:
            apart = np.abs(drawn[:, [k]] - drawn[:, varies]) / error[k, varies]
            tails[k] = ndtr(-float(np.quantile(apart.max(axis=1), 1 - 2 * TAIL)))
    return tails
