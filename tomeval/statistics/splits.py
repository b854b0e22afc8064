"""Where a row of wrong and right answers turns from mostly wrong to mostly right."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

MARGIN = 3
"""By how many right answers must outnumber wrong ones, from the turn on, to count as a turn."""


def last_split(right: ArrayLike, counted: ArrayLike, margin: int = MARGIN) -> NDArray[np.float64]:
    """Return where each row is best split into a wrong part and, after it, a right part.

    The split leaves the fewest exceptions: right answers before it and wrong ones from it on. Of
    several such splits the last one is taken, so that a right answer which a wrong one follows is
    no turn. Without a length or level to choose, it is the maximum-likelihood estimate of a turn
    where each answer has the same chance, below one half, of being such an exception.

    Parameters
    ----------
    right, counted : array_like of bool, shape (E, T)
        The answers of E rows, and which of them count.
    margin : int
        From the split on, right answers must outnumber wrong ones by this many.

    Returns
    -------
    ndarray of float, shape (E,)
        The place, from 0, of the first answer after the split; infinite if no split has the margin.

    Examples
    --------
    >>> rows = [[0, 0, 1, 1, 1, 0, 1], [0, 1, 0, 0, 1, 0, 1]]
    >>> last_split(rows, np.ones((2, 7))).tolist()
    [2.0, inf]
    """
    asked = np.asarray(counted, dtype=bool)
    score = np.where(asked, np.where(np.asarray(right, dtype=bool), 1, -1), 0)
    ahead = np.cumsum(score[:, ::-1], axis=1)[:, ::-1].astype(np.float64)
    ahead[~asked] = -np.inf
    if not ahead.shape[1]:
        return np.full(len(ahead), np.inf)
    last = ahead.shape[1] - 1 - ahead[:, ::-1].argmax(axis=1)
    return np.where(ahead.max(axis=1) >= margin, last, np.inf)


@lru_cache(maxsize=4096)
def lucky_split(count: int, p: float, margin: int = MARGIN) -> float:
    """Return the chance that `last_split` finds a turn where each answer is right by chance.

    Parameters
    ----------
    count : int
        Number of independent answers.
    p : float
        Chance that one is right.

    Notes
    -----
    Read backwards, the sums are a random walk; the chance that it reaches `margin` is summed over
    its places, step by step.

    Examples
    --------
    >>> lucky_split(3, 0.5), lucky_split(5, 0.5)
    (0.125, 0.21875)
    """
    chance = np.zeros(count + margin + 1)  # of the places margin - 1, margin - 2, ... of the walk
    chance[margin - 1] = 1.0
    reached = 0.0
    for _ in range(count):
        reached += p * float(chance[0])
        up, down = p * chance[1:], (1 - p) * chance[:-1]
        chance = np.concatenate([up, [0.0]]) + np.concatenate([[0.0], down])
    return reached
