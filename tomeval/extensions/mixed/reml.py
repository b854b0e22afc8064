"""Linear models with crossed random factors: variances by restricted maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tomeval.statistics.paired import FloatArray, IntArray

_SMALLEST, _LARGEST = -14.0, 14.0  # logarithms of variance ratios: no variance, no residual


class Variances(NamedTuple):
    """Variances of F random factors and of the residual.

    `ratios`, shape (F,), are the factors' variances over that of the residual; 1e-6, the least,
    means no variance. `likelihood` is the restricted log-likelihood, in nats.
    """

    ratios: FloatArray
    residual: float
    likelihood: float


class _Blocks(NamedTuple):
    """Blocks of V that have one size: B of n observations each."""

    members: IntArray  # (B, n), the observations
    alike: FloatArray  # (F, B, n, n), 1 where two observations have one value of a factor
    columns: FloatArray  # (B, n, C), their rows of all dense columns


class _Likelihood:
    """The negative restricted likelihood as a function of the logarithms of variance ratios.

    V = A + W D W'. W holds the dense columns of the factors with few values (`border`), whose cross
    products are enough. The others, in A, leave observations independent that share none of their
    values, as partners do within games: A falls into blocks, which are inverted one by one.
    """

    def __init__(self, fixed: FloatArray, values: FloatArray, keys: Sequence[IntArray]) -> None:
        self.factors = len(keys)
        self.count, self.width = fixed.shape
        self.freedom = self.count - self.width
        codes = [np.unique(key, return_inverse=True)[1] for key in keys]
        self.border, self.inner, members = _split(codes, self.count)
        dense = [np.eye(codes[f].max() + 1)[codes[f]] for f in self.border]
        self.owner = np.array(self.border, dtype=np.int64).repeat([part.shape[1] for part in dense])
        columns = np.concatenate([*dense, fixed, values[:, None]], axis=1)
        inside = np.array([codes[f] for f in self.inner]).reshape(len(self.inner), self.count)
        self.sums = [_summing(codes[f]) for f in self.inner]
        self.blocks = []
        for index in members:
            mine = inside[:, index]
            alike = (mine[..., None] == mine[..., None, :]).astype(float)
            self.blocks.append(_Blocks(index, alike, columns[index]))

    def __call__(self, logs: FloatArray) -> tuple[float, FloatArray, float]:
        """Return the loss, its gradient and the generalised residual sum of squares."""
        from scipy.linalg import solve_triangular

        ratios = np.exp(logs)
        k, wide = self.width, len(self.owner)
        cross_products, solved, determinant, traces = self._whiten(ratios[self.inner])
        zz, zr = cross_products[:wide, :wide], cross_products[:wide, wide:]
        scale = np.exp(logs / 2)[self.owner]
        inner = np.linalg.cholesky(np.eye(wide) + scale[:, None] * zz * scale)
        half_r = solve_triangular(inner, scale[:, None] * zr, lower=True)
        half_z = solve_triangular(inner, scale[:, None] * zz, lower=True)
        gram = cross_products[wide:, wide:] - half_r.T @ half_r  # [X y]' V^-1 [X y]
        cross = zr - half_z.T @ half_r  # W' V^-1 [X y]
        top = np.linalg.cholesky(gram[:k, :k])
        effect = solve_triangular(top, gram[:k, k], lower=True)
        rest = max(float(gram[k, k] - effect @ effect), 1e-300)
        seen = solve_triangular(top, cross[:, :k].T, lower=True)
        own = np.diag(zz) - (half_z**2).sum(axis=0) - (seen**2).sum(axis=0)  # diag W'PW
        moved = cross[:, k] - seen.T @ effect  # W'Py
        slopes = scale**2 * (own - self.freedom * moved**2 / rest) / 2
        gradient: FloatArray = np.zeros(self.factors)
        np.add.at(gradient, self.owner, slopes)
        if self.inner:
            drawn = solve_triangular(inner, (solved[:, :wide] * scale).T, lower=True)
            right = solved[:, wide:] - drawn.T @ half_r  # V^-1 [X y]
            lifted = solve_triangular(top, right[:, :k].T, lower=True)
            residual = right[:, k] - lifted.T @ effect  # Py
            taken = np.concatenate([drawn, lifted]).T  # P = A^-1 - this times its transpose
            for f, trace, total in zip(self.inner, traces, self.sums, strict=True):
                spread = trace - ((total @ taken) ** 2).sum()
                fitted = self.freedom * ((total @ residual) ** 2).sum() / rest
                gradient[f] = ratios[f] * (spread - fitted) / 2
        determinant += float(np.log(np.diag(inner)).sum() + np.log(np.diag(top)).sum())
        return float(determinant + self.freedom / 2 * np.log(rest)), gradient, rest

    def _whiten(self, ratios: FloatArray) -> tuple[FloatArray, FloatArray, float, FloatArray]:
        """Return C'A^-1 C of the dense columns C, A^-1 C, log |A| / 2, and traces of Z'A^-1 Z."""
        width = self.blocks[0].columns.shape[2]
        products, solved = np.zeros((width, width)), np.empty((self.count, width))
        determinant, traces = 0.0, np.zeros(len(ratios))
        for index, alike, columns in self.blocks:
            block = np.eye(index.shape[1]) + np.tensordot(ratios, alike, 1)
            lower = np.linalg.cholesky(block)
            inverse = np.linalg.inv(lower)
            half = inverse @ columns
            rows = half.reshape(-1, width)
            products += rows.T @ rows
            turned = inverse.swapaxes(1, 2)
            solved[index] = turned @ half
            determinant += float(np.log(np.diagonal(lower, axis1=1, axis2=2)).sum())
            traces += (alike * (turned @ inverse)).sum(axis=(1, 2, 3))
        return products, solved, determinant, traces


def _split(codes: Sequence[IntArray], count: int) -> tuple[list[int], list[int], list[IntArray]]:
    """Return the factors of the border, the others, and their blocks by size, for the least work.

    The blocks of one size are an array of observations, shape (B, n).
    """
    sizes = [int(code.max()) + 1 for code in codes]
    order = sorted(range(len(codes)), key=lambda f: sizes[f])
    best: tuple[float, list[int], list[int], IntArray] | None = None
    for cut in range(len(codes) + 1):
        border, inner = order[:cut], order[cut:]
        block = _components([codes[f] for f in inner], count)
        wide = sum(sizes[f] for f in border)
        work = wide**3 + count * wide**2 + float((np.bincount(block).astype(float) ** 3).sum())
        if best is None or work < best[0]:
            best = work, border, inner, block
    assert best is not None
    _, border, inner, block = best
    among = np.bincount(block)[block]  # the size of each observation's block
    members = []
    for size in np.unique(among):
        mine = np.flatnonzero(among == size)
        members.append(mine[np.argsort(block[mine], kind="stable")].reshape(-1, size))
    return sorted(border), sorted(inner), members


def _components(codes: Sequence[IntArray], count: int) -> IntArray:
    """Return the number of each observation's component: those that factors connect."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = count + np.cumsum([0, *(int(code.max()) + 1 for code in codes)])
    ends = [code + start for code, start in zip(codes, first, strict=False)]
    rows = np.tile(np.arange(count), len(codes))
    columns = np.concatenate([np.empty(0, dtype=np.int64), *ends])
    size = int(first[-1])
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    found: IntArray = connected_components(graph, directed=False)[1][:count].astype(np.int64)
    return np.unique(found, return_inverse=True)[1]


def _summing(codes: IntArray) -> Any:
    """Return the sparse matrix that adds up rows by their value of a factor."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))))


def variance_ratios(fixed: FloatArray, values: FloatArray, keys: Sequence[IntArray]) -> Variances:
    """Maximise the restricted likelihood of crossed random factors.

    Parameters
    ----------
    fixed : ndarray, shape (N, P)
        Of full rank, with P < N.
    values : ndarray, shape (N,)
    keys : sequence of ndarray of int, shape (N,)
        Of each of F factors every observation's value, any numbers; without factors this is
        ordinary least squares.

    Notes
    -----
    With V = I + Z D Z' the residual variance and the fixed effects are profiled out (Bates et al.
    2015, section 3). Time and memory grow with the number of observations as long as factors with
    many values are nested, as partners are in games. The gradient is that of Lindstrom and Bates
    1988. Several starting points, as the likelihood can have several maxima.

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
    for _ in range(2 if count else 0):  # the usual tolerance leaves the fourth digit to chance
        best = minimize(
            sloped,
            best,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 0.0, "gtol": 1e-9},
        ).x
    least, _, rest = loss(best)
    freedom = loss.freedom
    likelihood = -least - freedom / 2 * (1 + np.log(2 * np.pi / freedom))
    return Variances(np.exp(best), rest / freedom, float(likelihood))
