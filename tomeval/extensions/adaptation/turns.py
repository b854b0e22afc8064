"""Where wrong answers turn to mostly right ones, and how long that takes if some never do."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MARGIN = 3
"""By how many right answers must outnumber wrong ones, from the turn on, to count as a turn."""


def last_split(
    right: ArrayLike, telling: ArrayLike, asked: ArrayLike, margin: int = MARGIN
) -> NDArray[np.float64]:
    """Return where each row is best split into a wrong part and, after it, a right part.

    The split leaves the fewest exceptions among the answers that tell: right ones before it and
    wrong ones from it on. Of several such splits the last one is taken, so that a right answer
    which a wrong one follows is no turn. It is the maximum-likelihood estimate of a turn where each
    answer has the same chance, below one half, of being such an exception.

    `right`, `telling` and `asked` have the shape (E, T): the answers of E rows, which of them tell
    a turn, and which were given at all. From the split on, right answers must outnumber wrong ones
    by `margin`, among all that were given, and by one among those that tell. Returned is the place,
    from 0, of the first telling answer after the split, shape (E,); infinite if there is none.

    Examples
    --------
    >>> rows, all_of_them = [[0, 0, 1, 1, 1, 0, 1], [0, 1, 0, 0, 1, 0, 1]], np.ones((2, 7))
    >>> last_split(rows, all_of_them, all_of_them).tolist()
    [2.0, inf]
    """
    counted, given = np.asarray(telling, dtype=bool), np.asarray(asked, dtype=bool)
    if not counted.shape[1]:
        return np.full(len(counted), np.inf)
    score = np.where(np.asarray(right, dtype=bool), 1.0, -1.0)
    told, gained = (
        np.cumsum((score * mask)[:, ::-1], axis=1)[:, ::-1] for mask in (counted, given)
    )
    told = np.where(counted, told, -np.inf)
    last = told.shape[1] - 1 - told[:, ::-1].argmax(axis=1)
    rows = np.arange(len(last))
    turned = (told[rows, last] >= 1) & (gained[rows, last] >= margin)
    return np.where(turned, last, np.inf)


@lru_cache(maxsize=4096)
def lucky_split(right: tuple[float, ...], telling: tuple[bool, ...], margin: int = MARGIN) -> float:
    """Return the chance that `last_split` finds a turn in a row of answers that are guessed.

    `right` holds the chance that each answer is right, in their order; they are independent. The
    time taken grows with the third power of the number of answers from the first telling one on;
    for a hundred it is some hundredths of a second.

    Notes
    -----
    Read backwards, the sum over answers that tell is a random walk, and the turn is where it is
    highest first. Kept are the probabilities of how far the walk is below its highest place, of the
    sum over all answers, and of whether that sum had the margin at the highest place.

    Examples
    --------
    >>> lucky_split((0.5,) * 3, (True,) * 3), lucky_split((0.5,) * 5, (True,) * 5)
    (0.125, 0.21875)
    >>> lucky_split((0.5,) * 3, (True, False, False))
    0.125
    """
    if not any(telling):
        return 0.0
    first = telling.index(True)
    right, telling = right[first:], telling[first:]
    count, marks = len(right), sum(telling)
    chance = np.zeros((2, marks + 1, 2 * count + 1))  # [margin there, places below it, sum + count]
    chance[0, 0, count] = 1.0
    for p, tells in zip(reversed(right), reversed(telling), strict=True):
        up, down = np.zeros_like(chance), np.zeros_like(chance)
        up[:, :, 1:], down[:, :, :-1] = p * chance[:, :, :-1], (1 - p) * chance[:, :, 1:]
        if not tells:
            chance = up + down
            continue
        chance = np.zeros_like(chance)
        chance[:, :-1] += up[:, 1:]
        chance[:, 1:] += down[:, :-1]
        highest, enough = up[:, 0].sum(axis=0), count + margin
        chance[0, 0, :enough] += highest[:enough]
        chance[1, 0, enough:] += highest[enough:]
    return float(chance[1].sum())


class Median(NamedTuple):
    """A median time and its 95 % interval; NaN where the data do not reach so far."""

    median: float
    low: float
    high: float


def median_time(times: ArrayLike, seen: ArrayLike) -> Median:
    """Return the Kaplan-Meier median of times that are partly censored.

    That is the first time at which no more than half is left. `times`, shape (N,), are those of the
    event, or the last ones at which it is known not to have come (not `seen`; why must not depend
    on the time). The interval is that of Brookmeyer and Crowley 1982 with the log-log band of
    `scipy.stats`; an end is NaN where the band is not known so far, and both without two rows.

    Examples
    --------
    >>> median_time([1, 2, 2, 3, 5, 5], [True, True, True, True, False, False]).median
    2.0
    """
    from scipy.stats import CensoredData, ecdf

    values, events = np.asarray(times, dtype=np.float64), np.asarray(seen, dtype=bool)
    if not events.any():
        return Median(np.nan, np.nan, np.nan)
    curve = ecdf(CensoredData(uncensored=values[events], right=values[~events])).sf
    middle = _first(curve.quantiles, curve.probabilities)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the band is undefined where all or none are left: NaN
        band: Any = curve.confidence_interval(method="log-log")
    # Where none are left, the lower end is 0; the upper one is not known.
    low = np.where(curve.probabilities == 0.0, 0.0, band.low.probabilities)
    ends = (_first(curve.quantiles, end) for end in (low, band.high.probabilities))
    return Median(middle, *ends) if len(values) > 1 else Median(middle, np.nan, np.nan)


def _first(times: np.ndarray, left: np.ndarray) -> float:
    """Return the first time at which at most half is left."""
    reached = np.flatnonzero(left <= 0.5 + 1e-12)
    return float(times[reached[0]]) if reached.size else float("nan")
