"""Audit published results: find rows that cannot be true, whatever the subject was.

    python experiments/audit.py [RESULTS.csv]

Default: the numbers of Riemer et al. 2025 that ship. Exit code 1 if there is any such row. What it
judges, and what it finds, is in docs/reproducing.md.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped_path, shown_path
from tomeval.games.matrix.bounds import regret_limits
from tomeval.games.matrix.games import MatrixGame, get_game
from tomeval.games.matrix.optima import REFERENCES
from tomeval.games.matrix.partner_specs import get_partner_set
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.published import (
    COLUMNS,
    FUNCTIONAL,
    LITERAL,
    TOM,
    read_results,
)
from tomeval.games.matrix.responses import RULES, misjudgement_cost

AUDITED = (FUNCTIONAL, TOM, LITERAL)


@dataclass(frozen=True)
class Range:
    """A closed range of numbers."""

    low: float
    high: float

    @classmethod
    def of(cls, text: str) -> Range:
        """Return what a printed number may have been before rounding: ± half its last digit."""
        number = Decimal(text)
        exponent = number.as_tuple().exponent
        half = Decimal(5).scaleb(int(exponent) - 1)
        return cls(float(number - half), float(number + half))

    def apart(self, other: Range) -> bool:
        """Tell whether the two have no number in common, beyond rounding of the arithmetic."""
        slack = 1e-9 * max(1.0, abs(self.low), abs(self.high))
        return self.low > other.high + slack or self.high < other.low - slack

    def __str__(self) -> str:
        """Return the range with four decimals."""
        return f"{self.low:.4f} to {self.high:.4f}"


def judge(
    path: str | Path, horizon: int = 100
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of a results file that cannot be true, and how many each rule can produce.

    Parameters
    ----------
    path : path
        A CSV with the columns `COLUMNS`, one number per row; rows of other metrics than `AUDITED`
        are not judged.
    horizon : int
        Steps per episode of the results.

    Returns
    -------
    list of dict
        The row's own columns plus ``reason``, once per ground:

        - ΔFunctional/T outside what any policy can reach against the partners, with the exact
          T-step or the stationary optimum as reference, whichever is wider. Episodes draw
          their partner, so the bounds are the widest over the partners of the set; a stochastic
          partner may fall any way it can.
        - ΔToM/T outside what the same cell's share of mispredictions can cost under each of the
          rules of `tomeval.games.matrix.responses.misjudgement_cost`.

        Every printed number stands for all numbers that round to it.
    list of dict
        A row per game and partner: ``rows`` that have both ΔToM/T and ToM %, and for every rule how
        many of them it fits. A row can fit several rules.

    Raises
    ------
    TomevalError
        A missing column, an unknown game or partner, text in place of a number: with the line.
    """
    path = shipped_path(path, "results", ".csv")
    rows = read_results(path)
    literal = {
        tuple(row[name] for name in COLUMNS[:5]): row["mean"]
        for row in rows
        if row["metric"] == LITERAL
    }
    tasks: dict[tuple[str, str], tuple[Range, dict[str, Range]]] = {}
    fits: dict[tuple[str, str], dict[str, Any]] = {}
    reports = []
    for row in rows:
        if row["metric"] not in AUDITED:
            continue
        key = (row["game"], row["partner"])
        if key not in tasks:
            game, partners = _task(path, row)
            tasks[key] = _regrets(game, partners, horizon), _costs(game, partners)
        regret, costs = tasks[key]
        reason = ""
        if row["metric"] == FUNCTIONAL and Range.of(row["mean"]).apart(regret):
            reason = (
                f"ΔFunctional/T {row['mean']} is not attainable: against {row['partner']} in "
                f"{row['game']} every policy lies in {regret}"
            )
        if row["metric"] == LITERAL and Range.of(row["mean"]).apart(Range(0.0, 100.0)):
            reason = f"ToM % {row['mean']} is not between 0 and 100"
        if row["metric"] == TOM and (tom := literal.get(tuple(row[name] for name in COLUMNS[:5]))):
            count = fits.setdefault(
                key, {"game": key[0], "partner": key[1], "rows": 0, **dict.fromkeys(RULES, 0)}
            )
            count["rows"] += 1
            fitting = _fitting(row["mean"], tom, costs)
            for rule in fitting:
                count[rule] += 1
            reason = "" if fitting else _misfit(row, tom, costs)
        if reason:
            reports.append(_report(row, reason))
    return reports, list(fits.values())


def _fitting(mean: str, tom: str, costs: Mapping[str, Range]) -> list[str]:
    """Return the rules under which a printed ΔToM/T fits a printed ToM %."""
    said = Range.of(mean)
    return [rule for rule, cost in costs.items() if not said.apart(_possible(tom, cost))]


def _possible(tom: str, cost: Range) -> Range:
    """Return what ΔToM/T can be at a printed ToM %, if a wrong prediction costs this much."""
    percent = Range.of(tom)
    errors = Range(max(0.0, 1 - percent.high / 100), max(0.0, 1 - percent.low / 100))
    return Range(cost.low * errors.low, cost.high * errors.high)


def _misfit(row: dict[str, str], tom: str, costs: Mapping[str, Range]) -> str:
    """Say what a wrong prediction would have to cost, and what it costs under each rule."""
    share = 1 - float(tom) / 100
    per_error = f"{float(row['mean']) / share:.2f}" if share > 0 else "without bound"
    rules = "; ".join(
        f"{cost} under {rule}, which puts ΔToM/T in {_possible(tom, cost)}"
        for rule, cost in costs.items()
    )
    return (
        f"ΔToM/T {row['mean']} at ToM % {tom} means {per_error} per misprediction; in "
        f"{row['game']} against {row['partner']} one costs {rules}"
    )


def _task(path: Path, row: dict[str, str]) -> tuple[MatrixGame, PartnerSet]:
    """Return the game and the partners that a row names."""
    try:
        game = get_game(row["game"])
        return game, get_partner_set(row["partner"], game)
    except TomevalError as error:
        raise TomevalError(f"{shown_path(path)}, line {row['line']}: {error}") from None


def _costs(game: MatrixGame, partners: PartnerSet) -> dict[str, Range]:
    """Return by rule what a wrong prediction can cost, over the moves that partners can make."""
    played = np.any([(p.emissions > 0).any(axis=0) for p in partners.partners], axis=0)
    wrong = ~np.eye(game.m, dtype=bool) & played  # [predicted, actual]
    costs = {rule: misjudgement_cost(game, rule)[wrong] for rule in RULES}
    return {rule: Range(float(cost.min()), float(cost.max())) for rule, cost in costs.items()}


def _regrets(game: MatrixGame, partners: PartnerSet, horizon: int) -> Range:
    """Return the range of ΔFunctional/T in a cell, by whichever optimum it is measured from."""
    tables = partners.partners
    limits = [regret_limits(game, tables, horizon, one)[FUNCTIONAL] for one in REFERENCES]
    return Range(min(low for low, _ in limits), max(high for _, high in limits))


def _report(row: dict[str, str], reason: str) -> dict[str, Any]:
    """Return the row's own columns, numbers as numbers, and the reason."""
    result: dict[str, Any] = {name: text for name, text in row.items() if name != "line"}
    for name in ("mean", "ci95"):
        result[name] = float(row[name]) if row[name] else None
    return result | {"reason": reason}


def main(results: str = "reported_results") -> None:
    """Print what cannot be true, and how many rows each rule can produce."""
    rows, fits = judge(results)
    for row in rows:
        where = ", ".join(str(row[key]) for key in ("model", "prompting", "game", "partner"))
        print(f"table {row['table']}: {where}: {row['metric']}\n  {row['reason']}")
    print(f"{len(rows)} rows cannot be true\n\nΔToM/T that each rule can produce:")
    for fit in fits:
        print(", ".join(f"{name} {value}" for name, value in fit.items()))
    sys.exit(bool(rows))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except TomevalError as error:
        sys.exit(f"audit: {error}")
