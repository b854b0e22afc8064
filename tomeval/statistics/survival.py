"""Times to an event that some rows did not live to see."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Median(NamedTuple):
    """A median time and its 95 % interval; NaN where the data do not reach so far."""

    median: float
    low: float
    high: float


def median_time(times: ArrayLike, seen: ArrayLike) -> Median:
    """Return the Kaplan-Meier median of times that are partly censored.

    Parameters
    ----------
    times : array_like, shape (N,)
        Time of the event, or the last one at which it is known not to have come.
    seen : array_like of bool, shape (N,)
        Whether the event was seen. Why it was not must not depend on its time.

    Returns
    -------
    Median
        The first time at which no more than half is left. The interval is that of Brookmeyer and
        Crowley 1982 with the log-log band of `scipy.stats`; NaN without two rows.

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
    if len(values) < 2:
        return Median(middle, np.nan, np.nan)
    with np.errstate(all="ignore"):  # the band has no ends where all or none are left
        band = curve.confidence_interval(method="log-log")
    # Where all or none are left, the band is the curve.
    low, high = (
        np.where(np.isnan(end.probabilities), curve.probabilities, end.probabilities)
        for end in (band.low, band.high)
    )
    return Median(middle, _first(curve.quantiles, low), _first(curve.quantiles, high))


def _first(times: np.ndarray, left: np.ndarray) -> float:
    """Return the first time at which at most half is left."""
    reached = np.flatnonzero(left <= 0.5 + 1e-12)
    return float(times[reached[0]]) if reached.size else float("nan")
