"""What it is worth to know which partner of a set one meets: exact, by Bayes' rule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.core.numbers import exact
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import known_best_response
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.responses import ROUNDING, payoff_rounding

MOST = 20_000
"""Beliefs that are looked at, in some seconds; tasks with more have no value."""

_DIGITS = 12  # of probabilities by which beliefs are told apart

FloatArray = NDArray[np.float64]
_Step = tuple[FloatArray, FloatArray, NDArray[np.int64]]
_Belief = tuple[tuple[int, ...], tuple[float, ...]]  # each partner's state, and its probability


@lru_cache(maxsize=64)
def worth_of_knowing(
    game: MatrixGame, partners: PartnerSet, horizon: int | None, most: int = MOST
) -> tuple[float, ...] | None:
    """Return what knowing each of K partners gains per step, K numbers in payoff units.

    V* of the best T-step response to the partner, less what is expected against it of a player who
    knows the tables and the weights of the set, and not which partner it met: it maximises its
    expected sum of rewards over the set and learns from what it sees (Bayes' rule). Of several best
    actions each is equally likely. At least 0, and 0 in a set of one; None if more than `most`
    beliefs can be met, or without a horizon.

    Examples
    --------
    In rock, paper, scissors one step tells which single action the partner plays. Before it, every
    action earns 0 on average, in place of 1:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner_set
    >>> rps = get_game("RPS")
    >>> worth_of_knowing(rps, get_partner_set("single_action", rps), 4)
    (0.25, 0.25, 0.25)
    """
    steps = None if horizon is None else _steps(game, partners, horizon, most)
    if steps is None or horizon is None:
        return None
    after = np.zeros((1, len(partners.partners)))  # what each belief earns against each partner
    slack = payoff_rounding(game)
    for probabilities, chances, following in reversed(steps):
        paid = game.own + after[following].transpose(0, 3, 1, 2)  # (B, K, n, m)
        earned = (chances[:, :, None] * paid).sum(axis=3)  # (B, K, n)
        worth = (probabilities[:, :, None] * earned).sum(axis=1)
        slack += ROUNDING * float(np.ptp(worth))
        best = worth >= worth.max(axis=1, keepdims=True) - slack
        after = (earned * (best / best.sum(axis=1, keepdims=True))[:, None]).sum(axis=2)
    known = [known_best_response(game, one, horizon).value for one in partners.partners]
    gained = known - after[0]
    return tuple(exact(one / horizon if one > slack else 0.0) for one in gained.tolist())


def _steps(game: MatrixGame, partners: PartnerSet, horizon: int, most: int) -> list[_Step] | None:
    """Return the B beliefs that each step can be met with; None if they are more than `most`.

    The probability of each partner, (B, K), what it would play, (B, K, m), and which of the next
    step's beliefs each joint move leads to, (B, n, m): the first one if it cannot happen.
    """
    tables, steps, count = partners.partners, list[_Step](), 0
    beliefs: list[_Belief] = [(tuple(one.start for one in tables), partners.weights)]
    for _ in range(horizon):
        count += len(beliefs)
        if count > most:
            return None
        known, ahead = dict[_Belief, int](), list[_Belief]()
        probabilities = np.array([weights for _, weights in beliefs])
        chances = np.array(
            [[one.emissions[s] for one, s in zip(tables, at, strict=True)] for at, _ in beliefs]
        )
        following = np.zeros((len(beliefs), game.n, game.m), dtype=np.int64)
        joint = probabilities[:, :, None] * chances
        for row, b in np.argwhere(joint.sum(axis=1) > 0).tolist():
            weights = joint[row, :, b] / joint[row, :, b].sum()
            for a in range(game.n):
                # Where a partner would be that it cannot be does not matter.
                moved = zip(tables, beliefs[row][0], weights, strict=True)
                to = tuple(int(one.next_state[s, a, b]) if p else 0 for one, s, p in moved)
                key = to, tuple(weights.round(_DIGITS).tolist())
                if key not in known:
                    known[key] = len(ahead)
                    ahead.append((to, tuple(weights.tolist())))
                following[row, a, b] = known[key]
        steps.append((probabilities, chances, following))
        beliefs = ahead
    steps[-1][2][:] = 0
    return steps
