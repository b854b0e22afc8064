"""Batch form of tabular RMax: values are solved again only where they can have changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.matrix.batch.subjects import (
    TIE_TOLERANCE,
    Answers,
    BatchSubject,
    FloatArray,
    IntArray,
    pick,
)
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.responses import gains

RMAX_TIES = ("random", "first")


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
        self.next_state: IntArray = np.arange(game.n * game.m).reshape(game.n, game.m)
        self.first = int(self.next_state.max()) + 1
        self.payoffs = gains(game)
        largest = float(self.payoffs.max())
        self.optimistic = largest / (1 - self.gamma)
        self.tolerance = TIE_TOLERANCE * max(1e-300, largest) / (1 - self.gamma)


class BatchRMax(BatchSubject):
    """Tabular RMax over E episodes.

    A state with an unknown action is worth the optimistic value whatever else is known, so values
    change only when the last action of a state becomes known. Then the learned model is solved by
    policy iteration, over all such episodes at once.
    """

    def __init__(self, game: MatrixGame, episodes: int, **options: Any) -> None:
        self.model = RMaxModel(game, **options)
        self.payoffs = self.model.payoffs
        size = self.model.first + 1
        self.rows = np.arange(episodes)
        self.state = np.full(episodes, self.model.first)
        self.counts = np.zeros((episodes, size, game.m), dtype=np.int32)
        self.seen = np.zeros((episodes, size, game.n, game.m), dtype=np.int32)
        self.visits = np.zeros((episodes, size, game.n), dtype=np.int32)
        self.unknown = np.full((episodes, size), game.n)
        self.value = np.full((episodes, size), self.model.optimistic)

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        model, here = self.model, (self.rows, self.state)
        share = self.seen[here] / model.m  # (E, n, m)
        worth = self.payoffs + model.gamma * self.value[:, model.next_state]
        known = self.visits[here] >= model.m
        q = np.where(known, (share * worth).sum(axis=2), model.optimistic)
        tied = q >= q.max(axis=1, keepdims=True) - model.tolerance
        own, probs = pick(tied, u[0] if model.ties == "random" else np.zeros(len(tied)))
        return Answers(own, self.counts[here].argmax(axis=1), probs)

    def observe(self, own: IntArray, partner: IntArray) -> None:
        """Learn what was played."""
        model, rows, state = self.model, self.rows, self.state
        self.counts[rows, state, partner] += 1
        visits = self.visits[rows, state, own]
        fresh = np.flatnonzero(visits < model.m)
        if fresh.size:
            where = (fresh, state[fresh], own[fresh])
            self.seen[(*where, partner[fresh])] += 1
            self.visits[where] += 1
            learned = fresh[visits[fresh] == model.m - 1]
            self.unknown[learned, state[learned]] -= 1
            complete = learned[self.unknown[learned, state[learned]] == 0]
            if complete.size:
                self.value[complete] = self._solve(complete)
        self.state = model.next_state[own, partner]

    def _solve(self, chosen: IntArray) -> FloatArray:
        """Return the values of the learned models of some episodes, shape (chosen, states)."""
        model = self.model
        share = self.seen[chosen] / model.m  # (k, S, n, m)
        reward = (share * self.payoffs).sum(axis=3)  # (k, S, n)
        known = self.unknown[chosen] == 0  # (k, S); the others keep the optimistic value
        k, states = np.ogrid[: len(chosen), : self.value.shape[1]]

        def worth(value: FloatArray) -> FloatArray:
            following = (share * value[:, None, model.next_state]).sum(axis=3)
            q: FloatArray = reward + model.gamma * following
            return q

        value: FloatArray = self.value[chosen]
        policy = worth(value).argmax(axis=2)
        while True:
            system = np.tile(np.eye(states.size), (len(chosen), 1, 1))
            chance = model.gamma * share[k, states, policy] * known[..., None]  # (k, S, m)
            where = (k[..., None], states[..., None], model.next_state[policy])
            np.subtract.at(system, where, chance)
            right = np.where(known, reward[k, states, policy], model.optimistic)
            value = np.linalg.solve(system, right[..., None])[..., 0].astype(np.float64)
            q = worth(value)
            changed = known & (q.max(axis=2) > q[k, states, policy] + 0.01 * model.tolerance)
            if not changed.any():
                return value
            policy = np.where(changed, q.argmax(axis=2), policy)
