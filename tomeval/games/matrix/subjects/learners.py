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

    Every partner action starts with a count of 1. Predicts the most frequent action so far. Ties
    are broken uniformly at random.
    """

    draws_per_step: ClassVar[int | None] = 2

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self.payoffs = gains(seat.game)
        self.tolerance = TIE_TOLERANCE * max(1e-300, float(self.payoffs.max()))
        self.counts = np.ones((self.count, seat.game.m))
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

    A state-action pair is known once it was visited; its model is what that visit showed. An
    unknown pair is worth R_max / (1 - gamma). Acts greedily on converged values. Predicts the
    partner's most frequent action in the current state; ties and unseen states give action 0.

    Parameters
    ----------
    gamma : float
        Discount, in [0, 1).

    Notes
    -----
    In a state with an unknown action the optimistic value stands whatever else is known, so values
    change only when the last action of a state becomes known. Then the learned model is solved by
    policy iteration, over all such episodes at once.

    With the default it reproduces the tabular rows of Riemer et al. 2025, tables 1, 3, 4 and 10.
    """

    draws_per_step: ClassVar[int | None] = 1

    def __init__(self, seat: Seat, gamma: float = 0.9) -> None:
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 <= gamma < 1:
            raise TomevalError(f"rmax: gamma must be at least 0 and below 1, is {gamma!r}")
        super().__init__(seat)
        game, episodes = seat.game, self.count
        self.gamma = float(gamma)
        # The state is the last joint action, and at first one of its own, the last index.
        self.next_state: IntArray = np.arange(game.n * game.m).reshape(game.n, game.m)
        size = game.n * game.m + 1
        self.payoffs = gains(game)
        self.optimistic = float(self.payoffs.max()) / (1 - self.gamma)
        self.tolerance = TIE_TOLERANCE * max(1e-300, float(self.payoffs.max())) / (1 - self.gamma)
        self.rows, self.own = np.arange(episodes), np.arange(game.n)
        self.state = np.full(episodes, size - 1)
        self.counts = np.zeros((episodes, size, game.m), dtype=np.int32)
        # The partner's action at the first visit of a state and an own action; -1: unknown.
        self.shown = np.full((episodes, size, game.n), -1)
        self.value = np.full((episodes, size), self.optimistic)

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        here = self.rows, self.state
        shown = self.shown[here]  # (E, n)
        after = self.next_state[self.own, shown]
        worth = self.payoffs[self.own, shown] + self.gamma * self.value[self.rows[:, None], after]
        q = np.where(shown >= 0, worth, self.optimistic)
        tied = q >= q.max(axis=1, keepdims=True) - self.tolerance
        own, probs = pick(tied, u[0])
        return Answers(own, self.counts[here].argmax(axis=1), probs)

    def learn(self, own: IntArray, partner: IntArray) -> None:
        """Learn what was played."""
        rows, state = self.rows, self.state
        self.counts[rows, state, partner] += 1
        fresh = np.flatnonzero(self.shown[rows, state, own] < 0)
        self.shown[fresh, state[fresh], own[fresh]] = partner[fresh]
        complete = fresh[(self.shown[fresh, state[fresh]] >= 0).all(axis=1)]
        if complete.size:
            self.value[complete] = self._solve(self.shown[complete], self.value[complete])
        self.state = self.next_state[own, partner]

    def _solve(self, shown: IntArray, value: FloatArray) -> FloatArray:
        """Return the values of what was shown to k episodes, (k, S, n), given those before."""
        known = (shown >= 0).all(axis=2)  # (k, S); the others keep the optimistic value
        reward, after = self.payoffs[self.own, shown], self.next_state[self.own, shown]
        k, states = np.ogrid[: len(shown), : value.shape[1]]
        policy = (reward + self.gamma * value[k[..., None], after]).argmax(axis=2)
        while True:
            system = np.tile(np.eye(states.size), (len(shown), 1, 1))
            np.subtract.at(system, (k, states, after[k, states, policy]), self.gamma * known)
            right = np.where(known, reward[k, states, policy], self.optimistic)
            value = np.linalg.solve(system, right[..., None])[..., 0].astype(np.float64)
            q = reward + self.gamma * value[k[..., None], after]
            best = q.max(axis=2)
            changed = known & (best > q[k, states, policy] + 0.01 * self.tolerance)
            if not changed.any():
                return value
            policy = np.where(changed, q.argmax(axis=2), policy)
