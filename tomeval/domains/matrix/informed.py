"""What is best in a step for who knows the partner's move: of the step alone, and to the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import known_best_response
from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.responses import ROUNDING, gains, payoff_rounding


def informed_best(
    game: MatrixGame, partner: Partner, horizon: int, step: int, state: int, action: int
) -> NDArray[np.bool_]:
    """Tell which own actions are best in a step, given the partner's move, played well afterwards.

    Parameters
    ----------
    step : int
        From 1 to `horizon`.
    state, action : int
        The partner's state, and the action that it takes in this step.

    Returns
    -------
    ndarray of bool, shape (n,)
        True where r(a, b) + V(s') is largest, with V the value of the best response to the partner
        over the steps that follow and s' the state that a and b lead to. Ties are all true. For a
        deterministic partner these are the optimal actions of `best_response`.

    Examples
    --------
    Tit for tat is worth cooperating with until the last step:

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> partner = get_partner("tit_for_tat", game)
    >>> informed_best(game, partner, 10, 9, partner.start, 0).tolist()
    [True, False]
    >>> informed_best(game, partner, 10, 10, partner.start, 0).tolist()
    [False, True]
    """
    ahead = known_best_response(game, partner, horizon).relative[step]
    worth = gains(game)[:, action] + ahead[partner.next_state[state, :, action]]
    # As in backward induction: what rounding can have built up from the last step to this one.
    rounding = payoff_rounding(game) + (horizon - step + 1) * ROUNDING * float(np.ptp(gains(game)))
    best: NDArray[np.bool_] = worth >= worth.max() - rounding
    return best
