"""The complete episodes of one cell, as measures read them, and whom recorded ones met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.partners import Partner
from tomeval.runs.measures import Totals

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Against whom recorded episodes were played, where a single partner does not say it."""

    partners: Sequence[Partner]  # K of them
    weights: FloatArray  # shape (E, K): probability of each; rows sum to 1


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
    # Shape (N, n): per own action the partner's next action that counts, as the subject states it
    # or, under the policy ``random``, as it was drawn in place of an invalid answer; -1 where it
    # was not asked (always in the last step). None if no step was asked.
    reactions: IntArray | None = None
    drawn_reactions: BoolArray | None = None  # shape (N, n): which were drawn; None: none
    partner_state: IntArray | None = None  # shape (N,): needed with `reactions`
    # Recorded games only: takes the place of `which` in what regret is measured from.
    mixture: Mixture | None = None
    # What groups of measures read besides, by name, when it is first called; see `groups`.
    more: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.lengths)

    def opponents(self) -> tuple[Sequence[Partner], FloatArray]:
        """Return the partners, K of them, and the probability of each in every episode, (E, K)."""
        if self.mixture is not None:
            return self.mixture.partners, self.mixture.weights
        return self.partners, np.eye(len(self.partners))[self.which]


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
            return nothing(played, share)
        return of(played, data)

    return totals


def step_mean(
    name: str, of: Callable[[Played, Any], FloatArray | BoolArray]
) -> Callable[[Played, str], Totals]:
    """Return `Measure.of` for the mean over an episode's steps of what `of` gives, shape (N,)."""
    return from_data(
        name, lambda played, data: Totals(by_episode(played, of(played, data)) / played.lengths)
    )


def step_share(
    name: str, of: Callable[[Played, Any], tuple[FloatArray | BoolArray, FloatArray | BoolArray]]
) -> Callable[[Played, str], Totals]:
    """Return `Measure.of` for a share of steps: `of` gives the hits and which steps count, (N,)."""

    def totals(played: Played, data: Any) -> Totals:
        hits, among = (by_episode(played, steps) for steps in of(played, data))
        return Totals(hits, among, share=True)

    return from_data(name, totals, share=True)


def nothing(played: Played, share: bool = False) -> Totals:
    """Return a measure that no episode has a value of; see `from_data`."""
    if share:
        return Totals(np.zeros(played.episodes), np.zeros(played.episodes), share=True)
    return Totals(np.full(played.episodes, np.nan))


def by_episode(played: Played, values: FloatArray | BoolArray) -> FloatArray:
    """Return the sums over the steps of each episode, shape (E,), given the steps' values (N,)."""
    starts = np.cumsum(played.lengths) - played.lengths
    if not played.episodes:
        return np.empty(0)
    sums: FloatArray = np.add.reduceat(values, starts, dtype=np.float64)
    return sums


def states_of(played: Played, partner: Partner, episodes: IntArray) -> tuple[IntArray, IntArray]:
    """Return a partner's state in every step of some episodes, followed along the moves.

    The states have shape (sum of the episodes' lengths,); the second array says where each episode
    begins in it.
    """
    lengths = played.lengths[episodes]
    from_ = (np.cumsum(played.lengths) - played.lengths)[episodes]
    starts = np.cumsum(lengths) - lengths
    states = np.empty(int(lengths.sum()), dtype=np.int64)
    state = np.full(len(episodes), partner.start)
    for t in range(int(lengths.max(initial=0))):
        going = lengths > t
        at = from_[going] + t
        states[starts[going] + t] = state[going]
        state[going] = partner.next_state[state[going], played.own[at], played.partner[at]]
    return states, starts


Moves = tuple[IntArray, IntArray]
"""A match: own actions and the partner's, each of shape (T,)."""


class ImpossibleError(Exception):
    """Moves that no partner of the set can have made.

    Attributes
    ----------
    step : int
        Where the partner that fits longest first fails, from 0.
    """

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.step = step


@dataclass(frozen=True, eq=False)
class Attribution:
    """Who played a match.

    Attributes
    ----------
    weights : ndarray, shape (K,)
        Posterior probability of each partner: the probability of all its moves, given the
        subject's, times its weight in the set, normalised.
    states : ndarray of int, shape (K, T)
        The state that each partner was in at every step; meaningless for partners of weight 0.
    """

    weights: FloatArray
    states: IntArray


def attribute(partners: Sequence[Partner], prior: Sequence[float], moves: Moves) -> Attribution:
    """Find who played a match.

    Raises
    ------
    ImpossibleError
        Every partner would have had to make a move of probability 0.

    Examples
    --------
    Against a subject that defects, tit for tat defects from the second step on. Always cooperating
    is then impossible; a fair coin plays C, D with probability 1/4:

    >>> from tomeval.games.matrix.games import get_game
    >>> from tomeval.games.matrix.partner_specs import get_partner_set
    >>> known = get_partner_set("tit_for_tat + always(0) + uniform_random", get_game("IPD"))
    >>> moves = (np.array([1, 1]), np.array([0, 1]))
    >>> attribute(known.partners, known.weights, moves).weights.tolist()
    [0.8, 0.0, 0.2]
    """
    logs = np.log(np.asarray(prior, dtype=np.float64))
    states = np.zeros((len(partners), len(moves[0])), dtype=np.int64)
    failures: list[int] = []
    for index, partner in enumerate(partners):
        state, log = partner.start, 0.0
        for step, (a, b) in enumerate(zip(moves[0].tolist(), moves[1].tolist(), strict=True)):
            states[index, step] = state
            chance = float(partner.emissions[state, b])
            if chance == 0:
                log = -np.inf
                failures.append(step)
                break
            log += float(np.log(chance))
            if a >= 0:  # a match ends where the subject made no move
                state = int(partner.next_state[state, a, b])
        logs[index] += log
    if len(failures) == len(partners):
        raise ImpossibleError(max(failures))
    weights = np.exp(logs - logs.max())
    return Attribution(weights / weights.sum(), states)


def mixture_of(
    partners: Sequence[Partner], prior: Sequence[float], matches: Sequence[Moves]
) -> Mixture | None:
    """Return which partners the matches were played against; None: a single one in every match."""
    if len(partners) < 2 or not matches:
        return None
    weights = np.array([attribute(partners, prior, moves).weights for moves in matches])
    if (np.count_nonzero(weights, axis=1) == 1).all():
        return None
    met = np.flatnonzero(weights.any(axis=0)).tolist()
    return Mixture([partners[k] for k in met], weights[:, met])
