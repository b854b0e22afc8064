"""What steps lost: against the best response, against the best action, and in hindsight."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import reference_rewards
from tomeval.games.matrix.played import FloatArray, IntArray, Played
from tomeval.games.matrix.responses import misjudgement_cost, stepwise_regret
from tomeval.games.matrix.steps import NONE


class StepFacts:
    """What measures by step are made of; every array is of shape (N,), in payoff units.

    With b_t the partner's action, a_t the own one and c_t the predicted one (Riemer et al. 2025):

    - `regret`: r*_t - r(a_t, b_t).
    - `stepwise`: max_a r(a, b_t) - r(a_t, b_t).
    - `belief`: `tomeval.games.matrix.responses.misjudgement_cost` of (c_t, b_t).

    `regret` = belief + response + foresight, exactly: response is `stepwise` - belief, foresight is
    `regret` - `stepwise`. For a stochastic partner foresight also holds what only a clairvoyant
    could have gained.
    """

    def __init__(self, played: Played, reference: str) -> None:
        self.played, self.reference = played, reference
        self.there = {
            "": np.ones(played.own.shape, dtype=bool),
            "partner": np.full(played.own.shape, len(played.partners) > 0),
            "predictions": np.zeros(played.own.shape, dtype=bool)
            if played.predicted is None
            else played.predicted != NONE,
        }

    @cached_property
    def predicted(self) -> IntArray:
        """The prediction; 0 on steps without one."""
        assert self.played.predicted is not None
        return np.where(self.there["predictions"], self.played.predicted, 0)

    @cached_property
    def regret(self) -> FloatArray:
        """What the step earned less than the reference."""
        return _reference_by_step(self.played, self.reference) - self.played.own_reward

    @cached_property
    def stepwise(self) -> FloatArray:
        """What the step earned less than the best action against the partner's."""
        regret: FloatArray = stepwise_regret(self.played.game)[self.played.own, self.played.partner]
        return regret

    def cost(self, rule: Literal["best_response", "misprediction"]) -> FloatArray:
        """Return what a best response to the prediction earns less than the best action."""
        cost: FloatArray = misjudgement_cost(self.played.game, rule)[
            self.predicted, self.played.partner
        ]
        return cost

    @cached_property
    def belief(self) -> FloatArray:
        """The cost of the prediction under the rule ``best_response``."""
        return self.cost("best_response")


def _reference_by_step(played: Played, reference: str) -> FloatArray:
    """Return r*_t of every step, shape (N,)."""
    rewards = np.zeros(len(played.own))
    for partner, length, _, steps in played.alike():
        rewards[steps] = reference_rewards(played.game, partner, length, reference)
    return rewards


HINDSIGHT = ("hindsight_constant_regret_per_step", "hindsight_memory_one_regret_per_step")


def hindsight_metrics(played: Played) -> dict[str, FloatArray]:
    """Return what the best simple reply, chosen after the episode, would have earned more.

    The partner's moves are held fixed as they were recorded, so both are lower bounds of stepwise
    regret, in this order; neither is ΔFunctional, which knows how the partner would have reacted.

    Returns
    -------
    dict of str to ndarray, shape (E,)
        One entry per name in `HINDSIGHT`, in payoff units per step. The best constant reply is one
        action for the whole episode. The best memory-one reply is a first action, and one action
        for each previous joint move as it was recorded. Negative if the subject earned more than
        any such reply.

    Examples
    --------
    Cooperating with a partner that cooperates and defects in turn, four steps: always defecting
    would have earned 10 + 5 + 10 + 5 instead of 8 + 0 + 8 + 0.

    >>> from tomeval.games.matrix.games import get_game
    >>> game = get_game("IPD")
    >>> own, theirs = np.array([0, 0, 0, 0]), np.array([0, 1, 0, 1])
    >>> played = Played(game, (), np.array([0]), np.array([4]), own, theirs, None,
    ...                 game.own[own, theirs])
    >>> [float(values[0]) for values in hindsight_metrics(played).values()]
    [3.5, 3.5]
    """
    ends = np.cumsum(played.lengths)
    constant, memory_one = np.empty((2, played.episodes))
    for episode, (end, length) in enumerate(zip(ends, played.lengths, strict=True)):
        rounds = slice(end - length, end)
        own, theirs = played.own[rounds], played.partner[rounds]
        earned = float(played.own_reward[rounds].sum())
        constant[episode] = (best_constant(played.game, theirs) - earned) / length
        memory_one[episode] = (best_memory_one(played.game, own, theirs) - earned) / length
    return dict(zip(HINDSIGHT, (constant, memory_one), strict=True))


def best_constant(game: MatrixGame, theirs: IntArray) -> float:
    """Return what the best single action would have earned against the partner's moves."""
    return float(game.own[:, theirs].sum(axis=1).max())


def best_memory_one(game: MatrixGame, own: IntArray, theirs: IntArray) -> float:
    """Return what the best reply to the previous joint move would have earned.

    The joint moves are the recorded ones, which makes it exact: the steps after each of them are a
    choice of their own, and the first step is another.
    """
    total = float(game.own[:, theirs[0]].max())
    before = own[:-1] * game.m + theirs[:-1]
    for joint in np.unique(before):
        total += best_constant(game, theirs[1:][before == joint])
    return total
