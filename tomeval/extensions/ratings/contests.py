"""Games of teams with places, as choices: Plackett-Luce with ties, Bradley-Terry for two teams."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tomeval.core.errors import TomevalError
from tomeval.extensions.ratings.likelihood import Choices
from tomeval.statistics.paired import FloatArray, IntArray

MOST = 20_000
"""Most alternatives of one choice: sets of teams that can tie."""


@dataclass(frozen=True, eq=False)
class Contests:
    """N games of T teams in all, between P players in Q seats or roles (`sides`)."""

    names: tuple[str, ...]
    sides: tuple[str, ...]  # whose advantage is estimated; none: no such terms
    game: IntArray  # (T,): the game of each team, ascending, from 0 to N - 1
    place: FloatArray  # (T,): lower is better; teams of equal place tie
    players: FloatArray  # (T, P): share of each player in the team; rows sum to 1
    terms: FloatArray  # (T, Q): the same of its seats or roles
    kind: IntArray  # (N,): games of one kind have ties equally often among equals
    cluster: IntArray  # (N,): the sampling unit of each game, such as its deal, from 0

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.kind)

    def met(self) -> IntArray:
        """Return the group of each player, (P,): those connected by games; -1: no game."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        row, player = np.nonzero(self.players)
        count = len(self.names)
        size = count + self.games
        graph = coo_array((np.ones(len(row)), (player, count + self.game[row])), shape=(size, size))
        component = connected_components(graph, directed=False)[1][:count]
        played = self.players.any(axis=0)
        group: IntArray = np.where(played, component, -1).astype(np.int64)
        return group

    def ties(self) -> list[tuple[int, int]]:
        """Return the kinds of games in which n teams tied, with n."""
        ties = set()
        for number, rows in enumerate(self._rows()):
            sizes = np.unique(self.place[rows], return_counts=True)[1]
            ties |= {(int(self.kind[number]), int(size)) for size in sizes if size > 1}
        return sorted(ties)

    def _rows(self) -> Iterator[slice]:
        """Yield the rows of each game."""
        starts = np.searchsorted(self.game, np.arange(self.games + 1)).tolist()
        for first, last in itertools.pairwise(starts):
            yield slice(first, last)


def choices_of(contests: Contests, fixed: FloatArray) -> Choices:
    """Return the choices that games stand for.

    `fixed`, shape (P + Q,), are given weights of players and sides in logits; NaN: estimated. The
    features are those that are not given, in order, then a logarithm for each of `Contests.ties`.

    Notes
    -----
    The best team is chosen among all, the next among the rest, and so on (Luce 1959, Plackett
    1975). If teams can tie, an alternative is a set of teams: its score is the mean of their scores
    plus the logarithm of a tie parameter of the kind of game and the number of teams (Turner, van
    Etten, Firth and Kosmidis 2020). For two teams this is Davidson 1970, without ties Bradley and
    Terry 1952. Sizes of ties that never occur have probability 0.
    """
    from scipy.sparse import coo_array

    free = np.isnan(fixed)
    whole = np.hstack([contests.players, contests.terms])
    orders = contests.ties()
    column = {order: i for i, order in enumerate(orders)}
    # Every alternative not chosen, less the chosen one, as shares of teams and of tie parameters.
    teams: _Entries = ([], [], [])
    marks: _Entries = ([], [], [])
    row, first, games = 0, [], []
    for number, rows in enumerate(contests._rows()):
        kind = int(contests.kind[number])
        allowed = [1, *(n for k, n in orders if k == kind)]
        for chosen, others in _stages(contests.place[rows].tolist(), allowed):
            first.append(row)
            games.append(number)
            for other in others:
                for sign, some in ((1.0, other), (-1.0, chosen)):
                    for team in some:
                        _enter(teams, row, rows.start + team, sign / len(some))
                    if len(some) > 1:
                        _enter(marks, row, column[kind, len(some)], sign)
                row += 1

    def summed(entries: _Entries, values: FloatArray) -> FloatArray:
        at, to, weights = entries
        matrix: Any = coo_array((weights, (at, to)), shape=(row, len(values)))
        sums: FloatArray = np.asarray(matrix @ values)  # a number if there is one row
        return sums.reshape(row, *values.shape[1:])

    return Choices(
        np.hstack([summed(teams, whole[:, free]), summed(marks, np.eye(len(orders)))]),
        summed(teams, whole[:, ~free] @ fixed[~free]),
        np.array(first, dtype=np.int64),
        np.array(games, dtype=np.int64),
        contests.cluster,
    )


_Entries = tuple[list[int], list[int], list[float]]
"""Rows, columns and values of a sparse matrix."""


def _enter(entries: _Entries, row: int, column: int, value: float) -> None:
    entries[0].append(row)
    entries[1].append(column)
    entries[2].append(value)


def _stages(
    place: Sequence[float], allowed: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Yield the set that is chosen next, and the other sets that could have been."""
    left = list(range(len(place)))
    while len(left) > 1:
        best = min(place[i] for i in left)
        chosen = tuple(i for i in left if place[i] == best)
        sizes = [n for n in allowed if n <= len(left)]
        sets = [s for n in sizes for s in itertools.combinations(left, n)]
        if len(sets) > MOST:
            raise TomevalError(
                f"ratings: a game of {len(left)} teams with ties has more than {MOST:,} outcomes "
                "of one choice: leave out ties, or put players into fewer teams"
            )
        yield chosen, [s for s in sets if s != chosen]
        left = [i for i in left if i not in chosen]
