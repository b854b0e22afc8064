"""Times to an event that some rows did not live to see."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

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
        Crowley 1982 with the log-log band of `scipy.stats`; an end is NaN where the band is not
        known so far, and both without two rows.

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
