"""The complete episodes of one cell as measures read them, and what steps lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.optima import reference_rewards
from tomeval.games.matrix.partners import Partner
from tomeval.games.matrix.responses import misjudgement_cost, stepwise_regret
from tomeval.games.matrix.rules import NONE
from tomeval.runs.measures import Totals

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Played:
    """Complete episodes of one cell, step after step, episode after episode."""

    game: MatrixGame
    partners: Sequence[Partner]  # empty if the partner is unknown
    # Shape (E,): index into `partners` per episode; not read where `partners` is empty.
    which: IntArray
    lengths: IntArray  # shape (E,): steps per episode, at least 1
    # Shape (N,): actions; N is the sum of `lengths`.
    own: IntArray
    partner: IntArray
    # Shape (N,): predicted partner actions, or None if none were asked for. In recorded games some
    # can be -1: not asked or not readable.
    predicted: IntArray | None
    own_reward: FloatArray  # shape (N,): the subject's recorded rewards
    # Shape (N, n): per own action the partner's next action as the subject states it; -1 where it
    # did not (always in the last step). None if no step was asked.
    reactions: IntArray | None = None
    # Probability that a game goes on after a step; None: it lasts as long as it was said to.
    continuation: float | None = None
    # What groups of measures read besides, by name, when it is first called; see `groups`.
    more: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.lengths)

    @cached_property
    def starts(self) -> IntArray:
        """Where each episode begins in arrays over steps, shape (E,)."""
        return np.cumsum(self.lengths) - self.lengths

    def alike(self) -> Iterator[tuple[Partner, int, IntArray, IntArray]]:
        """Yield the episodes against one partner over T steps, for every such pair.

        Partner and T, the numbers of the episodes, (K,), and the places of their steps, (K, T).
        """
        for index, partner in enumerate(self.partners):
            for length in np.unique(self.lengths[self.which == index]).tolist():
                mine = np.flatnonzero((self.which == index) & (self.lengths == length))
                yield partner, length, mine, self.starts[mine, None] + np.arange(length)

    @cached_property
    def states(self) -> IntArray:
        """The partner's state in every step, shape (N,), followed along the moves; -1: unknown."""
        states = np.full(len(self.own), -1)
        for partner, _, _, steps in self.alike():
            state = np.full(len(steps), partner.start)
            for at in steps.T:
                states[at] = state
                state = partner.next_state[state, self.own[at], self.partner[at]]
        return states

    def per_step(self, sums: FloatArray, counts: FloatArray | None = None) -> Totals:
        """Return a mean over steps, given their sums and numbers by episode, (E,); default: all.

        The mean over episodes of their means. If games go on with a probability, the ratio of the
        sums over episodes: every step counts the same, whatever lengths were drawn, and regret is
        that of the whole game over the number of steps that are expected. NaN: no step counts.
        """
        counts = self.lengths.astype(np.float64) if counts is None else counts
        if self.continuation is not None:
            return Totals(np.where(counts > 0, sums, np.nan), counts, ratio=True, percent=False)
        return Totals(np.divide(sums, counts, out=sums * np.nan, where=counts > 0))


def data_of(played: Played, name: str) -> Any:
    """Return what a group has read of a cell; None if the run has no such data."""
    return played.more[name]() if name in played.more else None


def from_data(
    name: str, of: Callable[[Played, Any], Totals], share: bool = False
) -> Callable[[Played, str], Totals]:
    """Return `Measure.of` for a measure that is made of what the group `name` has read.

    `of` is called with the episodes and their data. In a cell without data or without episodes no
    episode has a value: a share of no items if the measure is a `share` (see `Totals`), so that
    tables treat it alike in all cells.
    """

    def totals(played: Played, reference: str) -> Totals:
        if not played.episodes or (data := data_of(played, name)) is None:
            none = np.zeros(played.episodes)
            return Totals(none, none, share=True) if share else Totals(none * np.nan)
        return of(played, data)

    return totals


def from_steps(
    name: str, of: Callable[[Played, Any], Any], share: bool = False
) -> Callable[[Played, str], Totals]:
    """Return `Measure.of` for the mean over an episode's steps of what `of` gives, shape (N,).

    For a `share` of steps it gives the hits and which steps count, both of shape (N,).
    """

    def totals(played: Played, data: Any) -> Totals:
        if share:
            hits, among = (by_episode(played, steps) for steps in of(played, data))
            return Totals(hits, among, share=True)
        return played.per_step(by_episode(played, of(played, data)))

    return from_data(name, totals, share)


def by_episode(played: Played, values: FloatArray | BoolArray) -> FloatArray:
    """Return the sums over the steps of each episode, shape (E,), given the steps' values (N,)."""
    if not played.episodes:
        return np.empty(0)
    sums: FloatArray = np.add.reduceat(values, played.starts, dtype=np.float64)
    return sums


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
        said = np.full(played.own.shape, NONE) if played.predicted is None else played.predicted
        self._there = said != NONE
        # The prediction; 0 on steps without one.
        self.predicted: IntArray = np.where(self._there, said, 0)

    def if_said(self, values: FloatArray | BoolArray) -> FloatArray:
        """Return what a step with a prediction adds; NaN on the others."""
        return np.where(self._there, values, np.nan)

    @cached_property
    def regret(self) -> FloatArray:
        """What the step earned less than the reference; NaN without a partner's table."""
        if not self.played.partners:
            return np.full(self.played.own.shape, np.nan)
        return _reference_by_step(self.played, self.reference) - self.played.own_reward

    @cached_property
    def stepwise(self) -> FloatArray:
        """What the step earned less than the best action against the partner's."""
        regret: FloatArray = stepwise_regret(self.played.game)[self.played.own, self.played.partner]
        return regret

    def cost(self, rule: Literal["best_response", "misprediction"]) -> FloatArray:
        """Return what a best response to the prediction earns less than the best action."""
        cost = misjudgement_cost(self.played.game, rule)
        return self.if_said(cost[self.predicted, self.played.partner])

    @cached_property
    def belief(self) -> FloatArray:
        """The cost of the prediction under the rule ``best_response``."""
        return self.cost("best_response")


def _reference_by_step(played: Played, reference: str) -> FloatArray:
    """Return r*_t of every step, shape (N,)."""
    rewards = np.zeros(len(played.own))
    for partner, length, _, steps in played.alike():
        rewards[steps] = reference_rewards(
            played.game, partner, length, reference, played.continuation
        )
    return rewards


def hindsight_regret(played: Played) -> FloatArray:
    """Return how much more per step the best single action would have earned, shape (E,).

    Chosen after the episode, with the partner's moves held fixed as they were recorded: a lower
    bound of stepwise regret, and not ΔFunctional, which knows how the partner would have reacted.
    In payoff units; negative if the subject earned more than any single action.

    Examples
    --------
    Cooperating with a partner that cooperates and defects in turn, four steps: always defecting
    would have earned 10 + 5 + 10 + 5 instead of 8 + 0 + 8 + 0.

    >>> from tomeval.games.matrix.games import get_game
    >>> game = get_game("IPD")
    >>> own, theirs = np.array([0, 0, 0, 0]), np.array([0, 1, 0, 1])
    >>> played = Played(game, (), np.array([0]), np.array([4]), own, theirs, None,
    ...                 game.own[own, theirs])
    >>> float(hindsight_regret(played)[0])
    3.5
    """
    best = np.max([by_episode(played, row[played.partner]) for row in played.game.own], axis=0)
    regret: FloatArray = (best - by_episode(played, played.own_reward)) / played.lengths
    return regret
