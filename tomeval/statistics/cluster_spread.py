"""How far estimates from choices move with other clusters, and how well few clusters show it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tomeval.statistics.choices import Choices, Peak
from tomeval.statistics.paired import FloatArray

NOTHING = 1e-6
"""Clustered variances below this share of the model's are no variances."""


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
        found: FloatArray = self.choices.basis @ self._covariance @ self.choices.basis.T
        return found

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
