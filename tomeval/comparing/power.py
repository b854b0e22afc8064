"""How many episodes it takes to detect a difference, from pilot data."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.comparing.pairing import pair
from tomeval.comparing.sides import Runs, check_by, metric_names, opened, read_sides
from tomeval.core.errors import TomevalError

MOST = 10_000_000
"""With more pairs than this, no number is given."""
_FAR = 30.0


def episodes_needed(
    runs: Runs,
    metric: str,
    difference: float,
    by: str | None = None,
    baseline: str | None = None,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    reference: str | None = None,
) -> list[dict[str, Any]]:
    """Return how many paired episodes a t test needs to detect a difference, by task and level.

    Parameters
    ----------
    runs, by, baseline, reference
        Pilot runs, as for `tomeval.comparing.compare`.
    difference : float
        The true mean difference to detect, in the metric's unit; its sign does not matter.
    power : float
        Probability of detecting it, between `alpha` and 1.
    alpha : float
        Two-sided level of the test. For Holm's correction over K comparisons give alpha / K: what
        the first of them needs.

    Returns
    -------
    list of dict
        ``scope``, the level, ``baseline``, ``metric``, ``pairs`` of the pilot, ``sd`` of the paired
        differences, ``episodes`` needed, ``episodes_safe`` (with the upper 80 % confidence bound of
        the standard deviation in place of its estimate: a small pilot is uncertain about it),
        ``smallest_difference`` that the pilot's own size detects with this power, and ``reason`` if
        there is no number.

    Notes
    -----
    Noncentral t distribution; the standard deviation of the differences is the pilot's, with n - 1
    degrees of freedom. The bound: Browne 1995.
    """
    if not (np.isfinite(difference) and difference != 0):
        raise TomevalError(f"the difference must be a number other than 0, is {difference}")
    if not 0 < alpha < 1 or not alpha < power < 1:
        raise TomevalError(f"need 0 < alpha < power < 1, have alpha {alpha} and power {power}")
    with opened(runs) as listed:
        metric_names(listed, [metric])
        by = check_by(listed, by)
        pairing = pair(read_sides(listed, by, [metric], reference), by, baseline, [metric])
    rows = []
    for meeting in pairing.meetings:
        for t, task in enumerate(meeting.tasks):
            for k, level in enumerate(pairing.levels):
                kept = meeting.paired[:, t, k]
                differences = (meeting.level - meeting.baseline)[kept, t, k, 0]
                row: dict[str, Any] = {"scope": pairing.names[task], by: level}
                row |= {"baseline": pairing.baseline, "metric": metric, "pairs": int(kept.sum())}
                rows.append(row | _needed(differences, abs(difference), power, alpha))
    return rows


def _needed(
    differences: np.ndarray[Any, Any], difference: float, power: float, alpha: float
) -> dict[str, Any]:
    """Return the columns that follow from a pilot's paired differences."""
    from scipy.special import chdtri

    nan = float("nan")
    nothing = {"sd": nan, "episodes": None, "episodes_safe": None, "smallest_difference": nan}
    count = len(differences)
    if count < 2 or not np.isfinite(differences).all():
        reason = "fewer than two pairs" if count < 2 else "not every episode has a value"
        return {**nothing, "reason": reason}
    sd = float(differences.std(ddof=1))
    if sd <= 1e-12 * max(1.0, float(np.abs(differences).max())):
        return {**nothing, "sd": 0.0, "reason": "the pilot's differences do not vary"}
    upper = sd * float(np.sqrt((count - 1) / chdtri(count - 1, 0.8)))
    return {
        "sd": sd,
        "episodes": pairs_needed(difference / sd, power, alpha),
        "episodes_safe": pairs_needed(difference / upper, power, alpha),
        "smallest_difference": sd * smallest_effect(count, power, alpha),
        "reason": "",
    }


def power_of(effect: float, pairs: int, alpha: float = 0.05) -> float:
    """Return the power of the two-sided paired t test.

    Parameters
    ----------
    effect : float
        True mean difference over the standard deviation of the differences.
    pairs : int
        At least 2.

    Examples
    --------
    >>> round(power_of(0.5, 34), 4)
    0.8078
    """
    from scipy.special import gammainc, nctdtr, stdtrit

    freedom = pairs - 1
    bound, shift = float(stdtrit(freedom, 1 - alpha / 2)), abs(effect) * np.sqrt(pairs)
    if shift > _FAR:  # beyond nctdtr's range: the numerator's noise no longer matters
        return float(gammainc(freedom / 2, freedom / 2 * (shift / bound) ** 2))
    above, below = 1 - nctdtr(freedom, shift, bound), nctdtr(freedom, shift, -bound)
    return float(above + (below if np.isfinite(below) else 0.0))


def pairs_needed(effect: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Return the smallest number of pairs with at least this power; None beyond `MOST`.

    Examples
    --------
    >>> pairs_needed(0.5)
    34
    """
    high = 2
    while power_of(effect, high, alpha) < power:
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if middle >= 2 and power_of(effect, middle, alpha) >= power:
            high = middle
        else:
            low = middle
    return high


def smallest_effect(pairs: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the effect (mean / SD of the differences) that `pairs` detect with this power."""
    low, high = 0.0, 1.0
    while power_of(high, pairs, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle, pairs, alpha) >= power else (middle, high)
    return high
