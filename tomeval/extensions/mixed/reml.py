"""Linear models with crossed random factors: variances by restricted maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tomeval.statistics.paired import FloatArray, IntArray

_SMALLEST, _LARGEST = -14.0, 14.0  # logarithms of variance ratios: no variance, no residual
_STEP = 1e-3  # of differences for slopes, in logarithms


class Variances(NamedTuple):
    """Variances of F random factors and of the residual.

    `ratios`, shape (F,), are the factors' variances over that of the residual; 1e-6, the least,
    means no variance. `likelihood` is the restricted log-likelihood, in nats.
    """

    ratios: FloatArray
    residual: float
    likelihood: float


class _Likelihood:
    """The negative restricted likelihood as a function of the logarithms of variance ratios.

    With V = I + Z D Z' the residual variance and the fixed effects are profiled out (Bates et al.
    2015, section 3): all that is needed of V is M = I + S Z'Z S with S S = D, which is sparse.
    """

    def __init__(self, fixed: FloatArray, values: FloatArray, keys: Sequence[IntArray]) -> None:
        from scipy.sparse import csc_array

        codes = [np.unique(key, return_inverse=True)[1] for key in keys]
        sizes = [int(code.max()) + 1 for code in codes]
        self.width, self.freedom = fixed.shape[1], len(values) - fixed.shape[1]
        self.owner = np.repeat(np.arange(len(keys)), sizes)
        starts = np.cumsum([0, *sizes])[:-1]
        columns = [code + first for code, first in zip(codes, starts, strict=True)]
        rows = np.tile(np.arange(len(values)), len(keys))
        shape = (len(values), len(self.owner))
        where = (rows, np.concatenate([np.empty(0, dtype=np.int64), *columns]))
        z: Any = csc_array((np.ones(len(rows)), where), shape=shape)
        dense = np.column_stack([fixed, values])
        self.products, self.cross, self.gram = (z.T @ z).tocsc(), z.T @ dense, dense.T @ dense
        self.row = self.products.indices
        self.column = np.repeat(np.arange(len(self.owner)), np.diff(self.products.indptr))

    def __call__(self, logs: FloatArray) -> tuple[float, float]:
        """Return the loss and the generalised residual sum of squares."""
        from scipy.sparse.linalg import splu

        if not len(logs):
            return self._profiled(self.gram, 0.0)
        scale = np.exp(logs / 2)[self.owner]
        inner = self.products.copy()
        inner.data *= scale[self.row] * scale[self.column]
        inner.data += self.row == self.column
        symmetric: Any = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        solver = splu(inner, permc_spec="MMD_AT_PLUS_A", **symmetric)
        scaled = scale[:, None] * self.cross
        gram = self.gram - scaled.T @ solver.solve(scaled)  # [X y]' V^-1 [X y]
        return self._profiled(gram, float(np.log(solver.U.diagonal()).sum()) / 2)

    def _profiled(self, gram: FloatArray, determinant: float) -> tuple[float, float]:
        k = self.width
        top = np.linalg.cholesky(gram[:k, :k])
        effect = np.linalg.solve(top, gram[:k, k])
        rest = max(float(gram[k, k] - effect @ effect), 1e-300)
        determinant += float(np.log(np.diag(top)).sum())
        return determinant + self.freedom / 2 * float(np.log(rest)), rest

    def sloped(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient, by central differences."""
        steps = _STEP * np.eye(len(logs))
        ends = [(self(logs + step)[0], self(logs - step)[0]) for step in steps]
        return self(logs)[0], np.array([high - low for high, low in ends]) / (2 * _STEP)


def variance_ratios(fixed: FloatArray, values: FloatArray, keys: Sequence[IntArray]) -> Variances:
    """Maximise the restricted likelihood of crossed random factors.

    `fixed`, shape (N, P), is of full rank, with P < N; `keys` are of each of F factors every
    observation's value, (N,), any numbers; without factors this is ordinary least squares. Several
    starting points, as the likelihood can have several maxima. Time and memory grow with the number
    of observations as long as factors with many values are nested, as partners are in games.

    Examples
    --------
    >>> found = variance_ratios(np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0]), [])
    >>> round(found.residual, 12)  # without factors, the sample's variance
    4.666666666667
    """
    from scipy.optimize import minimize

    loss = _Likelihood(fixed, values, keys)
    count = len(keys)
    starts = [np.full(count, 0.0), np.full(count, -4.0), np.full(count, _SMALLEST)]
    starts += [np.where(np.arange(count) == f, 4.0, -4.0) for f in range(count)]

    def climbed(start: FloatArray, **options: float) -> FloatArray:
        bounds = [(_SMALLEST, _LARGEST)] * count
        how: Any = {"method": "L-BFGS-B", "bounds": bounds, "options": options}
        return np.asarray(minimize(loss.sloped, start, jac=True, **how).x)

    best = np.empty(0)
    if count:
        best = min(map(climbed, starts), key=lambda logs: loss(logs)[0])
        best = climbed(best, ftol=0.0, gtol=1e-7)  # the usual one leaves the fourth digit to chance
    least, rest = loss(best)
    freedom = loss.freedom
    likelihood = -least - freedom / 2 * (1 + np.log(2 * np.pi / freedom))
    return Variances(np.exp(best), rest / freedom, float(likelihood))
