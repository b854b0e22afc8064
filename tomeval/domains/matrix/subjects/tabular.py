"""Learners: tabular RMax with a count-based predictor, and fictitious play.

These are the plain, one-episode forms. `batch` holds the same subjects over many
episodes at once; a test demands equal rows of both.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.outcomes import Decision
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.observation import Joint, Observation
from tomeval.domains.matrix.responses import gains
from tomeval.domains.matrix.subjects.base import Seat, Subject, pick

RMAX_TIES = ("random", "first")
TIE_TOLERANCE = 1e-9
"""Values closer than this, times the largest value a state can have, count as tied."""


class RMaxModel:
    """The fixed parts of RMax in a game: states, the optimistic value, tolerances.

    The state is the last joint action, plus a special first state (the last index).
    """

    def __init__(
        self, game: MatrixGame, m: int = 1, gamma: float = 0.9, ties: str = "random"
    ) -> None:
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise TomevalError(f"rmax: m must be a whole number of at least 1, is {m!r}")
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 <= gamma < 1:
            raise TomevalError(f"rmax: gamma must be at least 0 and below 1, is {gamma!r}")
        if ties not in RMAX_TIES:
            raise unknown("tie-breaking", ties, RMAX_TIES, "rmax: ties")
        self.m, self.gamma, self.ties = m, float(gamma), ties
        self.next_state: NDArray[np.int64] = np.arange(game.n * game.m).reshape(game.n, game.m)
        self.first = int(self.next_state.max()) + 1
        self.payoffs = gains(game)
        largest = float(self.payoffs.max())
        self.optimistic = largest / (1 - self.gamma)
        self.tolerance = TIE_TOLERANCE * max(1e-300, largest) / (1 - self.gamma)


class RMax(Subject):
    """Tabular RMax (Brafman and Tennenholtz 2002) with a frequency-count predictor.

    A state-action pair is known after `m` visits; its model is what those visits showed. An unknown
    pair is worth R_max / (1 - gamma). Acts greedily on converged values. Predicts the partner's
    most frequent action in the current state; ties and unseen states give action 0.

    Parameters
    ----------
    m : int
        Visits after which a pair is known.
    gamma : float
        Discount, in [0, 1).
    ties : {"random", "first"}
        How greedy ties are broken.

    Notes
    -----
    With the defaults it reproduces the tabular rows of Riemer et al. 2025, tables 1, 3, 4 and 10.
    """

    batch: ClassVar[str] = "tomeval.domains.matrix.batch.rmax:BatchRMax"
    draws_per_step: ClassVar[int | None] = 1

    def __init__(self, seat: Seat, m: int = 1, gamma: float = 0.9, ties: str = "random") -> None:
        super().__init__(seat)
        game = seat.game
        self.model = RMaxModel(game, m, gamma, ties)
        self.state = self.model.first
        size = self.model.first + 1
        self.seen = np.zeros((size, game.n, game.m), dtype=np.int64)  # the first m visits
        self.counts = np.zeros((size, game.m), dtype=np.int64)  # for the predictor

    def act(self, observation: Observation) -> Decision:
        """Act greedily on the values of the learned model."""
        q = self._action_values()[self.state]
        u = self.seat.rng.random()
        tied = q >= q.max() - self.model.tolerance
        return pick(tied, u if self.model.ties == "random" else 0.0)

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """Predict the most frequent action in this state."""
        return Decision(int(self.counts[self.state].argmax()))

    def observe(self, joint: Joint) -> None:
        """Count the step and move on to the next state."""
        self.counts[self.state, joint.partner] += 1
        visits = self.seen[self.state, joint.own]
        if visits.sum() < self.model.m:
            visits[joint.partner] += 1
        self.state = int(self.model.next_state[joint.own, joint.partner])

    def _action_values(self) -> NDArray[np.float64]:
        """Return the converged values of the optimistic model, shape (states, n)."""
        model, payoffs = self.model, self.model.payoffs
        known = self.seen.sum(axis=2) >= model.m
        share = self.seen / model.m
        reward = (share * payoffs).sum(axis=2)
        q = np.full(known.shape, model.optimistic)
        stop = 0.01 * model.tolerance * (1 - model.gamma)
        while True:
            value = q.max(axis=1)
            following = (share * value[model.next_state]).sum(axis=2)
            new = np.where(known, reward + model.gamma * following, model.optimistic)
            if np.abs(new - q).max() <= stop:
                return new
            q = new


class FictitiousPlay(Subject):
    """Fictitious play (Brown 1951): a best response to the partner's empirical frequencies.

    Predicts the most frequent action so far. Ties are broken uniformly at random.

    Parameters
    ----------
    prior : float
        Count that every partner action starts with; positive.
    """

    batch: ClassVar[str] = "tomeval.domains.matrix.batch.subjects:BatchFictitiousPlay"
    draws_per_step: ClassVar[int | None] = 2

    def __init__(self, seat: Seat, prior: float = 1.0) -> None:
        super().__init__(seat)
        self.payoffs = gains(seat.game)
        self.counts = np.full(seat.game.m, check_prior(prior))

    def act(self, observation: Observation) -> Decision:
        """Best-respond to the frequencies."""
        game = self.seat.game
        q = self.payoffs @ self.counts
        tied = q >= q.max() - fictitious_tolerance(game, self.counts.sum())
        return pick(tied, self.seat.rng.random())

    def predict(self, observation: Observation, own_action: int | None) -> Decision:
        """Predict the most frequent action, with the frequencies as distribution."""
        chosen = pick(self.counts == self.counts.max(), self.seat.rng.random())
        return Decision(chosen.action, tuple(float(c) for c in self.counts / self.counts.sum()))

    def observe(self, joint: Joint) -> None:
        """Count the partner's action."""
        self.counts[joint.partner] += 1


def check_prior(prior: object) -> float:
    """Return the prior count of fictitious play or raise."""
    numeric = isinstance(prior, int | float) and not isinstance(prior, bool)
    if not numeric or not 0 < prior < float("inf"):  # type: ignore[operator]
        raise TomevalError(f"fictitious_play: prior must be a positive number, is {prior!r}")
    return float(prior)  # type: ignore[arg-type]


def fictitious_tolerance(game: MatrixGame, total: float) -> float:
    """Return the rounding allowance for sums of counts times payoffs."""
    return TIE_TOLERANCE * max(1e-300, float(gains(game).max())) * total
