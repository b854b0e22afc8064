"""The complete episodes of one cell, as measures read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.partners import Partner

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Played:
    """Complete episodes of one cell, step after step, episode after episode.

    Attributes
    ----------
    game : MatrixGame
    partners : sequence of Partner
        The cell's partners; empty where the partner is unknown.
    which : ndarray of int, shape (E,)
        Index into `partners` per episode; not read where `partners` is empty.
    lengths : ndarray of int, shape (E,)
        Steps per episode, at least 1.
    own, partner : ndarray of int, shape (N,)
        Actions; N is the sum of `lengths`.
    predicted : ndarray of int, shape (N,), or None
        Predicted partner actions, or None where none were asked for.
    own_reward : ndarray, shape (N,)
        The subject's recorded rewards.
    reactions : ndarray of int, shape (N, n), or None
        Per own action the partner's next action as the subject states it; -1 where it was not asked
        (always in the last step) or gave no valid answer. None where no step was asked.
    partner_state : ndarray of int, shape (N,), or None
        Needed with `reactions`.
    """

    game: MatrixGame
    partners: Sequence[Partner]
    which: IntArray
    lengths: IntArray
    own: IntArray
    partner: IntArray
    predicted: IntArray | None
    own_reward: FloatArray
    reactions: IntArray | None = None
    partner_state: IntArray | None = None

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.lengths)
