"""Subjects that learn: tabular RMax and fictitious play, over many episodes at once."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.responses import gains
from tomeval.games.matrix.subjects.base import Answers, Batched, FloatArray, IntArray, Seat, pick

TIE_TOLERANCE = 1e-9
"""Values closer than this, times the largest value a state can have, count as tied."""


class FictitiousPlay(Batched):
    """Fictitious play (Brown 1951): a best response to the partner's empirical frequencies.

    Predicts the most frequent action so far. Ties are broken uniformly at random.

    Parameters
    ----------
    prior : float
        Count that every partner action starts with; positive.
    """

    draws_per_step: ClassVar[int | None] = 2

    def __init__(self, seat: Seat, prior: float = 1.0) -> None:
        numeric = isinstance(prior, int | float) and not isinstance(prior, bool)
        if not numeric or not 0 < prior < float("inf"):
            raise TomevalError(f"fictitious_play: prior must be a positive number, is {prior!r}")
        super().__init__(seat)
        self.payoffs = gains(seat.game)
        self.tolerance = TIE_TOLERANCE * max(1e-300, float(self.payoffs.max()))
        self.counts = np.full((self.count, seat.game.m), float(prior))
        self.rows = np.arange(self.count)

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        q = self.counts @ self.payoffs.T
        total = self.counts.sum(axis=1)
        slack = self.tolerance * total
        own, own_probs = pick(q >= (q.max(axis=1) - slack)[:, None], u[0])
        predicted, _ = pick(self.counts == self.counts.max(axis=1, keepdims=True), u[1])
        return Answers(own, predicted, own_probs, self.counts / total[:, None])

    def learn(self, own: IntArray, partner: IntArray) -> None:
        """Learn what was played."""
        self.counts[self.rows, partner] += 1


class RMax(Batched):
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

    Notes
    -----
    In a state with an unknown action the optimistic value stands whatever else is known, so values
    change only when the last action of a state becomes known. Then the learned model is solved by
    policy iteration, over all such episodes at once.

    With the defaults it reproduces the tabular rows of Riemer et al. 2025, tables 1, 3, 4 and 10.
    """

    draws_per_step: ClassVar[int | None] = 1

    def __init__(self, seat: Seat, m: int = 1, gamma: float = 0.9) -> None:
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise TomevalError(f"rmax: m must be a whole number of at least 1, is {m!r}")
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 <= gamma < 1:
            raise TomevalError(f"rmax: gamma must be at least 0 and below 1, is {gamma!r}")
        super().__init__(seat)
        game, episodes = seat.game, self.count
        self.m, self.gamma = m, float(gamma)
        # The state is the last joint action, and at first one of its own, the last index.
        self.next_state: IntArray = np.arange(game.n * game.m).reshape(game.n, game.m)
        size = game.n * game.m + 1
        self.payoffs = gains(game)
        self.optimistic = float(self.payoffs.max()) / (1 - self.gamma)
        self.tolerance = TIE_TOLERANCE * max(1e-300, float(self.payoffs.max())) / (1 - self.gamma)
        self.rows = np.arange(episodes)
        self.state = np.full(episodes, size - 1)
        self.counts = np.zeros((episodes, size, game.m), dtype=np.int32)
        self.seen = np.zeros((episodes, size, game.n, game.m), dtype=np.int32)
        self.visits = np.zeros((episodes, size, game.n), dtype=np.int32)
        self.unknown = np.full((episodes, size), game.n)
        self.value = np.full((episodes, size), self.optimistic)

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        here = self.rows, self.state
        share = self.seen[here] / self.m  # (E, n, m)
        worth = self.payoffs + self.gamma * self.value[:, self.next_state]
        known = self.visits[here] >= self.m
        q = np.where(known, (share * worth).sum(axis=2), self.optimistic)
        tied = q >= q.max(axis=1, keepdims=True) - self.tolerance
        own, probs = pick(tied, u[0])
        return Answers(own, self.counts[here].argmax(axis=1), probs)

    def learn(self, own: IntArray, partner: IntArray) -> None:
        """Learn what was played."""
        rows, state = self.rows, self.state
        self.counts[rows, state, partner] += 1
        visits = self.visits[rows, state, own]
        fresh = np.flatnonzero(visits < self.m)
        if fresh.size:
            where = (fresh, state[fresh], own[fresh])
            self.seen[(*where, partner[fresh])] += 1
            self.visits[where] += 1
            learned = fresh[visits[fresh] == self.m - 1]
            self.unknown[learned, state[learned]] -= 1
            complete = learned[self.unknown[learned, state[learned]] == 0]
            if complete.size:
                self.value[complete] = self._solve(complete)
        self.state = self.next_state[own, partner]

    def _solve(self, chosen: IntArray) -> FloatArray:
        """Return the values of the learned models of some episodes, shape (chosen, states)."""
        share = self.seen[chosen] / self.m  # (k, S, n, m)
        reward = (share * self.payoffs).sum(axis=3)  # (k, S, n)
        known = self.unknown[chosen] == 0  # (k, S); the others keep the optimistic value
        k, states = np.ogrid[: len(chosen), : self.value.shape[1]]

        def worth(value: FloatArray) -> FloatArray:
            following = (share * value[:, None, self.next_state]).sum(axis=3)
            q: FloatArray = reward + self.gamma * following
            return q

        value: FloatArray = self.value[chosen]
        policy = worth(value).argmax(axis=2)
        while True:
            system = np.tile(np.eye(states.size), (len(chosen), 1, 1))
            chance = self.gamma * share[k, states, policy] * known[..., None]  # (k, S, m)
            where = (k[..., None], states[..., None], self.next_state[policy])
            np.subtract.at(system, where, chance)
            right = np.where(known, reward[k, states, policy], self.optimistic)
            value = np.linalg.solve(system, right[..., None])[..., 0].astype(np.float64)
            q = worth(value)
            changed = known & (q.max(axis=2) > q[k, states, policy] + 0.01 * self.tolerance)
            if not changed.any():
                return value
            policy = np.where(changed, q.argmax(axis=2), policy)
