"""Scores of an episode from 0 to 1: what was attained of the attainable, what was foreseen."""

from __future__ import annotations

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.optima import best_response, worst_response
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.results import MatrixRunCell
from tomeval.runs.results import RunCell


def predicted_right(cell: RunCell) -> FloatArray:
    """Return ToM % / 100 of each complete episode."""
    return cell.totals("tom_percent").values / 100


def attained(cell: RunCell) -> FloatArray:
    """Return which share of what is attainable each complete episode attained, shape (E,).

    (reward - worst) / (best - worst), both exact for the episode's own partner and horizon: 0 is
    the worst and 1 the best that can be expected, in every game. Chance in a stochastic partner
    can carry an episode outside.

    Raises
    ------
    TomevalError
        Every policy earns the same.
    """
    assert isinstance(cell, MatrixRunCell)
    game, horizon = cell.game, cell.definition["horizon"]
    ends = np.full((len(cell.partners), 2), np.nan)
    for index in np.unique(cell.which):
        partner = cell.partners[index]
        worst = worst_response(game, partner, horizon).value / horizon
        best = best_response(game, partner, horizon).value / horizon
        if best - worst <= 1e-12 * max(1.0, abs(best)):
            raise TomevalError(
                f"game {game.name}, partner {partner.name}: every policy earns the same, so there "
                "is no share of what is attainable"
            )
        ends[index] = worst, best
    low, high = ends[cell.which].T
    found: FloatArray = (cell.totals("reward_per_step").values - low) / (high - low)
    return found
