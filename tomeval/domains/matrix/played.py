"""The complete episodes of one cell, as measures read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.partners import Partner

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Against whom recorded episodes were played, where a single partner does not say it."""

    partners: Sequence[Partner]  # K of them, each beginning in the state that some episode began in
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
