"""Which partner of a set played recorded matches: exact posterior weights, and where it stood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tomeval.domains.matrix.partners import Partner
from tomeval.domains.matrix.played import FloatArray, IntArray, Mixture

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

    >>> from tomeval.domains.matrix.games import get_game
    >>> from tomeval.domains.matrix.partner_specs import get_partner_set
    >>> found = get_partner_set("tit_for_tat + always(0) + uniform_random", get_game("IPD"))
    >>> moves = (np.array([1, 1]), np.array([0, 1]))
    >>> attribute(found.partners, found.weights, moves).weights.tolist()
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
