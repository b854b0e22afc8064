"""The policies of known and learning subjects, over many episodes at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import best_response
from tomeval.games.matrix.play import Setup
from tomeval.games.matrix.responses import best_responses, gains
from tomeval.games.matrix.subjects.base import check_unit
from tomeval.games.matrix.subjects.simulated import equilibrium, simulated_policy

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

RMAX_TIES = ("random", "first")
TIE_TOLERANCE = 1e-9
"""Values closer than this, times the largest value a state can have, count as tied."""


class Answers(NamedTuple):
    """One step's answers of E episodes: actions of shape (E,), and what was stated of them.

    Distributions have a row per episode, or one for all; None: all mass lies on the action.
    """

    own: IntArray
    predicted: IntArray
    own_probs: FloatArray | None = None
    predicted_probs: FloatArray | None = None


class BatchSubject(ABC):
    """A subject over E episodes; `tells` whether it is told what the observation does not show."""

    tells = False

    @classmethod
    def of(cls, setup: Setup, episodes: int) -> BatchSubject:
        """Return the subject of a cell; the other arguments of a class are a game and options."""
        return cls(setup.game, episodes, **setup.options)  # type: ignore[call-arg]

    @abstractmethod
    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict in step t (from 0), given uniform numbers of shape (draws, E).

        `state` counts through the states of all partners of the set, one table after another.
        """

    def observe(self, own: IntArray, partner: IntArray) -> None:  # noqa: B027 (most learn nothing)
        """Learn what was played."""


def choose(options: IntArray | int, u: FloatArray) -> IntArray:
    """Return ``floor(u * options)``, safe against rounding up."""
    chosen: IntArray = np.minimum((u * options).astype(np.int64), np.asarray(options) - 1)
    return chosen


def pick(tied: NDArray[np.bool_], u: FloatArray) -> tuple[IntArray, FloatArray]:
    """Draw one of the tied columns of each row, all equally likely; also return their chances."""
    count = tied.sum(axis=1)
    rank = choose(count, u)
    chosen: IntArray = (tied.cumsum(axis=1) > rank[:, None]).argmax(axis=1)
    return chosen, tied / count[:, None]


class _Fixed(BatchSubject):
    """Draws both answers from fixed distributions."""

    def __init__(self, own: FloatArray, partner: FloatArray) -> None:
        self.probs = own[None], partner[None]

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        own, predicted = (
            (one[:, None] >= np.cumsum(probs)[:-1]).sum(axis=1)
            for one, probs in zip(u, self.probs, strict=True)
        )
        return Answers(own, predicted, *self.probs)


class BatchRandom(_Fixed):
    """Uniform random."""

    def __init__(self, game: MatrixGame, episodes: int) -> None:
        super().__init__(np.full(game.n, 1 / game.n), np.full(game.m, 1 / game.m))


class BatchEquilibrium(_Fixed):
    """Equilibrium player."""

    def __init__(self, game: MatrixGame, episodes: int, select: str = "highest_welfare") -> None:
        super().__init__(*equilibrium(game, select))


class BatchBestResponse(BatchSubject):
    """Best-response oracle."""

    tells = True

    @classmethod
    def of(cls, setup: Setup, episodes: int) -> BatchBestResponse:
        """Return the subject of a cell, which knows all of its partners."""
        return cls(setup)

    def __init__(self, setup: Setup) -> None:
        partners = setup.tables.partners
        plans = [best_response(setup.game, partner, setup.horizon) for partner in partners]
        self.policy = np.concatenate([plan.policy for plan in plans], axis=1)
        self.emissions = np.concatenate([partner.emissions for partner in partners])

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        rows = self.emissions[state]
        return Answers(self.policy[t, state], rows.argmax(axis=1), None, rows)


class BatchSimulated(BatchSubject):
    """The simulated subject."""

    tells = True

    def __init__(self, game: MatrixGame, episodes: int, p: float = 1.0, q: float = 1.0) -> None:
        self.p, self.q = check_unit("simulated: p", p), check_unit("simulated: q", q)
        self.n, self.m = game.n, game.m
        self.best = best_responses(game).T  # [predicted, own]
        self.policies = np.stack([simulated_policy(tied, self.q) for tied in self.best])

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        shift = np.where(u[0] < self.p, 0, 1 + choose(self.m - 1, u[1]))
        predicted = (truth + shift) % self.m
        best, _ = pick(self.best[predicted], u[3])
        own = np.where(u[2] < self.q, best, choose(self.n, u[3]))
        return Answers(own, predicted, self.policies[predicted])


class BatchFictitiousPlay(BatchSubject):
    """Fictitious play."""

    def __init__(self, game: MatrixGame, episodes: int, prior: float = 1.0) -> None:
        numeric = isinstance(prior, int | float) and not isinstance(prior, bool)
        if not numeric or not 0 < prior < float("inf"):
            raise TomevalError(f"fictitious_play: prior must be a positive number, is {prior!r}")
        self.payoffs = gains(game)
        self.tolerance = TIE_TOLERANCE * max(1e-300, float(self.payoffs.max()))
        self.counts = np.full((episodes, game.m), float(prior))
        self.rows = np.arange(episodes)

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        q = self.counts @ self.payoffs.T
        total = self.counts.sum(axis=1)
        slack = self.tolerance * total
        own, own_probs = pick(q >= (q.max(axis=1) - slack)[:, None], u[0])
        predicted, _ = pick(self.counts == self.counts.max(axis=1, keepdims=True), u[1])
        return Answers(own, predicted, own_probs, self.counts / total[:, None])

    def observe(self, own: IntArray, partner: IntArray) -> None:
        """Learn what was played."""
        self.counts[self.rows, partner] += 1


class BatchRMax(BatchSubject):
    """Tabular RMax over E episodes.

    A state with an unknown action is worth the optimistic value whatever else is known, so values
    change only when the last action of a state becomes known. Then the learned model is solved by
    policy iteration, over all such episodes at once.
    """

    def __init__(
        self,
        game: MatrixGame,
        episodes: int,
        m: int = 1,
        gamma: float = 0.9,
        ties: str = "random",
    ) -> None:
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise TomevalError(f"rmax: m must be a whole number of at least 1, is {m!r}")
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 <= gamma < 1:
            raise TomevalError(f"rmax: gamma must be at least 0 and below 1, is {gamma!r}")
        if ties not in RMAX_TIES:
            raise unknown("tie-breaking", ties, RMAX_TIES, "rmax: ties")
        self.m, self.gamma, self.ties = m, float(gamma), ties
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
        own, probs = pick(tied, u[0] if self.ties == "random" else np.zeros(len(tied)))
        return Answers(own, self.counts[here].argmax(axis=1), probs)

    def observe(self, own: IntArray, partner: IntArray) -> None:
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
