"""Between what regret and the cost of predictions lie in a cell, in expectation."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import bounds, possible_totals, reference_rewards
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.responses import misjudgement_cost, stepwise_regret
from tomeval.statistics.bounded import Bounds


@lru_cache(maxsize=256)
def game_limits(game: MatrixGame) -> dict[str, Bounds]:
    """Return between what measures lie in a game, whoever plays whom.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> limits = game_limits(get_game("IPD"))
    >>> limits["reward_per_step"], limits["stepwise_regret_per_step"]
    ((0.0, 10.0), (0.0, 5.0))
    """
    wrong = float(misjudgement_cost(game, "misprediction").max())
    return {
        "reward_per_step": (float(game.own.min()), float(game.own.max())),
        "stepwise_regret_per_step": (0.0, float(stepwise_regret(game).max())),
        "delta_tom_misprediction_per_step": (0.0, wrong),
    }


REGRETS = ("delta_functional_per_step", "delta_tom_best_response_per_step")
"""The measures whose limits depend on the partners."""


class Attainable(NamedTuple):
    """Limits of a task's mean ΔToM/T (best response) and ΔFunctional/T, in payoff units.

    `belief` is an upper limit: every prediction as wrong as can be, and the partner always at the
    action where that costs most.
    """

    belief: float
    regret_min: float
    regret_max: float


@lru_cache(maxsize=256)
def regret_limits(
    game: MatrixGame, partners: tuple[Partner, ...], horizon: int, reference: str
) -> dict[str, Bounds]:
    """Return between what `REGRETS` of an episode lie, whichever partner it met.

    A partner that draws its moves leaves less than no regret to who is lucky, or told of them.

    Examples
    --------
    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> regret_limits(game, (get_partner("always(1)", game),), 10, "horizon")[REGRETS[0]]
    (0.0, 5.0)
    >>> noisy = get_partner("noisy_tit_for_tat", game)
    >>> regret_limits(game, (noisy,), 10, "horizon")[REGRETS[0]][0] < 0
    True
    """
    ends = []
    for partner in partners:
        start = float(reference_rewards(game, partner, horizon, reference).mean())
        least, most = possible_totals(game, partner, horizon)
        ends.append((start - most / horizon, start - least / horizon))
    rounding = 1e-9 * float(np.abs(game.own).max())
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    dearest = misjudgement_cost(game, "best_response").max(axis=0)
    belief = max(float(dearest[(one.emissions > 0).any(axis=0)].max()) for one in partners)
    return {REGRETS[0]: (0.0 if abs(low) < rounding else low, high), REGRETS[1]: (0.0, belief)}


@lru_cache(maxsize=256)
def attainable(
    game: MatrixGame,
    partners: tuple[Partner, ...],
    weights: tuple[float, ...],
    horizon: int,
    reference: str,
) -> Attainable:
    """Return the limits of a task, in expectation over its weighted partners.

    Examples
    --------
    Prediction never matters in the prisoner's dilemma, where defecting is best against both:

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> limits = attainable(game, (get_partner("always(1)", game),), (1.0,), 10, "horizon")
    >>> limits.belief, limits.regret_min, limits.regret_max
    (0.0, 0.0, 5.0)
    """
    rows = bounds(game, PartnerSet("", partners, weights), horizon, reference)
    dearest = misjudgement_cost(game, "best_response").max(axis=0)
    belief = sum(
        weight * float(dearest[(partner.emissions > 0).any(axis=0)].max())
        for weight, partner in zip(weights, partners, strict=True)
    )
    low, high = (
        sum(row.weight * getattr(row, name) for row in rows)
        for name in ("regret_min", "regret_max")
    )
    return Attainable(belief, low, high)
