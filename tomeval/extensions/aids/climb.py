"""What each step of a sequence of aids removes of a loss: shares that add up to one, exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tomeval.statistics.paired import FloatArray, standard_error, t_interval
from tomeval.statistics.ratios import fieller, ratio_moments

_ROUNDING = 1e-12
"""Differences this small beside the losses that they are of are 0."""

SAME = 6
"""Episodes from which on the sign-flip test of equal values rejects at 5 %: p is 2 / 2^6."""


class Climb(NamedTuple):
    """Losses of K conditions in a fixed order, and the K parts that the first one consists of.

    `loss`, (K,), is the mean of each condition; `part` what each condition but the first removes,
    loss[k - 1] - loss[k], by the place k - 1, and last what the last condition leaves: they add up
    to loss[0]. `share` is part / loss[0] with Fieller's 95 % interval, NaN if `unknown` says why;
    shares add up to 1, and some can be negative. One that is the same in every episode has no
    interval: nothing shows how it varies. `largest` is the place of the part that is above 0 and
    larger than every other one, each at 95 %; where there is none, `rival` is the largest part's
    closest one, or None.
    """

    loss: FloatArray
    part: FloatArray
    share: FloatArray
    share_low: FloatArray
    share_high: FloatArray
    largest: int | None
    rival: int | None
    unknown: str
    episodes: int


NO_EPISODE = "no episode is complete in every condition"
ONE_EPISODE = "one episode gives no interval"
NO_LOSS = "the interval of the loss without aids includes 0"


def climb(losses: ArrayLike, exact: bool = False) -> Climb:
    """Split the loss of the first condition into what each further one removes, and what is left.

    `losses`, shape (E, K), are those of every episode under every condition, at least two. A row's
    episodes met the same chance; the row is the sampling unit. If `exact`, rows are all that there
    are, no sample: there are no intervals, and shares need a loss above 0 only. Means are NaN
    without an episode, intervals with fewer than two. Shares are NaN, and the reason is given,
    unless the first loss is above 0 at 95 %: a ratio to a number that may be 0 has no bounded
    interval.

    Notes
    -----
    The ratio's interval is Fieller's (1954) with the covariance of the paired means. To name the
    largest part takes an intersection of tests, so a wrong one is named in at most 5 % of samples,
    however many parts there are (Berger 1982). A lead that is the same in every episode has no
    interval; it counts from `SAME` episodes on, where its sign-flip test rejects.

    Examples
    --------
    >>> found = climb([[4.0, 1.0, 0.5], [6.0, 2.0, 1.0], [5.0, 1.0, 1.0], [5.0, 2.0, 1.0]])
    >>> found.share.round(3).tolist(), found.largest
    ([0.7, 0.125, 0.175], 0)
    >>> climb([[0.0, 0.0], [0.1, 0.0]]).unknown
    'the interval of the loss without aids includes 0'
    """
    data = np.asarray(losses, dtype=np.float64)
    count, size = data.shape
    if size < 2:
        raise ValueError("a climb has at least two conditions")
    parts = np.concatenate([data[:, :-1] - data[:, 1:], data[:, -1:]], axis=1)
    loss, part = (_means(columns, True)[0] for columns in (data, parts))
    unknown = _unknown(data, exact)
    shares = np.full((3, size), np.nan)
    largest = rival = None
    if not unknown:
        shares = _shares(np.concatenate([data[:, :1], parts], axis=1), exact)
        largest, rival = _largest(parts, exact)
    share, low, high = shares
    return Climb(loss, part, share, low, high, largest, rival, unknown, count)


def _unknown(data: FloatArray, exact: bool) -> str:
    """Return why there are no shares."""
    if not len(data):
        return NO_EPISODE
    if len(data) < 2 and not exact:
        return ONE_EPISODE
    _, low, _ = _means(data[:, :1], exact)
    return "" if low[0] > _ROUNDING * np.abs(data).max() else NO_LOSS


def _means(data: FloatArray, exact: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means over episodes with the ends of Student's interval; if `exact`, the mean."""
    mean = data.mean(axis=0) if len(data) else np.full(data.shape[1], np.nan)
    if exact:
        return mean, mean, mean
    return mean, *t_interval(mean, standard_error([(data - mean) / len(data)]))


def _shares(columns: FloatArray, exact: bool) -> FloatArray:
    """Return each column's mean over that of the first one, and Fieller's ends, shape (3, K)."""
    mean = columns.mean(axis=0)
    if exact:
        nothing = np.full(len(mean) - 1, np.nan)
        return np.stack([mean[1:] / mean[0], nothing, nothing])
    influences = [(columns - mean) / len(columns)]
    ratios = [
        fieller(float(mean[k]), float(mean[0]), ratio_moments(influences, k))
        for k in range(1, len(mean))
    ]
    shares = np.array(ratios).T
    steady = shares[2] - shares[1] <= _ROUNDING * (1 + np.abs(shares[0]))
    shares[1:, steady] = np.nan
    return shares


def _largest(parts: FloatArray, exact: bool) -> tuple[int | None, int | None]:
    """Return the place of the part that is surely the largest, or else that of its rival."""
    mean = parts.mean(axis=0)
    top = int(mean.argmax())
    # Against nothing, which is the last column, and against every other part.
    apart = parts[:, [top]] - np.concatenate([np.delete(parts, top, axis=1), 0 * parts[:, :1]], 1)
    lead, low, high = _means(apart, exact)
    tiny = _ROUNDING * np.abs(parts).max()
    sure = low > tiny
    if not exact and len(parts) < SAME:
        sure &= high - low > tiny
    if sure.all():
        return top, None
    if not sure[-1]:
        return None, None
    others = np.delete(np.arange(parts.shape[1]), top)
    return None, int(others[np.argmin(np.where(sure[:-1], math.inf, lead[:-1]))])
