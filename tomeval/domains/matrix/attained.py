"""Scores of an episode from 0 to 1: what was attained of the attainable, what was foreseen."""

from __future__ import annotations

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.bounds import all_the_same, ends
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.results import matrix_cell
from tomeval.runs.cell import RunCell


def predicted_right(cell: RunCell) -> FloatArray:
    """Return ToM % / 100 of each complete episode, shape (E,)."""
    return cell.totals("tom_percent").values / 100


def attained(cell: RunCell) -> FloatArray:
    """Return the share of what is attainable that each complete episode attained, shape (E,).

    (reward - worst) / (best - worst), both exact for the episode's own partner and horizon: 0 is
    the worst and 1 the best that can be expected, in every game. Chance in a stochastic partner can
    carry an episode outside. Raises `TomevalError` if every policy earns the same.
    """
    played = matrix_cell(cell).played
    if not played.partners:
        raise TomevalError(f"{cell.name}: the partner is unknown, so the attainable range is too")
    partners, weights = played.opponents()
    table = np.column_stack([weights, played.lengths])
    kinds, inverse = np.unique(table, axis=0, return_inverse=True)
    between = np.zeros((len(kinds), 2))
    for kind, (*shares, length) in enumerate(kinds.tolist()):
        for k in np.flatnonzero(shares).tolist():
            worst_and_best = ends(played.game, partners[k], int(length))
            if all_the_same(*worst_and_best):
                raise TomevalError(
                    f"game {played.game.name}, partner {partners[k].name}: every policy earns the "
                    "same, so no share of the attainable range is defined"
                )
            between[kind] += shares[k] * np.array(worst_and_best)
    low, high = between[inverse.ravel()].T
    result: FloatArray = (cell.totals("reward_per_step").values - low) / (high - low)
    return result


def is_attainable(cell: RunCell) -> bool:
    """Tell whether against every partner of a cell some policy earns more than another."""
    task = matrix_cell(cell)
    if not task.partners:
        return False
    if not task.recorded:
        pairs = [(partner, cell.definition["horizon"]) for partner in task.partners]
    else:
        lengths = set(task.played.lengths.tolist())
        pairs = [(one, length) for one in task.played.opponents()[0] for length in lengths]
    return not any(all_the_same(*ends(task.game, *pair)) for pair in pairs)
