"""The table of ``tomeval compare --what regression``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.extensions import Compared
from tomeval.core.numbers import decimals, fixed, interval, p_text
from tomeval.extensions.regression.formula import EPISODE, FORM
from tomeval.extensions.regression.model import Regression, regress
from tomeval.report.comparisons import READ
from tomeval.runs.results import Run

Table = tuple[list[dict[str, Any]], list[str], list[str]]

_MODEL = (
    "estimating equations, {family}, exchangeable working correlation {rho}; errors: "
    "cluster-robust, corrected for few clusters (Kauermann and Carroll)"
)


def regression_table(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    """Return a row per term, the lines above them, and notes."""
    if not options["formula"]:
        raise TomevalError(f"--what regression needs a --formula: {FORM}")
    fit = regress(runs, options["formula"], options["method"] or "gee", options["baseline"])
    rows = fit.rows()
    if options["form"] in READ:
        rows = [_read(row) for row in rows]
    return rows, _above(fit), list(fit.notes)


def _above(fit: Regression) -> list[str]:
    group = "with the same random draws" if fit.group == EPISODE else f"by {fit.group}"
    units = "clusters of episodes" if fit.group == EPISODE else "clusters"
    gaussian = "gaussian" if fit.method == "gee" else "linear"
    model = _MODEL.format(
        family="binomial (logit)" if fit.family == "binomial" else gaussian,
        rho=f"{fit.correlation:.2g}",
    )
    bases = [f"{name} {level!r}" for name, level in fit.baselines.items()]
    return [
        f"{fit.formula}: {fit.steps:,} steps, {fit.episodes:,} episodes, {fit.clusters:,} {units} "
        f"{group}",
        f"{model}; 95 % interval and p: Student t with df degrees of freedom"
        + ("; estimates in log-odds" if fit.family == "binomial" else ""),
        *([f"against {', '.join(bases)}"] if bases else []),
    ]


def _read(row: dict[str, Any]) -> dict[str, str]:
    half = (row["high"] - row["low"]) / 2
    digits = decimals([half if half == half else row["error"]], most=6)
    return {
        "term": row["term"],
        "estimate": interval(row["estimate"], row["low"], row["high"], digits, symmetric=True),
        "SE": fixed(row["error"], digits + 1),
        "t": fixed(row["t"], 2),
        "df": fixed(row["freedom"], 1),
        "p": p_text(row["p"]),
        "p (Holm)": p_text(row["p_holm"]),
    }


REGRESSION = Compared(regression_table, ("--formula", "--method", "--baseline"))
