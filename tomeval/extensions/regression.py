"""Regression on single steps: statsmodels' estimating equations on clusters of episodes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import log as log  # for formulas

from tomeval.comparing.sides import Runs, Side, opened, read_sides
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.numbers import decimals, fixed, interval, p_text
from tomeval.core.parts import Compared
from tomeval.report.comparisons import READ
from tomeval.report.exporting import kinds_of
from tomeval.runs.results import Run, iterate_export
from tomeval.statistics.bounded import FEWEST
from tomeval.statistics.paired import Standard, holm, t_interval, t_test

if TYPE_CHECKING:
    import pandas as pd

_NAME = r"[A-Za-z_]\w*"
_FACTOR = rf"\s*(?:{_NAME}|(?:log|C)\({_NAME}\))\s*"
_FORMULA = re.compile(rf"\s*{_NAME}\s*~{_FACTOR}(?:[+:*]{_FACTOR})*", re.ASCII)
"""What may stand in a formula: patsy runs what it reads."""

FORM = "write RESPONSE ~ TERM + TERM * TERM, as in regret ~ subject * log(step)"
_MOST = 100  # values of a category: a text with more is a name
_LARGEST = 3000  # steps of a cluster; statsmodels inverts a matrix of this size


class Regression(NamedTuple):
    """A row per term, in a few lines what was regressed on what, and notes.

    Columns of `table`: ``estimate``, in the response's unit, of a 0/1 response in log-odds;
    ``error``, its standard error; ``low`` and ``high``, Student's 95 % interval with ``freedom``
    degrees of freedom, clusters - 1; ``t``; ``p``, two-sided, and ``p_holm``, corrected for all
    terms but the intercept. With fewer than five clusters there are neither intervals nor p (NaN).
    """

    table: pd.DataFrame
    heading: list[str]
    notes: list[str]


def regress(runs: Runs, formula: str, where: Sequence[str] = ()) -> Regression:
    """Regress a column of the step table on others, by logit if it is 0 or 1.

    Parameters
    ----------
    runs : Run, path, or sequence of these
        Of one domain.
    formula : str
        As ``"regret ~ subject * log(step)"``: columns, ``log(column)``, ``C(column)`` for numbers
        as categories, between ``+``, ``:`` and ``*``. Clusters are the sampling units of
        comparisons: episodes that met the same chance are one, whoever played; of recorded games a
        person's.
    where : sequence of str
        Conditions on cells, for runs that are not open yet.

    Raises
    ------
    TomevalError
        A formula that cannot be read, an unknown column; a response that is a text or does not
        vary; terms that cannot be told apart, or leave no error; a 0/1 response without finite
        log-odds; no convergence; a cluster of more than 3,000 steps.

    Notes
    -----
    Working correlation: exchangeable (Liang and Zeger 1986). Standard errors: Mancl and DeRouen
    2001, rather too large than too small with few clusters.
    """
    import pandas as pd

    if not _FORMULA.fullmatch(formula) or formula.count("*") > 6:
        text = f"{FORM}, of columns, log(column), C(column) and at most six products"
        raise TomevalError(f"--formula {formula[:200]!r}: {text}")
    names = list(dict.fromkeys(re.findall(r"\w+(?![\w(])", formula)))
    with opened(runs, where) as listed:
        frame, left = _steps(listed, names)
        [kind] = kinds_of(listed[0], "steps", names[:1])
    y = frame[names[0]]
    if y.dtype.kind not in "iuf" or np.ptp(y) <= 1e-10 * y.abs().max():
        raise TomevalError(f"--formula: {y.name} is a text, or the same in every step")
    bases = []
    for name in frame[names].select_dtypes(exclude="number"):  # levels in the order of the runs
        levels = frame[name].replace("", "none")
        frame[name] = pd.Categorical(levels, levels.unique())
        if not 1 < (count := len(frame[name].cat.categories)) <= _MOST:
            raise TomevalError(f"--formula: {name} has {count:,} values, not 2 to {_MOST}")
        bases.append(str(levels.iloc[0]))
    binary = (kind == "INTEGER" or y.name == "correct") and set(y) == {0, 1}
    size = 1.0 if binary else float(y.abs().max())  # so that convergence is that of any unit
    fit = fit_steps(formula, frame.assign(**{names[0]: y / size}), binary)
    clusters = frame["cluster"].nunique()
    estimate, error = size * fit.params, size * fit.bse
    standard = Standard(error.to_numpy(), np.full(len(error), clusters - 1.0))
    table = pd.DataFrame({"estimate": estimate, "error": error})
    table["low"], table["high"] = t_interval(estimate.to_numpy(), standard)
    table["t"], table["freedom"] = estimate / error, clusters - 1
    table["p"] = t_test(estimate.to_numpy(), standard)
    notes = [f"left out: {left:,} steps of incomplete episodes or without a value"] * (left > 0)
    if clusters < FEWEST:
        table[["low", "high", "p"]] = np.nan
        notes.append(f"no intervals: at least {FEWEST} clusters are needed, there are {clusters}")
    table["p_holm"] = [table["p"].iloc[0], *holm(table["p"].iloc[1:])]
    table.index = table.index.str.replace("[T.", "[", regex=False)
    heading = [f"{formula.strip()}: {len(frame):,} steps in {clusters:,} clusters"]
    heading += [f"{'logit, in log-odds' if binary else 'linear'}, against {', '.join(bases) or 0}"]
    return Regression(table, heading, notes)


def _steps(runs: Sequence[Run], names: Sequence[str]) -> tuple[pd.DataFrame, int]:
    """Return columns of the steps that have them all, with their ``cluster``, and how many lack."""
    import pandas as pd

    units = _units(read_sides(runs, None, []))  # which refuses what cannot stand in one table
    picked = []
    for run in runs:
        columns, rows = iterate_export(run, "steps")
        columns = [*columns, "run"]
        for name in names:
            if name not in columns:
                raise unknown("column", name, columns, "--formula")
        at = [columns.index(name) for name in (*names, "cell", "episode")]
        for row in ((*row, run.folder.name) for row in rows):
            *values, cell, episode = (row[i] for i in at)
            picked.append((*values, units.get((str(run.folder), cell, episode))))
    read = pd.DataFrame(picked, columns=[*names, "cluster"])
    frame = read.dropna().infer_objects()
    if frame.empty:
        raise TomevalError(f"--formula: no step of a complete episode has {', '.join(names)}")
    frame["cluster"], _ = pd.factorize(frame["cluster"])
    return frame.sort_values("cluster", kind="stable"), len(read) - len(frame)


def _units(sides: Sequence[Side]) -> dict[tuple[str, int, int], tuple[Any, ...]]:
    """Return by run, cell and number every complete episode's sampling unit."""
    units: dict[tuple[str, int, int], tuple[Any, ...]] = {}
    for side in sides:
        cell, same = side.cell, (*side.draws, side.seed)
        labels = cell.clusters
        if cell.people is not None:
            same, labels = ("person",), cell.people
        elif cell.recorded:
            same = (side.run, cell.number)
        for episode, label in zip(cell.episodes.tolist(), labels.tolist(), strict=True):
            units[side.run, cell.number, episode] = (*same, label)
    return units


def fit_steps(text: str, frame: pd.DataFrame, binary: bool) -> Any:
    """Return statsmodels' fit of a formula, by logit if `binary`; ``cluster`` is sorted.

    Raises
    ------
    TomevalError
        Its numbers would mean nothing, see `regress`.
    """
    from patsy import PatsyError
    from statsmodels.genmod import cov_struct, families
    from statsmodels.genmod.generalized_estimating_equations import GEE

    largest = int(frame["cluster"].value_counts().max())
    if largest > _LARGEST:
        raise TomevalError(f"--formula: a cluster of {largest:,} steps, at most {_LARGEST:,}")
    family = families.Binomial() if binary else families.Gaussian()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # what they say is checked here
            for structure in (cov_struct.Exchangeable(), cov_struct.Independence()):
                made = {"family": family, "cov_struct": structure}
                model = GEE.from_formula(text, "cluster", frame, **made)
                _check_design(model)
                fit = model.fit(cov_type="bias_reduced")
                if fit.converged and -1 / max(largest - 1, 1) < (structure.dep_params or 0) < 1:
                    break
    except (PatsyError, ValueError, np.linalg.LinAlgError) as error:
        said = " ".join(str(error).split())[:200]
        raise TomevalError(f"--formula: cannot be fitted: {said}") from None
    separate = binary and np.abs(model.exog @ fit.params).max() > 15  # as good as infinite log-odds
    exact = np.abs(fit.resid).max() <= 1e-10
    if separate or exact or not (fit.converged and np.isfinite(fit.bse).all()):
        raise TomevalError("--formula: no error is left, or no convergence: use fewer terms")
    return fit


def _check_design(model: Any) -> None:
    """Raise if terms are collinear, or would be without one of the clusters."""
    if not np.isfinite(model.exog).all():
        raise TomevalError("--formula: a logarithm of values that are not above 0")
    x = model.exog / np.maximum(np.linalg.norm(model.exog, axis=0), 1e-300)
    for mine in (np.empty((0, x.shape[1])), *(x[at] for at in model.group_indices.values())):
        if np.linalg.eigvalsh(x.T @ x - mine.T @ mine)[0] < 1e-12:
            raise TomevalError("--formula: terms are collinear, or hang on a single cluster")


def regression_table(
    runs: Sequence[Run], options: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """Return a row per term, the lines above them, and notes."""
    if not options["formula"]:
        raise TomevalError(f"--what regression needs a --formula: {FORM}")
    fit = regress(runs, options["formula"])
    table = fit.table.rename_axis("term").reset_index()
    rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    if options["form"] in READ:
        rows = [_shown(row) for row in rows]
    return rows, fit.heading, fit.notes


def _shown(row: dict[str, Any]) -> dict[str, str]:
    half = (row["high"] - row["low"]) / 2
    digits = decimals([half if half == half else row["error"]], most=6)
    return {
        "term": row["term"],
        "estimate": interval(row["estimate"], row["low"], row["high"], digits, symmetric=True),
        "SE": fixed(row["error"], digits + 1),
        "p": p_text(row["p"]),
        "p (Holm)": p_text(row["p_holm"]),
    }


REGRESSION = Compared(regression_table, ("--formula",))
