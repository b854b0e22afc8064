"""What the sign-flip test and Student's can find: smallest p, power, the pairs that are enough."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from tomeval.statistics.paired import DIVISIONS, ENUMERATED, FloatArray, IntArray

MOST = 10_000_000
"""With more pairs than this, no number is given."""
_FAR = 30.0  # beyond `nctdtr`'s range the power is 1


def smallest_p(differing: IntArray, pairs: IntArray, resamples: int) -> FloatArray:
    """Return the smallest p that `sign_flip` can give: if all differences had one sign.

    Parameters
    ----------
    differing, pairs : ndarray of int
        Units whose difference is not 0, and all units, of one shape. Flipping a 0 changes nothing.
    resamples : int
        Random patterns where there are too many to try all.

    Examples
    --------
    >>> smallest_p(np.array([6, 2, 60]), np.array([6, 6, 60]), 9999).tolist()
    [0.03125, 0.5, 0.0001]
    """
    least = np.minimum(1.0, 2.0 ** (1.0 - differing))
    smallest: FloatArray = np.where(
        pairs > ENUMERATED, np.maximum(least, 1 / (1 + resamples)), least
    )
    return smallest


def smallest_division_p(divisions: FloatArray, resamples: int) -> FloatArray:
    """Return the smallest p that `label_permutation` can give, of a number of divisions.

    Two of them are extreme: the observed one, and its mirror image where the groups are as large.

    Examples
    --------
    >>> smallest_division_p(np.array([70.0, 12870.0, 1e9]), 9999).round(5).tolist()
    [0.02857, 0.00016, 0.0001]
    """
    least = np.minimum(1.0, 2.0 / divisions)
    smallest: FloatArray = np.where(divisions > DIVISIONS, 1 / (1 + resamples), least)
    return smallest


def enough_pairs(tests: int, resamples: int, alpha: float = 0.05) -> int | None:
    """Return the fewest pairs with which one of several tests can reject after Holm's correction.

    All differ, with one sign. None: with these resamples no number of pairs is enough.

    Examples
    --------
    >>> [enough_pairs(tests, 9999) for tests in (1, 5, 11, 10_000)]
    [6, 8, 9, None]
    """
    numbers = np.arange(2, 64)
    enough = numbers[smallest_p(numbers, numbers, resamples) * tests < alpha]
    return int(enough[0]) if len(enough) else None


def power_of(effect: float, pairs: int, alpha: float = 0.05) -> float:
    """Return the power of the two-sided paired t test.

    Parameters
    ----------
    effect : float
        True mean difference over the standard deviation of the differences.
    pairs : int
        At least 5, or any number where the power is not near 1.

    Examples
    --------
    >>> round(power_of(0.5, 34), 4)
    0.8078
    """
    from scipy.special import nctdtr, stdtrit

    freedom = pairs - 1
    bound = float(stdtrit(freedom, 1 - alpha / 2))
    shift = min(abs(effect) * np.sqrt(pairs), _FAR)
    above, below = 1 - nctdtr(freedom, shift, bound), nctdtr(freedom, shift, -bound)
    return float(above + (below if np.isfinite(below) else 0.0))


def pairs_needed(effect: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Return the smallest number of pairs with at least this power; None beyond `MOST`.

    Examples
    --------
    >>> pairs_needed(0.5)
    34
    """
    known = range(2, MOST + 1)
    place = bisect_left(known, power, key=lambda pairs: power_of(effect, pairs, alpha))
    return known[place] if place < len(known) else None


def smallest_effect(pairs: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the effect (mean / SD of the differences) that `pairs` detect with this power."""
    from scipy.optimize import brentq

    most = 1.0
    while power_of(most, pairs, alpha) < power:
        most *= 2
    return float(brentq(lambda effect: power_of(effect, pairs, alpha) - power, 0, most, rtol=1e-9))
