"""A player of matrix games of a known order of theory of mind, and of a known rationality."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import softmax

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.games.matrix.observation import Observation
from tomeval.games.matrix.responses import MOST_ORDER, order_expects
from tomeval.games.matrix.subjects.base import Seat, Subject, draw


class TomOrder(Subject):
    """Expects the partner to be one order below, and answers that; see `order_expects`.

    Parameters
    ----------
    order : int
        0: expects the partner's last action again; up to 3. In the first step, where nothing was
        played, every order expects action 0.
    rationality : float
        λ of a logit quantal response to what it expects, per payoff point, at least 0; left out: it
        plays the best reply, the lowest index where several tie.
    """

    def __init__(self, seat: Seat, order: int = 1, rationality: float | None = None) -> None:
        super().__init__(seat)
        self.order, self.rationality = order, rationality
        if type(order) is not int or not 0 <= order <= MOST_ORDER:
            raise TomevalError(
                f"tom_order: order must be a whole number from 0 to {MOST_ORDER}, is {order!r}"
            )
        numeric = isinstance(rationality, int | float) and not isinstance(rationality, bool)
        if rationality is not None and not (numeric and 0 <= rationality < math.inf):
            raise TomevalError(
                f"tom_order: rationality must be a number of at least 0, is {rationality!r}"
            )
        self.expects = order_expects(seat.game, order)

    def _expected(self, observation: Observation) -> int:
        if not observation.past:
            return 0
        last = observation.past[-1]
        return int(self.expects[last.own if self.order % 2 else last.partner])

    def act(self, observation: Observation) -> Decision:
        """Answer what it expects."""
        payoffs = self.seat.game.own[:, self._expected(observation)]
        if self.rationality is None:
            return Decision(int(payoffs.argmax()))
        probs = softmax(self.rationality * (payoffs - payoffs.max()))
        return draw(np.asarray(probs), self.seat.rng.random())

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """Return what it expects."""
        return Decision(self._expected(observation))
