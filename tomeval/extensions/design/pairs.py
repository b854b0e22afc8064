"""Pairs of machines: what taking one for the other costs, and what not knowing costs."""

from __future__ import annotations

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.machines import Machines, as_partner, reduced
from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.responses import ROUNDING, gains

_CHUNK = 2048


def partners_of(machines: Machines, game: MatrixGame, name: str) -> list[Partner]:
    """Return machines as partners; ``{}`` in the name stands for the number, from 1."""
    return [
        as_partner(reduced(*row), game, name.format(number))
        for number, row in enumerate(zip(*machines, strict=True), start=1)
    ]


def losses(game: MatrixGame, machines: Machines, horizon: int) -> FloatArray:
    """Return what the best response to one machine loses per step against another, shape (B, B).

    ``[believed, actual]``, in payoff units, at least 0; states of machines out of reach lead to
    state 0, see `joined`. Where several actions are best, each is equally likely, as in
    `tomeval.domains.matrix.optima.relevance`.
    """
    plans = [best_response(game, one, horizon) for one in partners_of(machines, game, "candidate")]
    plays, follows = machines
    size, n = follows.shape[1:]
    above = gains(game)
    own = np.full((len(plans), horizon, size, n), 1 / n)
    for row, plan in enumerate(plans):
        chosen = plan.optimal / plan.optimal.sum(axis=2, keepdims=True)
        own[row, :, : chosen.shape[1]] = chosen
    best = np.array([plan.value for plan in plans]) / horizon - float(game.own.min())
    paid = above.T[plays]  # (B, K, n): what each own action gains in each state
    pairs = np.indices((len(plans), len(plans))).reshape(2, -1)
    lost = np.empty(pairs.shape[1])
    for first in range(0, len(lost), _CHUNK):
        believed, actual = pairs[:, first : first + _CHUNK]
        count = len(believed)
        block = np.arange(count)[:, None, None, None] * size
        after = (block + follows[believed][:, :, None]) * size + follows[actual][:, None]
        mass = np.zeros((count, size, size))
        mass[:, 0, 0] = 1.0
        earned = np.zeros(count)
        for t in range(horizon):
            played = mass[:, :, :, None] * own[believed, t][:, :, None]  # (P, K', K, n)
            earned += (played * paid[actual][:, None]).sum(axis=(1, 2, 3))
            reached = np.bincount(after.ravel(), played.ravel(), count * size * size)
            mass = reached.reshape(count, size, size).astype(np.float64)
        lost[first : first + count] = best[actual] - earned / horizon
    lost = np.where(lost > horizon * ROUNDING * float(above.max()), lost, 0.0)
    return lost.reshape(len(plans), len(plans))


def unavoidable(game: MatrixGame, partners: PartnerSet, horizon: int) -> float:
    """Return the least regret per step of a player who knows the set, but not who is drawn from it.

    The expected ΔFunctional/T of the best policy that sees all moves and has to find out which
    partner it plays with: exact, by backward induction over what can be known of deterministic
    partners, which of them are still possible and the state of each. Relevance beyond it rewards
    telling the partners apart while playing; relevance that is all unavoidable rewards having known
    them before.

    Examples
    --------
    Against one of three single actions the first step of rock, paper, scissors is a guess, which
    loses 1 on average; after it everything is known:

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner_set
    >>> rps = get_game("RPS")
    >>> round(unavoidable(rps, get_partner_set("single_action", rps), 10), 9)
    0.1
    """
    members = partners.partners
    moves = [partner.emissions.argmax(axis=1) for partner in members]
    weights = partners.weights
    above = gains(game)
    start: _Known = tuple((i, partner.start) for i, partner in enumerate(members))
    by_state: dict[_Known, list[tuple[float, list[_Known]]]] = {}
    waiting = [start]
    while waiting:
        known = waiting.pop()
        if known in by_state:
            continue
        by_state[known] = []
        for a in range(game.n):
            gain = 0.0
            after: dict[int, _Known] = {}
            for i, state in known:
                b = int(moves[i][state])
                gain += weights[i] * float(above[a, b])
                step = (i, int(members[i].next_state[state, a, b]))
                after[b] = (*after.get(b, ()), step)
            by_state[known].append((gain, list(after.values())))
            waiting += after.values()
    value = dict.fromkeys(by_state, 0.0)
    for _ in range(horizon):
        value = {
            known: max(gain + sum(value[one] for one in after) for gain, after in actions)
            for known, actions in by_state.items()
        }
    known_best = sum(
        weight * best_response(game, partner, horizon).value
        for weight, partner in zip(weights, members, strict=True)
    )
    regret = known_best / horizon - float(game.own.min()) - value[start] / horizon
    return regret if regret > horizon * ROUNDING * float(above.max()) else 0.0


_Known = tuple[tuple[int, int], ...]
"""Which partners are still possible, by number, and the state of each."""
