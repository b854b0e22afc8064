"""What it is worth to know which partner of a set one meets: exact, by Bayes' rule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import known_best_response
from tomeval.games.matrix.partners import PartnerSet
from tomeval.games.matrix.responses import ROUNDING, payoff_rounding

MOST = 20_000
"""Beliefs that are looked at, in some seconds; tasks with more have no value."""

_DIGITS = 12  # of probabilities by which beliefs are told apart

FloatArray = NDArray[np.float64]
_Belief = tuple[tuple[int, ...], tuple[float, ...]]  # each partner's state, and its probability


@lru_cache(maxsize=64)
def worth_of_knowing(
    game: MatrixGame, partners: PartnerSet, horizon: int, most: int = MOST
) -> FloatArray | None:
    """Return what knowing each of K partners gains per step, shape (K,), in payoff units.

    V* of the best T-step response to the partner, less what is expected against it of a player who
    knows the tables and the weights of the set, and not which partner it met: it maximises its
    expected sum of rewards over the set and learns from what it sees (Bayes' rule). Of several best
    actions each is equally likely. At least 0; 0 in a set of one.

    Returns
    -------
    ndarray or None
        None: more than `most` beliefs can be met.

    Examples
    --------
    In rock, paper, scissors one step tells which single action the partner plays. Before it, every
    action earns 0 on average, in place of 1:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner_set
    >>> rps = get_game("RPS")
    >>> worth_of_knowing(rps, get_partner_set("single_action", rps), 4).tolist()
    [0.25, 0.25, 0.25]
    """
    tables = partners.partners
    layers = _layers(game, partners, horizon, most)
    if layers is None:
        return None
    after = np.zeros((1, len(tables)))  # what each belief earns against each partner
    slack = payoff_rounding(game)
    for beliefs, following in reversed(layers):
        chances = np.array([_chances(partners, belief) for belief in beliefs])  # (B, K, m)
        paid = game.own[None, None] + after[following].transpose(0, 3, 1, 2)  # (B, K or 1, n, m)
        earned = (chances[:, :, None, :] * paid).sum(axis=3)  # (B, K, n)
        worth = (np.array([belief[1] for belief in beliefs])[:, :, None] * earned).sum(axis=1)
        slack += ROUNDING * float(np.ptp(worth))
        best = worth >= worth.max(axis=1, keepdims=True) - slack
        after = (earned * (best / best.sum(axis=1, keepdims=True))[:, None]).sum(axis=2)
    known = [known_best_response(game, one, horizon).value for one in tables]
    gained: FloatArray = np.maximum((known - after[0]) / horizon, 0.0)
    gained[gained < slack] = 0.0
    gained.setflags(write=False)  # shared by all who ask
    return gained


def _layers(
    game: MatrixGame, partners: PartnerSet, horizon: int, most: int
) -> list[tuple[list[_Belief], NDArray[np.int64]]] | None:
    """Return the beliefs of each step, and which of the next step's each joint move leads to.

    The latter has shape (B, n, m); what cannot happen leads to the first one.
    """
    tables = partners.partners
    beliefs: list[_Belief] = [(tuple(one.start for one in tables), partners.weights)]
    layers, count = [], 0
    for t in range(horizon):
        places: dict[_Belief, tuple[int, _Belief]] = {}  # by rounded probabilities
        following = np.zeros((len(beliefs), game.n, game.m), dtype=np.int64)
        for at, belief in enumerate(beliefs):
            joint = np.array(belief[1])[:, None] * _chances(partners, belief)
            for b in np.flatnonzero(joint.sum(axis=0) > 0).tolist():
                weights = joint[:, b] / joint[:, b].sum()
                probs, about = tuple(weights.tolist()), tuple(weights.round(_DIGITS).tolist())
                for a in range(game.n):
                    moved = zip(tables, belief[0], probs, strict=True)
                    # Where a partner that cannot be met would be does not matter.
                    to = tuple(int(one.next_state[s, a, b]) if p else 0 for one, s, p in moved)
                    place = places.setdefault((to, about), (len(places), (to, probs)))
                    following[at, a, b] = place[0]
        count += len(beliefs)
        if count > most:
            return None
        if t == horizon - 1:
            following[:] = 0
        layers.append((beliefs, following))
        beliefs = [belief for _, belief in places.values()]
    return layers


def _chances(partners: PartnerSet, belief: _Belief) -> FloatArray:
    """Return what each partner plays in its state, shape (K, m)."""
    rows = zip(partners.partners, belief[0], strict=True)
    return np.stack([one.emissions[state] for one, state in rows])
