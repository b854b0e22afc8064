"""Quantal response: how sharply choices follow what actions are worth, with a score interval."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tomeval.games.matrix.optima import known_best_response
from tomeval.games.matrix.played import FloatArray, IntArray, Played
from tomeval.games.matrix.responses import gains
from tomeval.games.matrix.rules import NONE
from tomeval.statistics.bounded import FEWEST, t_quantile_975

SAME = 1e-9  # of the payoff range: values that are closer are equal


def worth_said(played: Played) -> FloatArray:
    """Return what actions earn if the prediction holds, over the payoff range, (N, n); else NaN."""
    said = np.full(len(played.own), NONE) if played.predicted is None else played.predicted
    worth = gains(played.game).T[said] / (np.ptp(played.game.own) or 1.0)
    return np.where((said == NONE)[:, None], np.nan, worth)


def worth_true(played: Played) -> FloatArray:
    """Return Q* of actions against the partner, over the payoff range, (N, n); else NaN.

    Of this step and best play to the end, up to a constant of the step.
    """
    worth = np.full((len(played.own), played.game.n), np.nan)
    for partner, length, _, steps in played.alike():
        plan = known_best_response(played.game, partner, length, played.continuation)
        after = plan.relative[1:, partner.next_state]
        q = (partner.emissions[:, None, :] * (gains(played.game) + after)).sum(axis=3)  # (T, S, n)
        worth[steps] = q[np.arange(length), played.states[steps]]
    return worth / (np.ptp(played.game.own) or 1.0)


def fit(worth: FloatArray, shares: FloatArray, cluster: IntArray) -> tuple[float, float, float]:
    r"""Return λ of P(a) ∝ exp(λ worth(a)), by maximum likelihood, with a 95 % interval.

    Parameters
    ----------
    worth : ndarray, shape (N, n)
        In ranges of the game's payoffs, so that λ has no unit and stays if payoffs are shifted or
        scaled. Steps with NaN are left out.
    shares : ndarray, shape (N, n)
        The probability of each action, or 1 for the one taken; λ gives it its expected worth.
    cluster : ndarray of int, shape (N,)
        The sampling unit of each step, such as its episode.

    Returns
    -------
    value, low, high : float
        0: worth does not matter; negative: bad actions are preferred; infinite, with one finite
        end: all choices are best, or worst. NaN if no step has actions of different worth; NaN ends
        with fewer than `FEWEST` units.

    Notes
    -----
    The logit rule of McKelvey and Palfrey 1995, values being known. The interval holds each λ whose
    score is within Student's quantile of its standard error. Its variance is Fisher's information
    at λ, times that between units over the information at the estimate if that is above 1; choices
    that are all best have none between units. With probabilities in place of draws it is wide.

    Examples
    --------
    The better of two actions, by the whole range, three times in four: λ = ln 3.

    >>> worth, choice = np.tile([1.0, 0.0], (20, 1)), np.tile(np.eye(2)[[0, 0, 0, 1]], (5, 1))
    >>> [round(part, 2) for part in fit(worth, choice, np.repeat(np.arange(5), 4))]
    [1.1, -0.23, 2.43]
    """
    tells = np.ptp(worth, axis=1) > SAME  # NaN is not
    if not tells.any():
        return math.nan, math.nan, math.nan
    worth, shares = worth[tells] - worth[tells].max(axis=1, keepdims=True), shares[tells]
    units, place = np.unique(cluster[tells], return_inverse=True)
    seen = (shares * worth).sum(axis=1)
    rows, which = _distinct(worth)
    counts = np.bincount(which)

    def moments(at: float) -> tuple[FloatArray, float]:
        """Return the expected worth of a choice in each row, and the information of all."""
        weight = np.exp(at * rows - (at * rows).max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        mean = (weight * rows).sum(axis=1)
        return mean, float(counts @ (weight * (rows - mean[:, None]) ** 2).sum(axis=1))

    def score(mean: FloatArray) -> float:
        """Return how much the worth of all choices is above expectation."""
        return float(seen.sum() - counts @ mean)

    if -seen.sum() <= SAME:
        value = math.inf
    elif (seen - worth.min(axis=1)).sum() <= SAME:
        value = -math.inf
    else:
        value = _root(lambda at: score(moments(at)[0]))
    if len(units) < FEWEST:
        return value, math.nan, math.nan
    most = t_quantile_975(len(units) - 1)
    if math.isfinite(value):
        mean, information = moments(value)
        above = np.bincount(place, seen - mean[which])
        between = float((above**2).sum()) * len(units) / (len(units) - 1)
        most *= math.sqrt(max(1.0, between / information))

    def errors(at: float) -> float:
        """Return how many standard errors the score is above 0."""
        mean, information = moments(at)
        if information == 0:
            return math.inf if score(mean) > 0 else -math.inf
        return score(mean) / math.sqrt(information)

    low = _root(lambda at: errors(at) - most, value) if value > -math.inf else -math.inf
    high = -_root(lambda at: -errors(-at) - most, -value) if value < math.inf else math.inf
    return value, low, high


def _distinct(table: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows of a table, and which of them each row is: many are alike."""
    order = np.lexsort(table.T)
    first = np.append(True, (np.diff(table[order], axis=0) != 0).any(axis=1))
    which = np.empty(len(table), dtype=np.int64)
    which[order] = np.cumsum(first) - 1
    return table[order[first]], which


def _root(falling: Callable[[float], float], right: float = math.inf) -> float:
    """Return where a function falls through 0, not right of a place where it is below."""
    from scipy.optimize import brentq

    far = 1.0
    while falling(-far) <= 0 or falling(min(far, right)) > 0:
        far *= 2
    return float(brentq(lambda at: max(-1e9, min(1e9, falling(at))), -far, min(far, right)))
