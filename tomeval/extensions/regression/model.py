"""Regression on steps: estimating equations with errors that hold with few clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.comparing.sides import Runs, opened
from tomeval.core.errors import TomevalError, unknown
from tomeval.extensions.regression.estimates import (
    FLAT,
    Fit,
    sandwich,
    separated,
    solve,
)
from tomeval.extensions.regression.formula import read_formula
from tomeval.extensions.regression.steps import Design, Steps, design, read_steps
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.paired import (
    FloatArray,
    IntArray,
    Standard,
    holm,
    t_interval,
    t_test,
)

METHODS = ("gee", "linear")


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a regression on N steps in C clusters; shapes (P,), the intercept first.

    `estimate` is in the response's unit, of a binomial model in log-odds. `error` is its standard
    error, `freedom` the degrees of freedom of Student's 95 % interval (`low`, `high`) and of the
    two-sided `p`, which `p_holm` corrects for all terms but the intercept. NaN intervals: fewer
    than five clusters, or fewer than two degrees of freedom. `correlation` is that of two steps of
    a cluster given the terms; `family` ``gaussian`` or ``binomial``; `baselines` the first level of
    every category.
    """

    formula: str
    method: str
    family: str
    terms: tuple[str, ...]
    estimate: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    t: FloatArray
    freedom: FloatArray
    p: FloatArray
    p_holm: FloatArray
    correlation: float
    steps: int
    episodes: int
    clusters: int
    group: str
    baselines: dict[str, str]
    notes: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per term."""
        names = ("estimate", "error", "low", "high", "t", "freedom", "p", "p_holm")
        numbers = np.stack([getattr(self, name) for name in names], axis=1).tolist()
        return [
            {"term": term, **dict(zip(names, mine, strict=True))}
            for term, mine in zip(self.terms, numbers, strict=True)
        ]


def regress(
    runs: Runs,
    formula: str,
    method: str = "gee",
    baseline: str | None = None,
    where: Sequence[str] = (),
) -> Regression:
    """Regress a column of the step table on others.

    Parameters
    ----------
    runs : Run, path, or sequence of these
        Of one domain; of several, the column ``run`` is the name of the folder.
    formula : str
        As ``"regret ~ subject * log(step) + (1|episode)"``, see `FORM` of
        `tomeval.extensions.regression.formula`. Texts are categories. The group, by default
        ``episode``, names the clusters, see `tomeval.extensions.regression.steps.read_steps`.
    method : {"gee", "linear"}
        Generalised estimating equations, by logit where the response is 0 or 1; or the same without
        the logit.
    baseline : str, optional
        The level of a category that others are compared with. Default: the first in the runs.
    where : sequence of str
        Conditions on cells, for runs that are not open yet.

    Raises
    ------
    TomevalError
        A formula that cannot be read, an unknown column; a response that is a text or does not
        vary, or that the terms reproduce without error; collinear terms; a single cluster; a
        category in which a response of 0 and 1 is always the same; no convergence.

    Notes
    -----
    Working correlation: exchangeable (Liang and Zeger 1986). Standard errors are the sandwich's
    with the correction of Kauermann and Carroll 2001, equation 8, as Bell and McCaffrey 2002 have
    it for linear models; degrees of freedom are Satterthwaite's, of each coefficient under the
    working correlation (Bell and McCaffrey 2002, section 4). With one term of two levels that every
    cluster has equally often they give the paired t test.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS, "--method")
    asked = read_formula(formula)
    with opened(runs, where) as listed:
        steps = read_steps(listed, asked)
    family = _family(steps, asked.response, method)
    made = design(steps, asked, baseline)
    y = steps.columns[asked.response]
    clusters = int(steps.clusters.max()) + 1
    if clusters < 2:
        raise TomevalError(
            f"--formula: only one cluster of {asked.group}, so standard errors are undefined; play "
            "more episodes or name another group"
        )
    fit = _gee(y, made, steps.clusters, family)
    notes = [*steps.notes, *made.notes, *fit.notes]
    standard = Standard(fit.error, fit.freedom)
    low, high = t_interval(fit.estimate, standard)
    bare = fit.freedom < 2 if clusters >= FEWEST else np.ones(len(low), dtype=bool)
    low, high = np.where(bare, np.nan, low), np.where(bare, np.nan, high)
    p = np.where(bare, np.nan, t_test(fit.estimate, standard))
    if clusters < FEWEST:
        notes.append(f"no intervals: at least {FEWEST} clusters are needed, there are {clusters}")
    elif bare.any():
        some = ", ".join(name for name, no in zip(made.names, bare, strict=True) if no)
        notes.append(f"no interval for {some}: too few clusters")
    with np.errstate(invalid="ignore", divide="ignore"):
        t = fit.estimate / fit.error
    corrected = np.concatenate([p[:1], holm(p[1:])])
    numbers = (fit.estimate, fit.error, low, high, t, fit.freedom, p, corrected)
    counts = (len(y), int(steps.episodes.max()) + 1, clusters)
    told = (asked.group, made.baselines, tuple(notes))
    head = (str(asked), method, family, tuple(made.names))
    return Regression(*head, *numbers, fit.correlation, *counts, *told)


def _family(steps: Steps, response: str, method: str) -> str:
    """Return the family of a response; raise if it is a text or does not vary."""
    y = steps.columns[response]
    if y.dtype == object:
        raise TomevalError(
            f"--formula: {response} is a text; a response is a number, such as regret or correct"
        )
    if np.ptp(y) <= FLAT * np.abs(y).max():
        raise TomevalError(f"--formula: {response} is {y[0]:g} in every step: nothing to explain")
    yes_no = (response in steps.whole or response == "correct") and set(np.unique(y)) == {0.0, 1.0}
    return "binomial" if yes_no and method == "gee" else "gaussian"


def _gee(y: FloatArray, made: Design, clusters: IntArray, family: str) -> Fit:
    """Solve the estimating equations, and correct their sandwich for few clusters."""
    if family == "binomial":
        _check_outcomes(y, made)
    size = float(np.abs(y).max()) if family == "gaussian" else 1.0
    order = np.argsort(clusters, kind="stable")
    solved = solve(y[order] / size, made.matrix[order], clusters[order], family)
    if np.abs(solved.residual).max() <= FLAT:
        raise TomevalError("the terms fit every step exactly: there is no error to estimate")
    covariance, freedom = sandwich(solved.x, solved.residual, clusters[order], solved.rho)
    error = np.sqrt(np.diag(covariance)) * size
    notes = [] if solved.exchangeable else ["no exchangeable correlation fits: zero is assumed"]
    return Fit(solved.estimate * size, error, freedom, solved.rho, notes)


def _check_outcomes(y: FloatArray, made: Design) -> None:
    """Raise if a response of 0 and 1 is always the same where a 0/1 column of the design is 1."""
    for name, column in zip(made.names, made.matrix.T, strict=True):
        if set(np.unique(column)) == {0.0, 1.0} and len(set(y[column == 1].tolist())) < 2:
            raise separated(name, y[column == 1][0])
    others = [c for n, c in zip(made.names, made.matrix.T, strict=True) if "[" in n]
    first = ~np.any([c != 0 for c in others], axis=0) if others else np.zeros(len(y), dtype=bool)
    if first.any() and len(set(y[first].tolist())) < 2:
        raise separated("the baseline", y[first][0])
