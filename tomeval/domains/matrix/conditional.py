"""The conditional probe's measures: how good the stated reactions are, and what they are worth."""

from __future__ import annotations

import numpy as np

from tomeval.domains.matrix.games import MatrixGame
from tomeval.domains.matrix.optima import known_best_response
from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.played import BoolArray, FloatArray, IntArray, Played
from tomeval.domains.matrix.responses import ROUNDING, gains, payoff_rounding

CONDITIONAL_METRICS = ("delta_tom_planned_per_step", "reaction_accuracy_percent")
"""Further metrics of runs with the conditional probe; they follow the others."""


def conditional_metrics(played: Played) -> dict[str, FloatArray]:
    """Return the metrics of the conditional probe per episode, shape (E,).

    Returns
    -------
    dict of str to ndarray
        ``delta_tom_planned_per_step``: ΔToM under the rule `planned`, in payoff units, at least 0.
        In every step the rational player takes the prediction and the stated reactions as true for
        the rest of the episode, plans by dynamic programming, and takes the plan's first action;
        what that action loses against the partner's table, played optimally from then on, is the
        step's cost. Against deterministic partners ΔFunctional is the same sum over the actions
        really taken, so the two compare also where the partner reacts; against others the cost is
        measured, as all of ΔToM, from the best action given the move that the partner drew.
        An action that was drawn in place of an invalid reaction (policy ``random``) counts here as
        one drawn in place of an invalid prediction does.
        ``reaction_accuracy_percent``: how probable the stated next actions are under the partner's
        table, mean over own actions, then over steps. Nothing that was drawn is in it: the mean is
        over reactions that were stated, and steps with one. NaN if none was.
        Both are NaN if nothing was asked.
    """
    count = played.episodes
    result = {name: np.full(count, np.nan) for name in CONDITIONAL_METRICS}
    if played.reactions is None or played.partner_state is None or played.predicted is None:
        return result
    starts = np.concatenate([[0], np.cumsum(played.lengths)])
    for episode in range(count):
        part = slice(starts[episode], starts[episode + 1])
        reactions = played.reactions[part]
        if len(reactions) < 2 or (reactions[:-1] < 0).any():
            continue
        partner = played.partners[played.which[episode]]
        states, predicted = played.partner_state[part], played.predicted[part]
        actions = played.partner[part]
        planned = planned_regret(played.game, partner, states, actions, predicted, reactions)
        result["delta_tom_planned_per_step"][episode] = planned.mean()
        drawn = played.drawn_reactions
        stated = np.ones(reactions[:-1].shape, dtype=bool) if drawn is None else ~drawn[part][:-1]
        accuracy = reaction_accuracy(partner, states, actions, reactions, stated)
        if len(accuracy):
            result["reaction_accuracy_percent"][episode] = 100.0 * accuracy.mean()
    return result


def reaction_accuracy(
    partner: Partner, states: IntArray, actions: IntArray, reactions: IntArray, stated: BoolArray
) -> FloatArray:
    """Return how probable what was stated is, by step: mean over own actions, shape (at most T-1,).

    Parameters are as for `planned_regret`; `stated`, shape (T - 1, n), tells which reactions to
    look at. Steps without any are left out.
    """
    found = []
    for t in np.flatnonzero(stated.any(axis=1)):
        following = partner.next_state[states[t], :, actions[t]]
        found.append(partner.emissions[following, reactions[t]][stated[t]].mean())
    return np.array(found)


def planned_regret(
    game: MatrixGame,
    partner: Partner,
    states: IntArray,
    actions: IntArray,
    predicted: IntArray,
    reactions: IntArray,
) -> FloatArray:
    """Return what a planner that trusts its stated reactions loses in each step, shape (T,).

    Parameters
    ----------
    states, actions : ndarray of int, shape (T,)
        The partner's states and actions as played.
    predicted : ndarray of int, shape (T,)
        The predicted partner action of each step.
    reactions : ndarray of int, shape (T, n)
        Per own action the partner's next action as stated; not read in the last step.

    Returns
    -------
    ndarray
        ``max_a Q(a) - Q(a*)`` with Q the exact value of an action given the partner's state and
        action of the step and optimal play after it, a* the planner's action.
    """
    horizon = len(states)
    payoffs = gains(game)
    optimum = known_best_response(game, partner, horizon).relative
    plans: dict[tuple[int, ...], tuple[FloatArray, FloatArray]] = {}
    regret = np.zeros(horizon)
    for t in range(horizon):
        worth: FloatArray = payoffs.copy()  # [own, partner's action], under the stated reactions
        rounding = payoff_rounding(game)
        if t < horizon - 1:
            key = tuple(reactions[t].tolist())
            if key not in plans:
                plans[key] = _worth_ahead(game, reactions[t], horizon)
            ahead, error = plans[key]
            worth += ahead[horizon - 1 - t][reactions[t]][:, None]
            rounding += error[horizon - 1 - t]
        stated = worth[:, predicted[t]]
        best = stated >= stated.max() - rounding
        following = partner.next_state[states[t], :, actions[t]]
        true = payoffs[:, actions[t]] + optimum[t + 1][following]
        regret[t] = true.max() - true[best].mean()
    return regret


def _worth_ahead(
    game: MatrixGame, reactions: IntArray, horizon: int
) -> tuple[FloatArray, FloatArray]:
    """Return what k more steps are worth under stated reactions, shape (T, m), and its rounding.

    ``[k, b]``: when the partner plays b in the first of them, less the same of the best b. The
    rounding has shape (T,).
    """
    payoffs = gains(game)
    worth, rounding = np.zeros((horizon, game.m)), np.zeros(horizon)
    for k in range(1, horizon):
        q = payoffs + worth[k - 1][reactions][:, None]
        worth[k] = q.max(axis=0) - q.max()
        rounding[k] = rounding[k - 1] + ROUNDING * float(np.ptp(q))
    return worth, rounding
