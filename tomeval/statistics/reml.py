"""Linear models with crossed random factors: variances by restricted maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tomeval.statistics.paired import FloatArray

_SMALLEST, _LARGEST = -14.0, 14.0  # logarithms of variance ratios: no variance, no residual


class Variances(NamedTuple):
    """Variances of F random factors and of the residual.

    `ratios`, shape (F,), are the factors' variances over that of the residual; 1e-6, the least,
    means no variance. `likelihood` is the restricted log-likelihood, in nats.
    """

    ratios: FloatArray
    residual: float
    likelihood: float


class _Likelihood:
    """The negative restricted likelihood as a function of the logarithms of variance ratios."""

    def __init__(self, fixed: FloatArray, values: FloatArray, parts: Sequence[FloatArray]) -> None:
        z = np.concatenate([np.empty((len(values), 0)), *parts], axis=1)
        right = np.concatenate([fixed, values[:, None]], axis=1)
        self.owner = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
        self.factors = len(parts)
        self.count, self.width = fixed.shape
        self.freedom = self.count - self.width
        self.zz, self.zr, self.rr = z.T @ z, z.T @ right, right.T @ right

    def __call__(self, logs: FloatArray) -> tuple[float, FloatArray, float]:
        """Return the loss, its gradient and the generalised residual sum of squares."""
        from scipy.linalg import solve_triangular

        k = self.width
        scale = np.exp(logs / 2)[self.owner]
        inner = np.linalg.cholesky(np.eye(len(scale)) + scale[:, None] * self.zz * scale)
        half_r = solve_triangular(inner, scale[:, None] * self.zr, lower=True)
        half_z = solve_triangular(inner, scale[:, None] * self.zz, lower=True)
        gram = self.rr - half_r.T @ half_r  # [X y]' V^-1 [X y]
        cross = self.zr - half_z.T @ half_r  # Z' V^-1 [X y]
        top = np.linalg.cholesky(gram[:k, :k])
        effect = solve_triangular(top, gram[:k, k], lower=True)
        rest = max(float(gram[k, k] - effect @ effect), 1e-300)
        seen = solve_triangular(top, cross[:, :k].T, lower=True)
        own = np.diag(self.zz) - (half_z**2).sum(axis=0) - (seen**2).sum(axis=0)  # diag Z'PZ
        moved = cross[:, k] - seen.T @ effect  # Z'Py
        slopes = scale**2 * (own - self.freedom * moved**2 / rest) / 2
        gradient: FloatArray = np.zeros(self.factors)
        np.add.at(gradient, self.owner, slopes)
        determinants = np.log(np.diag(inner)).sum() + np.log(np.diag(top)).sum()
        return float(determinants + self.freedom / 2 * np.log(rest)), gradient, rest


def variance_ratios(
    fixed: FloatArray, values: FloatArray, parts: Sequence[FloatArray]
) -> Variances:
    """Maximise the restricted likelihood of crossed random factors.

    Parameters
    ----------
    fixed : ndarray, shape (N, P)
        Of full rank, with P < N.
    values : ndarray, shape (N,)
    parts : sequence of ndarray, shape (N, K_f)
        Indicator columns of each of F factors; without factors this is ordinary least squares.

    Notes
    -----
    With V = I + Z D Z' the residual variance and the fixed effects are profiled out (Bates et al.
    2015, section 3); only the cross products of Z, X and y are needed. The gradient is that of
    Lindstrom and Bates 1988. Several starting points, as the likelihood can have several maxima.

    Examples
    --------
    >>> found = variance_ratios(np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0]), [])
    >>> round(found.residual, 12)  # without factors, the sample's variance
    4.666666666667
    """
    from scipy.optimize import minimize

    loss = _Likelihood(fixed, values, parts)
    count = len(parts)
    starts = [np.full(count, 0.0), np.full(count, -4.0), np.full(count, _SMALLEST)]
    starts += [np.where(np.arange(count) == f, 4.0, -4.0) for f in range(count)]
    bounds = [(_SMALLEST, _LARGEST)] * count

    def sloped(logs: FloatArray) -> tuple[float, FloatArray]:
        value, gradient, _ = loss(logs)
        return value, gradient

    ends = [np.empty(0)]
    if count:
        ends = [
            minimize(sloped, start, jac=True, method="L-BFGS-B", bounds=bounds).x
            for start in starts
        ]
    best = min(ends, key=lambda logs: loss(logs)[0])
    least, _, rest = loss(best)
    freedom = loss.freedom
    likelihood = -least - freedom / 2 * (1 + np.log(2 * np.pi / freedom))
    return Variances(np.exp(best), rest / freedom, float(likelihood))
