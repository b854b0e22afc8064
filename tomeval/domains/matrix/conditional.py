"""The conditional probe: how right stated reactions of the partner are."""

from __future__ import annotations

import numpy as np

from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.played import BoolArray, FloatArray, IntArray, Played


def reactions_right(played: Played) -> FloatArray:
    """Return ``reaction_accuracy_percent`` per episode, shape (E,).

    How probable the stated next actions are under the partner's table, mean over own actions, then
    over steps. Nothing that was drawn is in it: the mean is over reactions that were stated, and
    steps with one. NaN if none was.
    """
    result = np.full(played.episodes, np.nan)
    if played.reactions is None or played.partner_state is None:
        return result
    starts = np.concatenate([[0], np.cumsum(played.lengths)])
    for episode in range(played.episodes):
        part = slice(starts[episode], starts[episode + 1])
        reactions = played.reactions[part]
        if len(reactions) < 2 or (reactions[:-1] < 0).any():
            continue
        partner = played.partners[played.which[episode]]
        drawn = played.drawn_reactions
        stated = np.ones(reactions[:-1].shape, dtype=bool) if drawn is None else ~drawn[part][:-1]
        accuracy = reaction_accuracy(
            partner, played.partner_state[part], played.partner[part], reactions, stated
        )
        if len(accuracy):
            result[episode] = 100.0 * accuracy.mean()
    return result


def reaction_accuracy(
    partner: Partner, states: IntArray, actions: IntArray, reactions: IntArray, stated: BoolArray
) -> FloatArray:
    """Return how probable what was stated is, by step: mean over own actions, shape (at most T-1,).

    Parameters
    ----------
    states, actions : ndarray of int, shape (T,)
        The partner's states and actions as played.
    reactions : ndarray of int, shape (T, n)
        Per own action the partner's next action as stated; not read in the last step.
    stated : ndarray of bool, shape (T - 1, n)
        Which reactions to look at. Steps without any are left out.
    """
    found = []
    for t in np.flatnonzero(stated.any(axis=1)):
        following = partner.next_state[states[t], :, actions[t]]
        found.append(partner.emissions[following, reactions[t]][stated[t]].mean())
    return np.array(found)
