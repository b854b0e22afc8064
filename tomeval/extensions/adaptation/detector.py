"""A simulated subject that notices a change of policy, and acts upon it, after known lags."""

from __future__ import annotations

import math

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.observation import Joint, Observation
from tomeval.domains.matrix.optima import known_best_response
from tomeval.domains.matrix.partners import Partner, change_of
from tomeval.domains.matrix.subjects.base import Seat, Subject, check_unit, pick


class Detector(Subject):
    """Predicts and plays the first policy of a partner that changes, and the second after lags.

    It is shown the partner's table and state, but until it has noticed a change it goes on as if
    the first policy did. `lag` steps after the change, and a random number of them more, it begins
    to predict the second policy; after further steps of the same two kinds it begins to play the
    best response to it. Of several best answers each is equally likely.

    Parameters
    ----------
    lag : int
        Fixed part of the steps from the change to detection; 0 predicts the change itself.
    rate : float
        Chance, in every step after that, that it is detected; the random part is geometric with
        mean 1 / rate - 1. 0: never.
    act_lag : int
        Fixed part of the further steps to adaptation.
    act_rate : float
        The same for them as `rate`.
    noise : float
        Chance that a prediction is drawn uniformly from the partner's actions instead; the same,
        independently, for an action.
    """

    needs_table = True

    def __init__(
        self,
        seat: Seat,
        lag: int = 1,
        rate: float = 1.0,
        act_lag: int = 0,
        act_rate: float = 1.0,
        noise: float = 0.0,
    ) -> None:
        super().__init__(seat)
        self.noise = check_unit("detector: noise", noise)
        for name, value in (("lag", lag), ("act_lag", act_lag)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise TomevalError(f"detector: {name} must be a whole number from 0, is {value!r}")
        rates = check_unit("detector: rate", rate), check_unit("detector: act_rate", act_rate)
        knows, does = seat.rng.random(2)
        self.knows_after = lag + _waits(knows, rates[0])
        self.acts_after = self.knows_after + act_lag + _waits(does, rates[1])
        self.first: Partner | None = None
        self.change = 0
        self.state = 0  # the first policy's, had it gone on

    def act(self, observation: Observation) -> Decision:
        """Play the best response to the policy that it plays against."""
        partner, state = self._look()
        acts = observation.round - self.change >= self.acts_after
        machine, state = (partner, state) if acts else (self.first or partner, self.state)
        plan = known_best_response(self.seat.game, machine, self.seat.horizon)
        return self._say(plan.optimal[observation.round - 1, state])

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """Name what the policy plays that it believes in."""
        partner, state = self._look()
        knows = observation.round - self.change >= self.knows_after
        machine, state = (partner, state) if knows else (self.first or partner, self.state)
        row = machine.emissions[state]
        return self._say(row >= row.max() - 1e-12)

    def observe(self, joint: Joint) -> None:
        """Follow the first policy."""
        machine = self.first or self._look()[0]
        self.state = int(machine.next_state[self.state, joint.own, joint.partner])

    def _look(self) -> tuple[Partner, int]:
        """Return the partner and its state; see at the first look what it is made of."""
        partner, state = self.seat.door.partner()
        if self.first is None:
            told = change_of(partner)
            self.first = partner if told is None else told.first
            self.change = 0 if told is None else told.step
            self.state = self.first.start
        return partner, state

    def _say(self, best: np.ndarray) -> Decision:
        """Draw one of the best answers, or with the chance of noise any."""
        noisy, u = self.seat.rng.random(2)
        return pick(np.ones_like(best) if noisy < self.noise else best, u)


def _waits(u: float, rate: float) -> float:
    """Return how many steps pass before an event of this rate, for a uniform number."""
    if rate in (0.0, 1.0):
        return 0.0 if rate else math.inf
    return math.floor(math.log1p(-u) / math.log1p(-rate))
