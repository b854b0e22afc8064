"""The step table: what is recorded of played steps, as arrays over episodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame

NONE = -1
"""Index that stands for 'no action' in the arrays; NULL on disk."""

ACT, PREDICT = "act", "predict"
"""The questions of every step."""

REACT = "react"
"""The question of the conditional probe; a number follows it, the index of an own action."""

DRAW = "draw"
"""The literal question once more, to see how often each answer comes; a number follows it."""

BELIEF = "belief"
"""The key of what was stated to a subject among the facts about its action, see `subjects.base`."""

IntArray = NDArray[np.integer[Any]]


@dataclass(eq=False)
class Steps:
    """E episodes of one cell with T recorded steps each. Arrays have shape (E, T)."""

    episodes: IntArray  # shape (E,): episode numbers, from 0
    partners: IntArray  # shape (E,): index of each episode's partner in the cell's partner set
    # ``complete``; ``void`` for an episode that an invalid answer ended early; ``failed`` for one
    # that a backend error did.
    status: str
    # Indices; -1 where there is none.
    partner_state: IntArray
    own_action: IntArray
    partner_action: IntArray
    predicted_action: IntArray
    # Index into `book`; -1 where all mass lies on the recorded action.
    own_probs: IntArray
    predicted_probs: IntArray
    book: list[tuple[float, ...]]  # the distinct distributions
    # Index into `OUTCOMES`.
    act_outcome: IntArray
    predict_outcome: IntArray
    # How often the subject was asked.
    act_attempts: IntArray
    predict_attempts: IntArray
    # Whether the subject learned in this step what the observation does not show.
    told: NDArray[np.bool_]
    # For some (row of the arrays, step index): a dict with any of ``act``, ``predict`` (facts about
    # that answer) and ``reactions`` (per own action the partner's next action that counts, stated
    # or, under the policy ``random``, drawn; -1 where there is none).
    details: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    # (episode, step, question, outcome, attempts, value, raw) of every reaction and every question
    # asked aside; see `REACT` and `Subject.aside`.
    asked: list[tuple[int, int, str, str, int, str | None, str]] = field(default_factory=list)
    # (episode, step, form, call) of every model call; `form` is what it was for.
    calls: list[tuple[int, int, str, dict[str, Any]]] = field(default_factory=list)
    # The same of a player in the partner's seat, of all its answers; see `storing.PARTNER`.
    other_asked: list[tuple[int, int, str, str, int, str | None, str]] = field(default_factory=list)
    other_calls: list[tuple[int, int, str, dict[str, Any]]] = field(default_factory=list)

    def rewards(self, game: MatrixGame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return own and partner's rewards, shape (E, T); NaN if no action was taken."""
        pair = game.payoffs[self.own_action, self.partner_action]
        played = ((self.own_action != NONE) & (self.partner_action != NONE))[..., None]
        pair = np.where(played, pair, np.nan)
        return pair[..., 0], pair[..., 1]
