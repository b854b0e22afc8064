"""Bradley and Terry's model of pairs of teams, with a bootstrap over the deals they met on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.statistics.bounded import FEWEST, FloatArray, IntArray
from tomeval.statistics.paired import draw_counts

ELO = 400 / math.log(10)
"""Elo-like points per logit: 400 points are odds of 10."""
PRIOR = 5.0
"""Standard deviation, in logits, of the normal prior that keeps every rating finite."""
RESAMPLES = 1000
_STEPS, _LONGEST = 200, 2.0
"""Newton steps, and the most logits that one may move a rating."""
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Pairs:
    """R results of two teams against each other, of P players.

    Attributes
    ----------
    names : tuple of str
        The players.
    apart : ndarray, shape (R, P)
        A player's share in the first team less that in the second; shares of a team sum to 1.
    won : ndarray, shape (R,)
        1: the first team won, 1/2: a tie, 0: the second won.
    deal : ndarray of int, shape (R,)
        The sampling unit of each result, from 0 to D - 1.
    """

    names: tuple[str, ...]
    apart: FloatArray
    won: FloatArray
    deal: IntArray


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of P players in logits, multiply by `ELO` for points.

    Attributes
    ----------
    value, low, high : ndarray, shape (P,)
        With 95 % intervals; a rating without a limit that rests on fewer than `FEWEST` deals is
        NaN. NaN ends: none, because the rating is given, or has no limit in these
        games, or rests on fewer than `FEWEST` deals.
    base : ndarray of bool, shape (P,)
        Whose mean rating is 0; nobody where some ratings are given.
    deals : ndarray of int, shape (P,)
        On which the player met others.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    base: NDArray[np.bool_]
    deals: IntArray


def rate(pairs: Pairs, given: FloatArray, rng: np.random.Generator) -> Ratings:
    """Rate players by the likelihood of all results, whatever their order.

    Parameters
    ----------
    pairs : Pairs
    given : ndarray, shape (P,)
        Ratings in logits that are known, such as those of a frozen pool; NaN: to be estimated.
    rng : numpy.random.Generator

    Raises
    ------
    TomevalError
        No result; everybody's rating is given; or players whom no chain of games connects.

    Notes
    -----
    The odds that a team wins are exp(the difference of the teams' mean ratings) (Bradley and Terry
    1952); a tie is half a win for each. A normal prior (`PRIOR`) holds ratings that the games do
    not limit, such as those of who won every game; who always sat together has one rating.
    Intervals are percentiles over resamples of deals, expanded to Student's quantile for the number
    of the player's deals (Hesterberg 2015).

    Examples
    --------
    >>> apart, won = np.tile([1.0, -1.0], (8, 1)), np.array([1.0, 1, 1, 0] * 2)
    >>> pairs = Pairs(("A", "B"), apart, won, np.arange(8))
    >>> rated = rate(pairs, np.full(2, np.nan), np.random.default_rng(1))
    >>> round(float(rated.value[0] - rated.value[1]), 2)  # odds of 3, but for the prior
    1.08
    """
    free = np.isnan(given)
    if not len(pairs.won):
        raise TomevalError("ratings: no game of two different teams is complete")
    if not free.any():
        raise TomevalError("ratings: every player's rating is given: there is nobody to rate")
    result, player = np.nonzero(pairs.apart)
    met = np.unique(np.column_stack([player, pairs.deal[result]]), axis=0)[:, 0]
    deals = np.bincount(met, minlength=len(free))
    limited = _core(pairs, free)
    base = free & free.all() & (limited | ~limited.any())
    fitted = np.where(free, 0.0, given) + np.zeros((RESAMPLES + 1, 1))
    fitted[:, free] = _fitted(pairs, free, pairs.apart @ fitted[0], rng)
    if base.any():
        fitted -= fitted[:, base].mean(axis=1, keepdims=True)
    ends = np.array([_ends(fitted[1:, k], int(deals[k])) for k in range(len(free))])
    ends[~(free & limited)] = np.nan
    value = np.where(free & ~limited & (deals < FEWEST), np.nan, fitted[0])
    return Ratings(value, ends[:, 0], ends[:, 1], base, deals)


def _fitted(
    pairs: Pairs, free: NDArray[np.bool_], known: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return the most probable ratings of all deals, then of each resample of deals, (1 + B, F).

    `known`, shape (R,), is what given ratings add to the log-odds.
    """
    rows = np.column_stack([pairs.apart[:, free], known])
    rows, at = np.unique(rows, axis=0, return_inverse=True)
    apart, known, at = rows[:, :-1], rows[:, -1], at.reshape(-1)
    met = np.zeros((2, int(pairs.deal.max()) + 1, len(rows)))  # games and wins of alike teams
    np.add.at(met[0], (pairs.deal, at), 1.0)
    np.add.at(met[1], (pairs.deal, at), pairs.won)
    draws = np.vstack([np.ones(met.shape[1]), draw_counts(RESAMPLES, met.shape[1], rng)])
    total, wins = draws @ met
    players = apart.shape[1]
    squares = (apart[:, :, None] * apart[:, None, :]).reshape(len(apart), -1)
    place, ridge = np.zeros((len(draws), players)), np.eye(players) / PRIOR**2
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-(place @ apart.T + known)))
        slope = (wins - total * chance) @ apart - place / PRIOR**2
        curve = (total * chance * (1 - chance)) @ squares
        curves = curve.reshape(-1, players, players) + ridge
        step = np.linalg.solve(curves, slope[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        place += step * np.minimum(1.0, _LONGEST / np.maximum(longest, _NOTHING))
        if longest.max() < _NOTHING:
            break
    return place


def _ends(values: FloatArray, deals: int) -> FloatArray:
    """Return the expanded percentile interval of one rating's resamples, see `rate`."""
    from scipy.special import ndtr, stdtrit

    if deals < FEWEST:
        return np.full(2, np.nan)
    tail = float(ndtr(math.sqrt(deals / (deals - 1)) * stdtrit(deals - 1, 0.025)))
    ends: FloatArray = np.quantile(values, (tail, 1 - tail))
    return ends


def _core(pairs: Pairs, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whose distances the games limit, (P,): they beat each other in circles (Ford 1957).

    The most such players, or those who do so with players of given rating. Raises if no chain of
    games connects all.
    """
    from scipy.sparse.csgraph import connected_components

    first, second = pairs.apart > 0, pairs.apart < 0
    lost = second[pairs.won > 0].T.astype(float) @ first[pairs.won > 0]
    lost += first[pairs.won < 1].T.astype(float) @ second[pairs.won < 1]
    lost[np.ix_(~free, ~free)] = 1.0  # their distances are known
    _, chained = connected_components(lost, directed=False)
    if chained.any():
        apart = [
            "{" + ", ".join(n for n, c in zip(pairs.names, chained, strict=True) if c == k) + "}"
            for k in range(chained.max() + 1)
        ]
        raise TomevalError(
            f"ratings: no chain of games connects {' and '.join(apart)}: they cannot be compared; "
            "let some of them meet, or rate them apart"
        )
    _, circle = connected_components(lost, connection="strong")
    core: NDArray[np.bool_] = circle == (
        np.bincount(circle).argmax() if free.all() else circle[~free][0]
    )
    return core if core.sum() > 1 else np.zeros_like(core)
