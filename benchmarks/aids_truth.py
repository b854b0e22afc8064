"""What a laddered subject should measure on every rung, in closed form."""

from __future__ import annotations

import math

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.planned import informed_best
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.responses import best_responses, stepwise_regret
from tomeval.extensions.aids.laddered import links_left
from tomeval.strategies.ladder import RUNGS


def expected_regret(
    game: MatrixGame,
    partners: PartnerSet,
    horizon: int,
    *,
    compute: float = 1.0,
    use: float = 1.0,
    know: float = 1.0,
    choose: float = 1.0,
    obey: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return the expected ΔFunctional/T and stepwise regret per step of every rung, each (5,).

    Parameters
    ----------
    partners : PartnerSet
        The mean is over its weights.
    compute, use, know, choose, obey : float
        As for `tomeval.extensions.aids.laddered.Laddered`.

    Notes
    -----
    Exact: the distribution over the partner's states is carried forward step by step. Against a
    partner that always plays one action of three in rock-paper-scissors, with q the probability
    that all links left hold, regret is 1 - q (1 - 3/2 (1 - know)) below the truth, and 1 - q from
    there on.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner_set
    >>> game = get_game("RPS")
    >>> regret, _ = expected_regret(game, get_partner_set("single_action", game), 4, compute=0.5)
    >>> [round(value, 9) + 0.0 for value in regret.tolist()]
    [0.5, 0.0, 0.0, 0.0, 0.0]
    """
    links = {"compute": compute, "use": use, "choose": choose, "obey": obey}
    functional, stepwise = np.zeros(len(RUNGS)), np.zeros(len(RUNGS))
    for partner, weight in zip(partners.partners, partners.weights, strict=True):
        for k, rung in enumerate(RUNGS):
            whole = math.prod(links[name] for name in links_left(rung))
            reward, regret = _against(game, partner, horizon, rung, whole, know)
            functional[k] += weight * (best_response(game, partner, horizon).value - reward)
            stepwise[k] += weight * regret
    return functional / horizon, stepwise / horizon


def _against(
    game: MatrixGame, partner: Partner, horizon: int, rung: str, whole: float, know: float
) -> tuple[float, float]:
    """Return the expected sums of rewards and of stepwise regret against one partner."""
    states, best = len(partner.emissions), best_responses(game)
    right = know * np.eye(game.m) + (1 - know) / (game.m - 1) * (1 - np.eye(game.m))
    believed = np.eye(game.m) if rung == "replies_oracle" else right  # [believed, actual]
    on_step = (best / best.sum(axis=0)) @ believed  # [own, actual]
    state = np.eye(states)[partner.start]
    reward = regret = 0.0
    for step in range(1, horizon + 1):
        wanted = np.broadcast_to(on_step, (states, *on_step.shape)).copy()  # [state, own, actual]
        if rung == "best_reply":
            for s, b in np.ndindex(states, game.m):
                told = informed_best(game, partner, horizon, step, s, b)
                wanted[s, :, b] = told / told.sum()
        acts = whole * wanted + (1 - whole) / game.n
        joint = state[:, None, None] * acts * partner.emissions[:, None, :]
        reward += float((joint * game.own).sum())
        regret += float((joint * stepwise_regret(game)).sum())
        state = np.bincount(partner.next_state.ravel(), joint.ravel(), minlength=states)
    return reward, regret
