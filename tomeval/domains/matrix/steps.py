"""The step table: what is recorded of played steps, as arrays over episodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame

NONE = -1
"""Index that stands for 'no action' in the arrays; NULL on disk."""

IntArray = NDArray[np.integer[Any]]


@dataclass(eq=False)
class Steps:
    """E episodes of one cell with T recorded steps each. Arrays have shape (E, T).

    Attributes
    ----------
    episodes : ndarray, shape (E,)
        Episode numbers, from 0.
    partners : ndarray, shape (E,)
        Index of each episode's partner in the cell's partner set.
    status : str
        ``complete``; ``void`` for an episode that an invalid answer ended early; ``failed`` for one
        that a backend error did.
    partner_state, own_action, partner_action, predicted_action : ndarray of int
        Indices; -1 where there is none.
    own_probs, predicted_probs : ndarray of int
        Index into `book`; -1 where all mass lies on the recorded action.
    book : list of tuple of float
        The distinct distributions.
    act_outcome, predict_outcome : ndarray of int
        Index into `OUTCOMES`.
    act_attempts, predict_attempts : ndarray of int
        How often the subject was asked.
    told : ndarray of bool
        Whether the subject learned in this step what the observation does not show.
    details : dict
        For some (row of the arrays, step index): a dict with any of ``act``, ``predict`` (facts
        about that answer) and ``reactions`` (per own action the partner's next action as stated, -1
        where the answer was invalid).
    calls : list of tuple
        (episode, step, form, call) of every model call; `form` is what it was for.
    """

    episodes: IntArray
    partners: IntArray
    status: str
    partner_state: IntArray
    own_action: IntArray
    partner_action: IntArray
    predicted_action: IntArray
    own_probs: IntArray
    predicted_probs: IntArray
    book: list[tuple[float, ...]]
    act_outcome: IntArray
    predict_outcome: IntArray
    act_attempts: IntArray
    predict_attempts: IntArray
    told: NDArray[np.bool_]
    details: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[int, int, str, dict[str, Any]]] = field(default_factory=list)

    def rewards(self, game: MatrixGame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return own and partner's rewards, shape (E, T); NaN where no action was taken."""
        pair = game.payoffs[self.own_action, self.partner_action]
        played = (self.own_action != NONE)[..., None]
        pair = np.where(played, pair, np.nan)
        return pair[..., 0], pair[..., 1]
