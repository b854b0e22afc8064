"""The Nash equilibria of a one-step game: the extreme ones, from which all others are mixed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.domains.matrix.games import MatrixGame

FloatArray = NDArray[np.float64]
Pair = tuple[FloatArray, FloatArray]

EQUILIBRIA = ("highest_welfare", "most_mixed")
_NEAR = 1e-9  # of a payoff or a probability, beside the largest


@lru_cache(maxsize=256)
def equilibrium(game: MatrixGame, select: str = "highest_welfare") -> Pair:
    """Return one Nash equilibrium of the one-step game: own and partner's mixed strategy.

    Parameters
    ----------
    game : MatrixGame
    select : {"highest_welfare", "most_mixed"}
        Which of `equilibria`: the largest sum of both payoffs (then the largest own payoff), or the
        one that mixes over most actions.

    Returns
    -------
    own, partner : FloatArray, shapes (n,) and (m,)
    """
    if select not in EQUILIBRIA:
        raise unknown("selection", select, EQUILIBRIA, "equilibrium: select")
    found = equilibria(game)
    if not found:
        raise TomevalError(f"equilibrium: no Nash equilibrium found for game {game.name}")

    def welfare(pair: Pair) -> tuple[float, ...]:
        own = float(pair[0] @ game.own @ pair[1])
        both = own + float(pair[0] @ game.partner @ pair[1])
        mixed = float((pair[0] > _NEAR).sum() + (pair[1] > _NEAR).sum())
        first = both if select == "highest_welfare" else mixed
        return tuple(round(x, 9) for x in (first, both, own, *pair[0], *pair[1]))

    return max(found, key=welfare)


def equilibria(game: MatrixGame) -> list[Pair]:
    """Return all extreme Nash equilibria, of degenerate games too.

    With payoffs made positive, a strategy of one side and what it lets the other side earn are a
    point of a polytope. A pair of corners of the two polytopes is an equilibrium if every action is
    unplayed or a best response (Nisan et al. 2007, Algorithm 3.5).
    """
    mine, theirs = list(_corners(game.partner.T)), list(_corners(game.own))
    return [
        (x.mixed(), y.mixed())
        for x in mine
        for y in theirs
        if (x.unplayed | y.best).all() and (y.unplayed | x.best).all()
    ]


def _positive(payoffs: FloatArray) -> FloatArray:
    """Return payoffs scaled and shifted to lie from 1 to less than 3."""
    above = payoffs - payoffs.min()
    _, exponent = np.frexp(above.max())
    scaled: FloatArray = np.ldexp(above, 1 - exponent) + 1
    return scaled


class _Corner(NamedTuple):
    """A strategy that is a corner of one side's polytope."""

    payoffs: FloatArray  # (theirs, mine): what the other side earns
    unplayed: NDArray[np.bool_]  # (mine,)
    best: NDArray[np.bool_]  # (theirs,): the other side's best responses

    def mixed(self) -> FloatArray:
        """Return the strategy, shape (mine,): the other side's best responses earn the same.

        It is solved anew, since a corner as it was found is exact to fewer digits.
        """
        played = ~self.unplayed
        tight = np.diff(self.payoffs[np.ix_(self.best, played)], axis=0)
        equations = np.vstack([tight, np.ones(played.sum())])
        right = np.append(np.zeros(len(tight)), 1.0)
        found = np.zeros(len(played))
        if equations.shape[0] == equations.shape[1]:
            found[played] = np.linalg.solve(equations, right)
        else:  # a degenerate game
            found[played] = np.linalg.lstsq(equations, right)[0]
        mixed: FloatArray = found / found.sum()
        return mixed


def _corners(payoffs: FloatArray) -> Iterator[_Corner]:
    """Yield the corners but 0 of ``{x >= 0, payoffs @ x <= 1}``, the payoffs made positive."""
    from scipy.spatial import HalfspaceIntersection

    rows, columns = payoffs.shape
    positive = _positive(payoffs)
    planes = np.block(
        [[-np.eye(columns), np.zeros((columns, 1))], [positive, np.full((rows, 1), -1.0)]]
    )
    inside = np.full(columns, 0.5 / (columns * positive.max()))
    for corner in HalfspaceIntersection(planes, inside).intersections:
        best = 1 - positive @ corner < _NEAR
        if best.any():  # else it is 0
            yield _Corner(payoffs, corner < _NEAR * corner.max(), best)
