"""Regret against the best simple reply in hindsight: what can be said without a partner's table."""

from __future__ import annotations

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.played import FloatArray, IntArray, Played

HINDSIGHT = ("hindsight_constant_regret_per_step", "hindsight_memory_one_regret_per_step")


def hindsight_metrics(played: Played) -> dict[str, FloatArray]:
    """Return what the best simple reply, chosen after the episode, would have earned more.

    The partner's moves are held fixed as they were recorded, so both are lower bounds of stepwise
    regret, in this order; neither is ΔFunctional, which knows how the partner would have reacted.

    Returns
    -------
    dict of str to ndarray, shape (E,)
        One entry per name in `HINDSIGHT`, in payoff units per step. The best constant reply is one
        action for the whole episode. The best memory-one reply is a first action, and one action
        for each previous joint move as it was recorded. Negative if the subject earned more than
        any such reply.

    Examples
    --------
    Cooperating with a partner that cooperates and defects in turn, four steps: always defecting
    would have earned 10 + 5 + 10 + 5 instead of 8 + 0 + 8 + 0.

    >>> from tomeval.domains.matrix.games import get_game
    >>> game = get_game("IPD")
    >>> own, theirs = np.array([0, 0, 0, 0]), np.array([0, 1, 0, 1])
    >>> played = Played(game, (), np.array([0]), np.array([4]), own, theirs, None,
    ...                 game.own[own, theirs])
    >>> [float(values[0]) for values in hindsight_metrics(played).values()]
    [3.5, 3.5]
    """
    ends = np.cumsum(played.lengths)
    constant, memory_one = np.empty((2, played.episodes))
    for episode, (end, length) in enumerate(zip(ends, played.lengths, strict=True)):
        place = slice(end - length, end)
        own, theirs = played.own[place], played.partner[place]
        earned = float(played.own_reward[place].sum())
        constant[episode] = (best_constant(played.game, theirs) - earned) / length
        memory_one[episode] = (best_memory_one(played.game, own, theirs) - earned) / length
    return dict(zip(HINDSIGHT, (constant, memory_one), strict=True))


def best_constant(game: MatrixGame, theirs: IntArray) -> float:
    """Return what the best single action would have earned against the partner's moves."""
    return float(game.own[:, theirs].sum(axis=1).max())


def best_memory_one(game: MatrixGame, own: IntArray, theirs: IntArray) -> float:
    """Return what the best reply to the previous joint move would have earned.

    The joint moves are the recorded ones, which makes it exact: the steps after each of them are a
    choice of their own, and the first step is another.
    """
    total = float(game.own[:, theirs[0]].max())
    before = own[:-1] * game.m + theirs[:-1]
    for joint in np.unique(before):
        total += best_constant(game, theirs[1:][before == joint])
    return total
