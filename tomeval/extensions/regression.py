"""Regression on single steps: statsmodels' estimating equations on clusters of episodes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy import log as log  # for formulas

from tomeval.comparing.sides import Runs, opened, read_sides
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import Compared
from tomeval.report.exporting import framed
from tomeval.runs.results import Run, iterate_export
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.paired import Standard, t_quantile

if TYPE_CHECKING:
    import pandas as pd

_NAME = r"[A-Za-z_]\w*"
_FACTOR = rf"\s*(?:{_NAME}|(?:log|C)\({_NAME}\))\s*"
_FORMULA = re.compile(rf"\s*{_NAME}\s*~{_FACTOR}(?:[+:*]{_FACTOR})*", re.ASCII)
"""What may stand in a formula: patsy runs what it reads."""


def regress(runs: Runs, formula: str) -> pd.DataFrame:
    """Regress a column of the step table on others, by logit if it is 0 or 1.

    Parameters
    ----------
    runs : Run, path, or sequence of these
        Of one domain.
    formula : str
        As ``"regret ~ subject * log(step)"``: columns, ``log(column)``, ``C(column)`` for numbers
        as categories, between ``+``, ``:`` and ``*``.

    Returns
    -------
    DataFrame
        A row per term: ``estimate``, of a 0/1 response in log-odds; ``error``, its standard error;
        ``low`` and ``high``, Student's 95 % interval with clusters - 1 degrees of freedom, NaN with
        fewer than five clusters. In ``attrs``, lines of text: ``heading`` and ``notes``.

    Notes
    -----
    Clusters are the sampling units of comparisons: episodes that met the same chance are one,
    whoever played; of recorded games a person's. Working correlation: exchangeable (Liang and Zeger
    1986). Standard errors: Mancl and DeRouen 2001, rather too large with few clusters.
    """
    import pandas as pd

    if not _FORMULA.fullmatch(formula):
        raise TomevalError(
            f"--formula {formula[:200]!r}: write RESPONSE ~ TERM + TERM * TERM of columns, "
            "log(column) and C(column), as in regret ~ subject * log(step)"
        )
    names = list(dict.fromkeys(re.findall(r"\w+(?![\w(])", formula)))
    with opened(runs) as listed:
        frame, left = _steps(listed, names)
    y = frame[names[0]]
    if y.dtype.kind not in "if" or y.nunique() < 2:
        raise TomevalError(f"--formula: {y.name} is a text, or the same in every step")
    binary = (y.dtype.kind == "i" or y.name == "correct") and set(y) == {0, 1}
    size = 1.0 if binary else float(y.abs().max())  # so that convergence is that of any unit
    fit = fit_steps(formula, frame.assign(**{names[0]: y / size}), binary)
    table = pd.DataFrame({"estimate": size * fit.params, "error": size * fit.bse})
    table.index = table.index.str.replace("[T.", "[", regex=False)
    clusters = frame["cluster"].nunique()
    standard = Standard(table["error"].to_numpy(), np.full(len(table), clusters - 1.0))
    half = t_quantile(standard) * standard.error
    table["low"], table["high"] = table["estimate"] - half, table["estimate"] + half
    notes = [f"left out: {left:,} steps of incomplete episodes or without a value"] * (left > 0)
    if clusters < FEWEST:
        table[["low", "high"]] = np.nan
        notes.append(f"no intervals: at least {FEWEST} clusters are needed, there are {clusters}")
    model = "logit, in log-odds" if binary else "linear"
    heading = [f"{formula.strip()}: {len(frame):,} steps in {clusters:,} clusters; {model}"]
    table.attrs |= {"heading": heading, "notes": notes}
    return table


def _steps(runs: Sequence[Run], names: Sequence[str]) -> tuple[pd.DataFrame, int]:
    """Return columns of the steps that have them all, with their ``cluster``, and how many lack."""
    import pandas as pd

    units: dict[tuple[str, int, int], tuple[Any, ...]] = {}
    for side in read_sides(runs, None, []):  # which refuses what cannot stand in one table
        cell, same, labels = side.cell, (*side.draws, side.seed), side.cell.clusters
        if cell.people is not None:
            same, labels = ("person",), cell.people
        elif cell.recorded:
            same = (side.run, cell.number)
        for episode, label in zip(cell.episodes.tolist(), labels.tolist(), strict=True):
            units[side.run, cell.number, episode] = (*same, label)
    frames = []
    for run in runs:
        columns, rows = iterate_export(run, "steps")
        frame = framed(columns, rows).assign(run=run.folder.name)
        for name in names:
            if name not in frame:
                raise unknown("column", name, frame.columns, "--formula")
        places = zip(frame["cell"], frame["episode"], strict=True)
        frame["cluster"] = pd.Series([units.get((str(run.folder), *place)) for place in places])
        frames.append(frame[[*names, "cluster"]])
    every = pd.concat(frames)
    frame = every.dropna()
    if frame.empty:
        raise TomevalError(f"--formula: no step of a complete episode has {', '.join(names)}")
    for name in names:  # levels in the order of the runs
        values = frame[name]
        numbers = pd.api.types.is_numeric_dtype(values)
        frame[name] = values.to_numpy() if numbers else pd.Categorical(values, values.unique())
    frame["cluster"], _ = pd.factorize(frame["cluster"])
    return frame.sort_values("cluster", kind="stable"), len(every) - len(frame)


def fit_steps(text: str, frame: pd.DataFrame, binary: bool) -> Any:
    """Return statsmodels' fit of a formula, by logit if `binary`, if its numbers mean something.

    Rows are sorted by ``cluster``.
    """
    from statsmodels.genmod import cov_struct, families
    from statsmodels.genmod.generalized_estimating_equations import GEE

    family = families.Binomial() if binary else families.Gaussian()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what they say is checked here
        for structure in (cov_struct.Exchangeable(), cov_struct.Independence()):
            model = GEE.from_formula(text, "cluster", frame, family=family, cov_struct=structure)
            x, groups = model.exog, model.group_indices.values()
            if not np.isfinite(x).all():
                raise TomevalError("--formula: a logarithm of values that are not above 0")
            x = x / np.maximum(np.linalg.norm(x, axis=0), 1e-300)
            for own in (np.empty((0, x.shape[1])), *(x[at] for at in groups)):
                if np.linalg.eigvalsh(x.T @ x - own.T @ own)[0] < 1e-12:
                    raise TomevalError("--formula: terms are collinear, or hang on one cluster")
            fit = model.fit(cov_type="bias_reduced")
            lowest = -1 / max(1, *(len(at) - 1 for at in groups))
            if fit.converged and lowest < (structure.dep_params or 0) < 1:
                break
    separate = binary and np.abs(model.exog @ fit.params).max() > 15  # as good as infinite log-odds
    exact = np.abs(fit.resid).max() <= 1e-10
    if separate or exact or not (fit.converged and np.isfinite(fit.bse).all()):
        raise TomevalError("--formula: no error is left, or no convergence: use fewer terms")
    return fit


def _table(
    runs: Sequence[Run], options: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """Return a row per term, the lines above them, and notes."""
    table = regress(runs, options["formula"] or "")
    rows = table.rename_axis("term").reset_index().to_dict("records")
    return cast("list[dict[str, Any]]", rows), table.attrs["heading"], table.attrs["notes"]


REGRESSION = Compared(_table, ("--formula",))
