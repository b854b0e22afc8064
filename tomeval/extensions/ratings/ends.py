"""How far estimates from choices can be trusted: ends of profiles, spread over clusters."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.likelihood import Choices, Peak
from tomeval.statistics.paired import FloatArray

FLAT = 1e-8
"""A ridge that keeps a profile's maximum finite where the likelihood only nears it."""

FAR = 50.0
"""In logits; ends of intervals beyond this are treated as infinite."""

NOTHING = 1e-6
"""Clustered variances below this share of the model's count as zero."""


def profile_ends(
    choices: Choices, contrast: FloatArray, peak: Peak, drop: float
) -> tuple[float, float]:
    """Return where the profile likelihood of a contrast lies `drop` nats below its maximum.

    `contrast`, shape (M,), is one that `Choices.says` affirms; `peak` the maximum, or with a ridge
    a point near it where there is none. An end is infinite if the contrast is `Choices.open` on
    that side, or beyond `FAR`.
    """
    inside = choices.basis.T @ contrast
    norm = float(inside @ inside)
    across = np.linalg.eigh(np.outer(inside, inside))[1][:, :-1]  # the last one is `contrast`
    separated = bool(choices.hopeless.any())
    ridge = FLAT if separated else 0.0
    top = choices.peak(FLAT, start=peak.place).height if separated else peak.height
    centre = float(contrast @ peak.place)
    error = float(np.sqrt(inside @ np.linalg.pinv(peak.information) @ inside))
    last = [peak.place]

    def below(value: float) -> float:
        """Return how far within the limit the profile is: by roots, which are nearly linear."""
        if value == centre and not separated:
            return math.sqrt(drop)
        peak = choices.peak(ridge, along=(inside * value / norm, across), start=last[0])
        last[0] = peak.place
        return math.sqrt(drop) - math.sqrt(max(0.0, top - peak.height))

    ends = []
    for sign in (-1.0, 1.0):
        last[0] = peak.place
        if separated and choices.open(sign * contrast):
            ends.append(sign * np.inf)
        else:
            step = math.sqrt(2 * drop) * min(max(error, 1e-3), 5.0)
            ends.append(_crossing(below, centre, sign * 1.1 * step))
    return ends[0], ends[1]


def evidence(choices: Choices, contrast: FloatArray, value: float, start: FloatArray) -> float:
    """Return how far the log-likelihood falls, in nats, where a contrast has this value."""
    inside = choices.basis.T @ contrast
    across = np.linalg.eigh(np.outer(inside, inside))[1][:, :-1]
    top = choices.peak(FLAT, start=start).height
    point = inside * value / float(inside @ inside)
    return top - choices.peak(FLAT, along=(point, across), start=start).height


def _crossing(below: Callable[[float], float], centre: float, step: float) -> float:
    """Return the value beyond `centre`, in the direction of `step`, where a profile crosses 0.

    Infinite if that is more than `FAR` away.
    """
    from scipy.optimize import brentq

    values: dict[float, float] = {}  # a search that starts elsewhere may differ in the last digits

    def once(value: float) -> float:
        if value not in values:
            values[value] = below(value)
        return values[value]

    inner, outer = centre, centre + step
    while once(outer) >= 0:
        if abs(outer - centre) > FAR:
            return float(np.copysign(np.inf, step))
        inner, outer = outer, outer + 2 * (outer - inner)
    while once(inner) < 0:  # with a ridge, the start can lie outside on this side
        if abs(inner - centre) > FAR:
            raise TomevalError("ratings: the profile of a likelihood has no end")
        inner, outer = inner - step, inner
    return float(brentq(once, inner, outer, xtol=1e-6, rtol=1e-10))


class ClusterSpread:
    """The jackknife over clusters at a peak, for one combination of weights after another.

    `ridge` is that of the peak: 1 / variance of a prior on every weight, 0 without one.
    """

    def __init__(self, choices: Choices, peak: Peak, ridge: float = 0.0) -> None:
        self.choices, self.peak = choices, peak
        size = choices.basis.shape[1]
        self._covariance = np.linalg.inv(peak.information + ridge * np.eye(size))

    @property
    def covariance(self) -> FloatArray:
        """The model's covariance of the weights, (M, M), for which games are independent."""
        covariance: FloatArray = self.choices.basis @ self._covariance @ self.choices.basis.T
        return covariance

    def variance(self, contrast: FloatArray) -> float:
        """Return the model's variance of a contrast."""
        inside = self.choices.basis.T @ contrast
        return float(inside @ self._covariance @ inside)

    def most(self, contrast: FloatArray) -> float:
        """Return how many times the model's the variance is if every cluster is worth one game.

        That is if all games of a cluster move the contrast alike: its variance is then the square
        of the sum of their standard deviations.
        """
        way = self._covariance @ (self.choices.basis.T @ contrast)
        each = np.clip(self.choices.variances(self.peak, way), 0.0, None)
        clusters = np.bincount(self.choices.cluster, weights=np.sqrt(each))
        return float((clusters**2).sum() / each.sum())

    @cached_property
    def _moves(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the clusters' scores and information, and the inverse of that of all others.

        Along directions that a cluster alone decides the inverse is 0: see `Choices.rests`.
        """
        scores, parts = self.choices.parts(self.peak)
        least = 1e-11 * float(np.trace(self.peak.information))
        others = np.empty_like(parts)
        for g, part in enumerate(parts):
            values, vectors = np.linalg.eigh(self.peak.information - part)
            kept = values > least
            others[g] = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        return scores, parts, others

    def jackknife(self, contrast: FloatArray) -> tuple[float, float]:
        """Return the ratio of the clustered variance to the model's, and its degrees of freedom.

        Parameters
        ----------
        contrast : ndarray, shape (M,)
            That does not rest on one cluster.

        Notes
        -----
        The variance is the sum of squares of what leaving out one cluster moves in one Newton step
        (the "CR3" of Bell and McCaffrey 2002), over what this sum is on average if games are
        independent: so the ratio is then 1 on average, however unevenly clusters weigh. The
        degrees of freedom are Satterthwaite's under the same model: with d equal clusters that say
        something of the contrast, d - 1.
        """
        inside = self.choices.basis.T @ contrast
        scores, parts, others = self._moves
        ways = others @ inside  # (G, r)
        moved = np.einsum("gr,gr->g", ways, scores)
        pulls = np.einsum("grs,gs->gr", parts, ways)
        own = np.einsum("gr,gr->g", ways, pulls)
        # The moves' covariance is diag(own) less this times its transpose.
        shared = pulls @ np.linalg.cholesky(self._covariance)
        expected = float(own.sum() - (shared**2).sum())
        square = (
            (own**2).sum()
            - 2 * (own * (shared**2).sum(axis=1)).sum()
            + ((shared.T @ shared) ** 2).sum()
        )
        return float((moved**2).sum()) / expected, expected**2 / float(square)
