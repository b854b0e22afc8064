"""What the sign-flip test and Student's can find: smallest p, power, the pairs that are enough.

Power is for normal differences. With few pairs the test has few possible p and is less powerful
than Student's, so it is simulated; with many the two agree, and Student's formula is taken.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from tomeval.statistics.paired import DIVISIONS, ENUMERATED, FloatArray, IntArray

MOST = 10_000_000
"""With more pairs than this, no number is given."""
_FAR = 30.0
SIMULATED = 50
"""From this many pairs on, Student's formula is within two percentage points of the test."""
_DATA_SETS, _PATTERNS = 2_000, 4_000
_CLOSE = 1e-3  # relative: of a smallest effect


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


@dataclass(frozen=True)
class FlipPower:
    """The power of the two-sided sign-flip test for normal differences, at one level.

    Attributes
    ----------
    power : float
        Probability of finding a difference that is to be reached.
    alpha : float
        A p below it is a find.
    resamples : int
        Random sign patterns of the test, where there are too many to try all.
    seed : int
        Of the simulation: the same for every number of pairs, so that nothing depends on the order
        of questions.
    """

    power: float
    alpha: float
    resamples: int
    seed: int = 0

    @cache  # noqa: B019 (of a value, not of an object)
    def effect(self, pairs: int) -> float:
        """Return the smallest effect, mean over SD, that is found; infinite if none can be."""
        if not self._can(pairs):
            return float("inf")
        start = smallest_by_student(pairs, self.power, self.alpha)
        if pairs > SIMULATED:
            return start
        shares = _shares(pairs, self.alpha, self.seed)
        low, high = 0.0, start
        while shares.found(high) < self.power:
            low, high = high, 1.5 * high
        while high - low > _CLOSE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if shares.found(middle) >= self.power else (middle, high)
        return high

    def pairs(self, effect: float) -> int | None:
        """Return the smallest number of pairs that finds an effect; None beyond `MOST`.

        The search begins at the number that Student's test needs, which is the more powerful one.
        """
        pairs = pairs_needed(effect, self.power, self.alpha)
        while pairs is not None and self.effect(pairs) > abs(effect):
            pairs += 1
            if not self._can(max(pairs, SIMULATED)):
                return None
        return pairs

    def of(self, effect: float, pairs: int) -> float:
        """Return the probability that the test with so many pairs finds an effect."""
        if not self._can(pairs):
            return 0.0
        if pairs > SIMULATED:
            return power_of(effect, pairs, self.alpha)
        return _shares(pairs, self.alpha, self.seed).found(abs(effect))

    def _can(self, pairs: int) -> bool:
        """Return whether any p of so many pairs is below `alpha`."""
        number = np.array(pairs)
        return pairs > 1 and bool(smallest_p(number, number, self.resamples) < self.alpha)


class _Shares:
    """Simulated data sets of one number of pairs; an effect only shifts them.

    A pattern's sum over normal noise plus an effect is the sum over the noise plus the effect times
    the sum of the signs: all effects share one matrix product.
    """

    def __init__(self, pairs: int, alpha: float, seed: int) -> None:
        rng = np.random.default_rng([seed, pairs])
        self._alpha, self._pairs = alpha, pairs
        noise = rng.standard_normal((pairs, _DATA_SETS))
        if pairs <= ENUMERATED:  # half of the patterns: the others mirror them
            bits = (np.arange(2 ** (pairs - 1))[:, None] >> np.arange(pairs)) & 1
            signs = 1.0 - 2.0 * bits
        else:
            signs = rng.choice([-1.0, 1.0], size=(_PATTERNS, pairs))
        self._sums, self._signs = signs @ noise, signs.sum(axis=1)[:, None]
        self._total = noise.sum(axis=0)

    def found(self, effect: float) -> float:
        """Return the share of data sets in which the test rejects."""
        total = np.abs(self._total + effect * self._pairs)
        sums = np.abs(self._sums + effect * self._signs)
        p = (sums >= total * (1 - 1e-9)).mean(axis=0)
        return float((p < self._alpha).mean())


_shares = lru_cache(maxsize=1)(_Shares)  # those last asked for, which are large


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
    known = range(2, MOST + 1)
    place = bisect_left(known, power, key=lambda pairs: power_of(effect, pairs, alpha))
    return known[place] if place < len(known) else None


def smallest_by_student(pairs: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the effect (mean / SD of the differences) that `pairs` detect with this power."""
    from scipy.optimize import brentq

    most = 1.0
    while power_of(most, pairs, alpha) < power:
        most *= 2
    return float(brentq(lambda effect: power_of(effect, pairs, alpha) - power, 0, most, rtol=1e-9))
