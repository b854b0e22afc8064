"""What machines are worth to a player: those that are known, and those known within limits."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tomeval.domains.matrix.fitted.memory import Contexts
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.responses import gains


def exact_limits(counts: FloatArray, error: float) -> tuple[FloatArray, FloatArray]:
    """Return limits of the probabilities of each action in each context, shape (S, m) each.

    Those of Clopper and Pearson (1934): in a context they miss any of its probabilities with
    probability `error` at most. `counts` has the shape (S, m); what was never seen is anything.

    Examples
    --------
    Always the first of two actions, 18 times and never:

    >>> low, high = exact_limits(np.array([[18.0, 0.0], [0.0, 0.0]]), 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([[0.815, 0.0], [0.0, 0.0]], [[1.0, 0.185], [1.0, 1.0]])
    """
    from scipy.special import betaincinv

    m = counts.shape[1]
    tail = error / 2 / (1 if m == 2 else m)  # of two actions one pair of limits is the other's
    others = counts.sum(axis=1, keepdims=True) - counts
    with np.errstate(invalid="ignore"):
        low = np.where(counts > 0, betaincinv(counts, others + 1, tail), 0.0)
        high = np.where(others > 0, betaincinv(counts + 1, others, 1 - tail), 1.0)
    return low, high


def rewards(
    game: MatrixGame,
    table: Contexts,
    probs: FloatArray,
    horizon: int,
    policy: FloatArray | None = None,
) -> FloatArray:
    """Return the expected reward per step against known machines, by length of the episode.

    Parameters
    ----------
    probs : ndarray, shape (F, S, m)
        What the other does in each context, for F machines.
    policy : ndarray, shape (S, n), optional
        What the player does there. Default: the best reply.

    Returns
    -------
    ndarray, shape (F, T + 1)
        Per step of episodes of 0, 1, ..., T steps; that of 0 steps is NaN.
    """
    gain, least = gains(game), float(game.own.min())
    values = np.zeros(probs.shape[:2])
    found = np.full((len(probs), horizon + 1), np.nan)
    for step in range(1, horizon + 1):
        worth = (probs[:, :, None] * (gain + values[:, table.next_state])).sum(axis=3)  # (F, S, n)
        values = worth.max(axis=2) if policy is None else (worth * policy).sum(axis=2)
        found[:, step] = values[:, 0] / step + least
    return found


def limited_rewards(
    game: MatrixGame, table: Contexts, low: FloatArray, high: FloatArray, horizon: int, most: bool
) -> FloatArray:
    """Return the best expected reward per step against one who is known within limits.

    No machine within them is worth less to a player than the one end, or more than the other.

    Parameters
    ----------
    low, high : ndarray, shape (S, m)
        Limits of what the other does in each context.
    most : bool
        Whether it does the best for the player within the limits, in every context and at every
        step anew, or the worst. The player chooses first, and may mix: any of its actions, or the
        mixture that is safest in one step.

    Returns
    -------
    ndarray, shape (T + 1,)
        As `rewards`.
    """
    gain, least = gains(game), float(game.own.min())
    values = np.zeros(len(low))
    found = np.full(horizon + 1, np.nan)
    for step in range(1, horizon + 1):
        worth = gain + values[table.next_state]  # (S, n, m)
        if most:
            values = _most(low, high, worth).max(axis=1)
        else:
            mixed = np.einsum("n,snm->sm", safest(game), worth)[:, None]
            values = -_most(low, high, -np.concatenate([worth, mixed], axis=1)).min(axis=1)
        found[step] = values[0] / step + least
    return found


def _most(low: FloatArray, high: FloatArray, worth: FloatArray) -> FloatArray:
    """Return the largest expectation within the limits, shape (S, n) for `worth` (S, n, m).

    As much as the limits allow to the outcome that is worth most, then to the next.
    """
    order = np.argsort(-worth, axis=2)
    floor, room = (
        np.take_along_axis(np.broadcast_to(array[:, None], worth.shape), order, axis=2)
        for array in (low, high - low)
    )
    free = 1 - low.sum(axis=1)[:, None, None]
    given = np.clip(free - (np.cumsum(room, axis=2) - room), 0, room)
    found: FloatArray = ((floor + given) * np.take_along_axis(worth, order, axis=2)).sum(axis=2)
    return found


@lru_cache(maxsize=64)
def safest(game: MatrixGame) -> FloatArray:
    """Return the mixture of own actions with the largest least expected payoff, shape (n,).

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> safest(get_game("RPS")).round(9).tolist()
    [0.333333333, 0.333333333, 0.333333333]
    """
    from scipy.optimize import linprog

    worth = gains(game) / max(float(gains(game).max()), 1e-300)
    # Maximise v, where the mixture earns at least v against each action of the other.
    found = linprog(
        np.r_[np.zeros(game.n), -1.0],
        np.c_[-worth.T, np.ones(game.m)],
        np.zeros(game.m),
        np.r_[np.ones(game.n), 0.0][None],
        [1.0],
        method="highs",
    )
    return np.asarray(found.x, dtype=np.float64)[: game.n]
