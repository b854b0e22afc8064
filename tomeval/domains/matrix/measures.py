"""Literal and functional measures per episode, from played steps alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import reference_rewards
from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.responses import best_responses, misjudgement_cost, stepwise_regret

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

METRICS = (
    "tom_percent",
    "delta_functional_per_step",
    "delta_tom_best_response_per_step",
    "delta_tom_misprediction_per_step",
    "stepwise_regret_per_step",
    "response_gap_per_step",
    "foresight_gap_per_step",
    "self_consistency_percent",
    "reward_per_step",
)
"""All metrics, in the order of the tables."""


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


def step_metrics(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric's contribution of every step.

    Parameters
    ----------
    played : Played
    reference : {"horizon", "stationary"}
        What ΔFunctional is measured from: the expected rewards of the best response over the
        episode's own length (the definition), or the best long-run mean reward per step.

    Returns
    -------
    dict of str to ndarray, shape (N,)
        One entry per name in `METRICS`, in payoff units or percent. Their mean over an episode's
        steps is the episode's value. NaN where the needed input is missing: everything but reward
        and ToM % without a partner table, everything about predictions without predictions.

    Notes
    -----
    With b_t the partner's action, a_t the own one and c_t the predicted one (Riemer et al. 2025):

    - ToM % (def. 2.1, identity, percent): 100 [c_t = b_t].
    - ΔFunctional (def. 2.2): r*_t - r(a_t, b_t).
    - ΔToM: `tomeval.domains.matrix.responses.misjudgement_cost` of (c_t, b_t), under both rules.
    - stepwise regret: max_a r(a, b_t) - r(a_t, b_t).
    - ΔFunctional = belief + response + foresight, exactly: belief is ΔToM (best response), response
      is stepwise regret - belief, foresight is ΔFunctional - stepwise regret. For a stochastic
      partner foresight also holds what only a clairvoyant could have gained.
    - self-consistency: 100 [a_t is a best response to c_t].
    """
    game, shape = played.game, played.own.shape
    missing = np.full(shape, np.nan)
    result = dict.fromkeys(METRICS, missing)
    result["reward_per_step"] = played.own_reward
    predicted = played.predicted
    if predicted is not None:
        result["tom_percent"] = 100.0 * (predicted == played.partner)
    if not played.partners:
        return result
    functional = _reference_by_step(played, reference) - played.own_reward
    stepwise = stepwise_regret(game)[played.own, played.partner]
    result["delta_functional_per_step"] = functional
    result["stepwise_regret_per_step"] = stepwise
    result["foresight_gap_per_step"] = functional - stepwise
    if predicted is not None:
        belief = misjudgement_cost(game, "best_response")[predicted, played.partner]
        wrong = misjudgement_cost(game, "misprediction")[predicted, played.partner]
        consistent = best_responses(game)[played.own, predicted]
        result["delta_tom_best_response_per_step"] = belief
        result["delta_tom_misprediction_per_step"] = wrong
        result["response_gap_per_step"] = stepwise - belief
        result["self_consistency_percent"] = 100.0 * consistent
    return result


def episode_metrics(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric per episode: the mean over its steps, shape (E,).

    The episode is the sampling unit of every interval. Parameters and NaN as for `step_metrics`.

    Examples
    --------
    Always defecting against tit for tat, three steps, payoffs 8, 0, 10, 5. The optimum cooperates
    twice and then defects: 26. Defecting earns 10 + 5 + 5 = 20, a regret of 2 per step. With the
    partner's moves held fixed nothing was lost: all of it is foresight.

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner
    >>> game = get_game("IPD")
    >>> defect = np.array([1, 1, 1])
    >>> theirs = np.array([0, 1, 1])
    >>> played = Played(game, [get_partner("tit_for_tat", game)], np.array([0]), np.array([3]),
    ...                 defect, theirs, theirs, game.own[defect, theirs])
    >>> metrics = episode_metrics(played)
    >>> float(metrics["delta_functional_per_step"][0]), float(metrics["foresight_gap_per_step"][0])
    (2.0, 2.0)
    """
    by_step = step_metrics(played, reference)
    if played.episodes == 0:
        return {name: np.empty(0) for name in METRICS}
    starts = np.concatenate([[0], np.cumsum(played.lengths)[:-1]])
    return {
        name: np.add.reduceat(values, starts) / played.lengths for name, values in by_step.items()
    }


def curves(played: Played, reference: str = "horizon") -> dict[str, FloatArray]:
    """Return every metric by step and episode, shape (E, T), for episodes of equal length."""
    if len(set(played.lengths.tolist())) > 1:
        raise ValueError("curves need episodes of equal length")
    by_step = step_metrics(played, reference)
    return {name: values.reshape(played.episodes, -1) for name, values in by_step.items()}


def _reference_by_step(played: Played, reference: str) -> FloatArray:
    """Return r*_t of every step, shape (N,)."""
    pairs, inverse = np.unique(
        np.stack([played.which, played.lengths], axis=1), axis=0, return_inverse=True
    )
    rewards = [
        reference_rewards(played.game, played.partners[k], int(length), reference)
        for k, length in pairs
    ]
    if not rewards:
        return np.empty(0)
    if len({len(row) for row in rewards}) == 1:
        return np.stack(rewards)[inverse].ravel()
    return np.concatenate([rewards[i] for i in inverse])
