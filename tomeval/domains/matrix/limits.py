"""Between what regret and the cost of predictions lie in a cell, in expectation."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import bounds
from tomeval.domains.matrix.partners import Partner, PartnerSet
from tomeval.domains.matrix.responses import misjudgement_cost


class Attainable(NamedTuple):
    """Limits of a task's mean ΔToM/T (best response) and ΔFunctional/T, in payoff units.

    `belief` is an upper limit: every prediction as wrong as can be, and the partner always at the
    action where that costs most.
    """

    belief: float
    regret_min: float
    regret_max: float


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
