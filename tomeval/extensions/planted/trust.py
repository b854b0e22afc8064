"""What statements of known accuracy are worth in a game, exactly: when to follow them, and how."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.responses import (
    ROUNDING,
    best_responses,
    gains,
    rational_responses,
    stepwise_regret,
)

FloatArray = NDArray[np.float64]


def contrast(game: MatrixGame) -> FloatArray:
    """Return what an action tells of which statement it follows, shape (n, m), from -1 to 1.

    ``[a, s]`` is 1 if a is a best response to s and to nothing else, less the share of the other
    statements that a is a best response to: 0 for an action that is best against everything.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> contrast(get_game("RPS"))[1].tolist()
    [1.0, -0.5, -0.5]
    >>> contrast(get_game("IPD")).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    best = best_responses(game).astype(np.float64)
    others = best.sum(axis=1, keepdims=True) - best
    telling: FloatArray = best - others / (game.m - 1)
    return telling


def misleads(game: MatrixGame) -> NDArray[np.bool_]:
    """Tell which actions are best against what is stated and not against what is played.

    Shape (n, m, m): ``[action, stated, actual]``.
    """
    best = best_responses(game)
    wrong: NDArray[np.bool_] = best[:, :, None] & ~best[:, None, :]
    return wrong


def slope_ceiling(game: MatrixGame) -> float:
    """Return the largest use slope that anybody can have in a game: of one who always follows.

    0 where every statement has the same best responses, so that following shows in nothing.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> slope_ceiling(get_game("RPS")), slope_ceiling(get_game("IPD"))
    (1.0, 0.0)
    """
    return float(contrast(game).max(axis=0).mean())


def rational_regret(game: MatrixGame, accuracy: float) -> FloatArray:
    """Return the stepwise regret of a rational believer, shape (m, m): ``[stated, actual]``.

    In payoff units; tied actions count by their mean.
    """
    policy = rational_responses(game, accuracy).astype(np.float64)
    policy /= policy.sum(axis=0)
    regret: FloatArray = policy.T @ stepwise_regret(game)
    return regret


def trust_threshold(game: MatrixGame) -> float:
    """Return the least accuracy from which always following statements pays.

    That is where one who always plays a best response to what is stated earns as much in
    expectation as the best single action does, all partner actions being equally probable: with F
    what following earns (linear in the accuracy) and I what the best single action earns, the
    solution of F = I. From 1/m, where statements say nothing, to 1. NaN if knowing the partner's
    action earns no more than not knowing it.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> round(trust_threshold(get_game("RPS")), 4), round(trust_threshold(get_game("IBS")), 4)
    (0.3333, 0.5882)
    >>> trust_threshold(get_game("IPD"))
    nan
    """
    above = gains(game)
    known = float(above.max(axis=0).mean())
    ignoring = float(above.mean(axis=1).max())
    if known - ignoring <= ROUNDING * float(above.max()):
        return math.nan
    others = (above.sum(axis=1, keepdims=True) - above) / (game.m - 1)
    misled = float(np.where(best_responses(game), others, -np.inf).max(axis=0).mean())
    return (ignoring - misled) / (known - misled)
