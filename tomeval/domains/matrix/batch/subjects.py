"""Batch forms of the fixed and simulated subjects and of fictitious play."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.optima import best_response
from tomeval.domains.matrix.play import Setup
from tomeval.domains.matrix.responses import best_responses, gains
from tomeval.domains.matrix.steps import NONE
from tomeval.domains.matrix.subjects.base import check_unit
from tomeval.domains.matrix.subjects.simulated import equilibrium, simulated_policy
from tomeval.domains.matrix.subjects.tabular import check_prior, fictitious_tolerance

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Answers(NamedTuple):
    """One step's answers of E episodes, each of shape (E,) or a scalar that holds for all.

    `own_probs` and `predicted_probs` index the subject's book; -1 is a point mass.
    """

    own: IntArray
    own_probs: IntArray | int
    predicted: IntArray
    predicted_probs: IntArray | int


class BatchSubject(ABC):
    """A subject over E episodes; `tells` whether it is told what the observation does not show."""

    tells = False
    book: list[tuple[float, ...]]

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


def tie_table(tied: NDArray[np.bool_]) -> tuple[IntArray, IntArray, list[tuple[float, ...]]]:
    """Return for each row of (R, k) its number of tied columns, the columns in order, uniforms."""
    count = tied.sum(axis=1)
    order = np.argsort(~tied, axis=1, kind="stable")
    return count, order, [tuple(map(float, row / row.sum())) for row in tied]


def all_tie_sets(k: int) -> NDArray[np.bool_]:
    """Return every subset of k actions, row number = bit mask, shape (2**k, k)."""
    sets: NDArray[np.bool_] = (np.arange(2**k)[:, None] >> np.arange(k)) & 1 == 1
    return sets


class _Fixed(BatchSubject):
    """Draws both answers from fixed distributions."""

    def __init__(self, own: FloatArray, partner: FloatArray) -> None:
        self.bounds = [np.cumsum(row)[:-1] for row in (own, partner)]
        self.book = [tuple(map(float, row)) for row in (own, partner)]
        self.codes = [NONE if row.max() == 1.0 else i for i, row in enumerate((own, partner))]

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        own = sum((u[0] >= bound for bound in self.bounds[0]), np.zeros(u.shape[1], np.int64))
        predicted = sum((u[1] >= bound for bound in self.bounds[1]), np.zeros(u.shape[1], np.int64))
        return Answers(own, self.codes[0], predicted, self.codes[1])


class BatchRandom(_Fixed):
    """Uniform random."""

    def __init__(self, setup: Setup, episodes: int) -> None:
        n, m = setup.game.n, setup.game.m
        super().__init__(np.full(n, 1 / n), np.full(m, 1 / m))


class BatchEquilibrium(_Fixed):
    """Equilibrium player."""

    def __init__(self, setup: Setup, episodes: int, **options: Any) -> None:
        super().__init__(*equilibrium(setup.game, **options))


class BatchBestResponse(BatchSubject):
    """Best-response oracle."""

    tells = True

    def __init__(self, setup: Setup, episodes: int) -> None:
        partners = setup.tables.partners
        plans = [best_response(setup.game, partner, setup.horizon) for partner in partners]
        self.policy = np.concatenate([plan.policy for plan in plans], axis=1)
        rows = np.concatenate([partner.emissions for partner in partners])
        self.likely = rows.argmax(axis=1)
        self.book = [tuple(map(float, row)) for row in rows]
        self.codes = np.where(rows.max(axis=1) == 1.0, NONE, np.arange(len(rows)))

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        return Answers(self.policy[t, state], NONE, self.likely[state], self.codes[state])


class BatchSimulated(BatchSubject):
    """The simulated subject."""

    tells = True

    def __init__(self, setup: Setup, episodes: int, p: float = 1.0, q: float = 1.0) -> None:
        self.p, self.q = check_unit("simulated: p", p), check_unit("simulated: q", q)
        game = setup.game
        self.n, self.m = game.n, game.m
        tied = best_responses(game).T
        self.count, self.order, _ = tie_table(tied)
        policies = [simulated_policy(row, self.q) for row in tied]
        self.book = [tuple(map(float, policy)) for policy in policies]
        self.codes = np.array([NONE if row.max() == 1.0 else i for i, row in enumerate(policies)])

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        shift = 1 + choose(self.m - 1, u[1])
        shift[u[0] < self.p] = 0
        predicted = truth + shift
        predicted[predicted >= self.m] -= self.m
        best = self.order[predicted, choose(self.count[predicted], u[3])]
        own = np.where(u[2] < self.q, best, choose(self.n, u[3]))
        return Answers(own, self.codes[predicted], predicted, NONE)


class BatchFictitiousPlay(BatchSubject):
    """Fictitious play."""

    def __init__(self, setup: Setup, episodes: int, prior: float = 1.0) -> None:
        self.game, self.payoffs = setup.game, gains(setup.game)
        self.counts = np.full((episodes, self.game.m), check_prior(prior))
        self.rows = np.arange(episodes)
        self.ties = {k: tie_table(all_tie_sets(k)[1:]) for k in {self.game.n, self.game.m}}
        self.book = []
        self.known: dict[tuple[float, ...], int] = {}

    def answer(self, t: int, state: IntArray, truth: IntArray, u: FloatArray) -> Answers:
        """Act and predict."""
        # One product per action, as in the plain form, so that rounding is the same.
        q = self.counts @ self.payoffs.T
        total = self.counts.sum(axis=1)
        slack = fictitious_tolerance(self.game, 1.0) * total
        own, own_set = self._pick(q >= (q.max(axis=1) - slack)[:, None], u[0])
        most = self.counts == self.counts.max(axis=1, keepdims=True)
        predicted, _ = self._pick(most, u[1])
        frequencies = (self.counts / total[:, None]).tolist()
        predicted_codes = np.array([self._code(tuple(row)) for row in frequencies])
        count, _, uniform = self.ties[self.game.n]
        own_codes = np.array(
            [NONE if c == 1 else self._code(r) for c, r in zip(count, uniform, strict=True)]
        )
        return Answers(own, own_codes[own_set], predicted, predicted_codes)

    def _pick(self, tied: NDArray[np.bool_], u: FloatArray) -> tuple[IntArray, IntArray]:
        """Draw among ties; also return the row of the tie table."""
        count, order, _ = self.ties[tied.shape[1]]
        mask = tied @ (1 << np.arange(tied.shape[1])) - 1
        return order[mask, choose(count[mask], u)], mask

    def _code(self, row: tuple[float, ...]) -> int:
        """Return the index of a distribution in the book."""
        code = self.known.setdefault(row, len(self.book))
        if code == len(self.book):
            self.book.append(row)
        return code

    def observe(self, own: IntArray, partner: IntArray) -> None:
        """Learn what was played."""
        self.counts[self.rows, partner] += 1
