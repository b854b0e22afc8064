"""Linear models with crossed random factors: the restricted likelihood, and the fit."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.statistics.paired import FloatArray

_SMALLEST, _LARGEST = -14.0, 14.0  # logarithms of variance ratios: no variance, no residual


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
        Variances of the factors over that of the residual; 1e-6, the least, means no variance.
    likelihood : float
        The restricted log-likelihood, in nats.

    Notes
    -----
    With V = I + Z D Z' the residual variance and the fixed effects are profiled out (Bates et al.
    2015, section 3); only the cross products of Z, X and y are needed. Several starting points,
    as the likelihood can have several maxima.
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


def crossed_fit(
    fixed: FloatArray, values: FloatArray, parts: Mapping[str, FloatArray]
) -> tuple[Any, list[str]]:
    """Fit crossed random factors; return the fit and which factors have no variance.

    statsmodels' optimisers can stop at poor points of this likelihood and report convergence, so
    they start at the optimum and may not end below it.
    """
    try:
        module = importlib.import_module("statsmodels.regression.mixed_linear_model")
    except ModuleNotFoundError:
        raise TomevalError("a mixed model needs statsmodels: pip install statsmodels") from None
    names = sorted(parts)
    specification = module.VCSpec(
        names,
        [[[f"{name}{i}" for i in range(parts[name].shape[1])]] for name in names],
        [[parts[name]] for name in names],
    )
    model = module.MixedLM(values, fixed, np.zeros(len(values)), exog_vc=specification)
    model.reml = True
    ratios, best = variance_ratios(fixed, values, [parts[name] for name in names])
    start = module.MixedLMParams.from_components(
        fe_params=np.zeros(fixed.shape[1]), cov_re=np.zeros((0, 0)), vcomp=ratios
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about variances of 0, which are reported below
        try:
            fit = model.fit(reml=True, start_params=start, method="lbfgs")
        except np.linalg.LinAlgError as error:
            raise TomevalError(
                f"the mixed model could not be fitted ({error}): use the paired comparison"
            ) from None
    if not fit.llf > best - 0.01:
        raise TomevalError("the mixed model did not converge: use the paired comparison")
    flat = [name for name, part in zip(names, fit.vcomp, strict=True) if part < 1e-5 * fit.scale]
    return fit, [f"{name} has no variance of its own beyond the other effects'" for name in flat]
