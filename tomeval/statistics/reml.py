"""The restricted likelihood of a linear model with crossed random factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tomeval.statistics.paired import FloatArray

_SMALLEST, _LARGEST = -14.0, 14.0  # logarithms of variance ratios: none at all, nothing else


def variance_ratios(
    fixed: FloatArray, values: FloatArray, parts: Sequence[FloatArray]
) -> tuple[FloatArray, float]:
    """Maximise the restricted likelihood of crossed random factors.

    Parameters
    ----------
    fixed : ndarray, shape (N, P)
    values : ndarray, shape (N,)
    parts : sequence of ndarray, shape (N, K_f)
        Indicator columns of each of F factors.

    Returns
    -------
    ratios : ndarray, shape (F,)
        Variances of the factors over that of the residual, at least 1e-6: none at all.
    likelihood : float
        The restricted log-likelihood, in nats.

    Notes
    -----
    With V = I + Z D Z' the residual variance and the fixed effects are profiled out (Bates et al.
    2015, section 3); only the cross products of Z, X and y are needed. Several starting points,
    because the likelihood can have several maxima.
    """
    from scipy.optimize import minimize

    z = np.concatenate(parts, axis=1)
    owner = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    right = np.concatenate([fixed, values[:, None]], axis=1)
    zz, zr, rr = z.T @ z, z.T @ right, right.T @ right
    count, width = fixed.shape

    def loss(logs: FloatArray) -> float:
        scale = np.exp(logs / 2)[owner]
        inner = np.linalg.cholesky(np.eye(len(owner)) + scale[:, None] * zz * scale)
        half = np.linalg.solve(inner, scale[:, None] * zr)
        gram = rr - half.T @ half  # [X y]' V^-1 [X y]
        top = np.linalg.cholesky(gram[:width, :width])
        effect = np.linalg.solve(top, gram[:width, width])
        rest = gram[width, width] - effect @ effect
        determinants = np.log(np.diag(inner)).sum() + np.log(np.diag(top)).sum()
        return float(determinants + (count - width) / 2 * np.log(max(rest, 1e-300)))

    starts = [np.full(len(parts), 0.0), np.full(len(parts), -4.0)]
    starts += [np.where(np.arange(len(parts)) == f, 4.0, -4.0) for f in range(len(parts))]
    bounds = [(_SMALLEST, _LARGEST)] * len(parts)
    found = min(
        (minimize(loss, start, method="L-BFGS-B", bounds=bounds) for start in starts),
        key=lambda one: one.fun,
    )
    freedom = count - width
    likelihood = -loss(found.x) - freedom / 2 * (1 + np.log(2 * np.pi / freedom))
    return np.exp(found.x), float(likelihood)
