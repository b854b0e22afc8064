"""The policies of the fixed and simulated subjects and of fictitious play, over many episodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.responses import best_responses, gains
from tomeval.domains.matrix.subjects.base import check_unit
from tomeval.domains.matrix.subjects.simulated import equilibrium, simulated_policy

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

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
