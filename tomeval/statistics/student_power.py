"""Power of the two-sided paired t test (noncentral t), and what follows from it."""

from __future__ import annotations

import numpy as np

MOST = 10_000_000
"""With more pairs than this, no number is given."""
_FAR = 30.0


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
