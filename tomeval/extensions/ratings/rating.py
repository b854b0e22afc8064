"""Ratings of players from games of teams: one likelihood over all games, in any order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.contests import Contests
from tomeval.extensions.ratings.fit import PRIOR, SAME, Fit
from tomeval.statistics.paired import FloatArray, IntArray

ELO = 400 / math.log(10)
"""Elo-like points per logit: 400 points are odds of 10."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of P players in logits; multiply by `ELO` for Elo-like points.

    Attributes
    ----------
    value, low, high : ndarray, shape (P,)
        Ratings with 95 % intervals. An infinite end means that the games set no limit there (`open`
        says ``above``, ``below`` or ``both``); the rating is then that with a weak prior, see
        `PRIOR`, or the end of the interval if that is nearer. NaN: no interval, because the rating
        is given, or rests on one cluster.
    base : ndarray of bool, shape (P,)
        The players whose mean rating is 0; nobody if some ratings are given.
    rank, rank_low, rank_high : ndarray of int, shape (P,)
        1 is best; equal ratings share a rank.
    games, clusters : ndarray of int, shape (P,)
        In which the player took part.
    notes : tuple of str
        What a reader must know besides the numbers.
    """

    names: tuple[str, ...]
    value: FloatArray
    low: FloatArray
    high: FloatArray
    open: tuple[str, ...]
    base: NDArray[np.bool_]
    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray
    games: IntArray
    clusters: IntArray
    notes: tuple[str, ...]


def rate(contests: Contests, rng: np.random.Generator, fixed: FloatArray | None = None) -> Ratings:
    """Rate players by the likelihood of all games, each counted once.

    Parameters
    ----------
    contests : Contests
    rng : numpy.random.Generator
        For the critical values of rank intervals only.
    fixed : ndarray, shape (P + Q,), optional
        Given ratings of players and sides in logits, such as those of a frozen pool; NaN: to be
        estimated. If a player is given, the others are on this scale. Default: the mean of all
        players is 0, or where some have no finite rating, of the most that can be compared.

    Raises
    ------
    TomevalError
        No game; players that no chain of games connects; a player that cannot be told from a
        team-mate or a side.

    Notes
    -----
    The model is that of `tomeval.extensions.ratings.contests.choices_of`; a team is the mean of its
    players. Intervals end where twice the profile log-likelihood has fallen by the chi-squared
    quantile; if clusters hold several games, by Student's squared quantile times the ratio of the
    clustered to the model's variance (Chandler and Bate 2007), see
    `tomeval.extensions.ratings.ends.ClusterSpread.jackknife`, but never by more than if every
    cluster were one game. Rank intervals are the marginal ones of Mogstad, Romano, Shaikh and
    Wilhelm 2024: each holds its player's rank; all of them together do so less often.

    Examples
    --------
    >>> wins = np.array([0.0, 1.0] * 3 + [1.0, 0.0])  # the first player wins three of four games
    >>> rated = rate(
    ...     Contests(
    ...         names=("A", "B"),
    ...         sides=(),
    ...         game=np.repeat(np.arange(4), 2),
    ...         place=wins,
    ...         players=np.tile(np.eye(2), (4, 1)),
    ...         terms=np.zeros((8, 0)),
    ...         kind=np.zeros(4, dtype=np.int64),
    ...         cluster=np.arange(4),
    ...     ),
    ...     np.random.default_rng(1),
    ... )
    >>> bool(np.isclose(rated.value[0] - rated.value[1], np.log(3)))
    True
    """
    if not contests.games:
        raise TomevalError("ratings: there is no game to rate")
    given = np.full(len(contests.names) + len(contests.sides), np.nan) if fixed is None else fixed
    if len(contests.names) < 2:
        raise TomevalError(
            f"ratings: {contests.names[0]!r} is the only player: nobody to compare with"
        )
    _check_connected(contests, np.isnan(given[: len(contests.names)]))
    fit = Fit(contests, given)
    fit.check()
    return _assembled(fit, rng)


def _assembled(fit: Fit, rng: np.random.Generator) -> Ratings:
    """Return all numbers of a fit."""
    contests = fit.contests
    places = [fit.peak.place if fit.limit.says(one) else fit.weak.place for one in fit.players]
    value = fit.known + np.array([c @ p for c, p in zip(fit.players, places, strict=True)])
    ends = np.full((len(value), 2), np.nan)
    for k in np.flatnonzero(fit.free).tolist():
        low, high = fit.ends(fit.players[k])
        ends[k] = low + fit.known[k], high + fit.known[k]
    # Where there is no maximum, the prior may pull harder than the games' own interval allows.
    value = np.where(np.isnan(ends[:, 0]), value, np.clip(value, ends[:, 0], ends[:, 1]))
    value = np.round(value, 12) + 0.0
    names = {(True, True): "both", (True, False): "below", (False, True): "above"}
    opened = tuple(names.get((low == -np.inf, high == np.inf), "") for low, high in ends)
    low_rank, high_rank = fit.ranks(value, rng)
    games = [np.unique(contests.game[mine]) for mine in (contests.players > 0).T]
    return Ratings(
        names=contests.names,
        value=value,
        low=ends[:, 0],
        high=ends[:, 1],
        open=opened,
        base=fit.core & (not fit.frozen),
        rank=ranks(value),
        rank_low=low_rank,
        rank_high=high_rank,
        games=np.array([len(mine) for mine in games], dtype=np.int64),
        clusters=np.array([len(np.unique(contests.cluster[mine])) for mine in games]),
        notes=tuple(_notes(fit, opened, ends[:, 0])),
    )


OPEN = {
    "above": "no upper end: these games fit at least as well however much stronger it is",
    "below": "no lower end: these games fit at least as well however much weaker it is",
    "both": "no end on either side: these games fit at least as well with ever better players "
    "above and ever worse ones below it, or if teams always tied",
}


def _notes(fit: Fit, opened: Sequence[str], ends: FloatArray) -> list[str]:
    """Return what a reader must know; `ends` are the lower ones."""

    def named(chosen: Iterable[Any]) -> str:
        return ", ".join(name for name, one in zip(fit.contests.names, chosen, strict=True) if one)

    notes = []
    for word, text in OPEN.items():
        if mine := named(said == word for said in opened):
            notes.append(f"the rating of {mine} has {text}")
    if few := named(fit.free & np.isnan(ends)):
        notes.append(f"no interval for the rating of {few}: it rests on one deal")
    if not all(fit.limit.says(one) for one in fit.players):
        notes.append(
            "where these games set no limit, only a weak prior keeps the rating finite (mean 0, "
            f"standard deviation {PRIOR:g} logits or {PRIOR * ELO:.0f} points)"
            + (", and a closed end counts each common deal as one game" if fit.clustered else "")
        )
    if not fit.frozen and not fit.core.all():
        notes.append(f"0 is the mean rating of {named(fit.core)}")
    if fit.alike:
        notes.append(
            "common deals end alike whoever sits where, so they do not show the variation between "
            "deals: intervals treat games as independent"
        )
    return notes


def _check_connected(contests: Contests, free: NDArray[np.bool_]) -> None:
    """Raise if players cannot be compared through any chain of games; `free` are to be rated."""
    groups = contests.met()
    idle = [n for n, g, f in zip(contests.names, groups, free, strict=True) if g < 0 and f]
    if idle:
        raise TomevalError(f"ratings: no game to rate of {', '.join(map(repr, idle))}")
    apart = dict.fromkeys(groups[groups >= 0].tolist())
    if not free.all():  # given ratings need no chain between them
        apart = dict.fromkeys(k for k in apart if free[groups == k].all())
    if len(apart) > (1 if free.all() else 0):
        names = [
            "{" + ", ".join(n for n, g in zip(contests.names, groups, strict=True) if g == k) + "}"
            for k in apart
        ]
        with_whom = "" if free.all() else " with a player of given rating"
        raise TomevalError(
            f"ratings: no chain of games connects {' and '.join(names)}{with_whom}: they cannot be "
            "compared; let some of them meet, or rate them apart"
        )


def ranks(value: FloatArray) -> IntArray:
    """Return the rank of each value, 1 for the largest; equal values share the better rank.

    Examples
    --------
    >>> ranks(np.array([2.0, 5.0, 2.0])).tolist()
    [2, 1, 2]
    """
    rank: IntArray = 1 + (value[None, :] > value[:, None] + SAME).sum(axis=1)
    return rank
