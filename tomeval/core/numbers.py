"""Numbers for reading: values, intervals and p values, in tables and in sentences.

Tables keep the ASCII minus, which can be copied and which LaTeX typesets; sentences and figures
have the true minus sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median_low

MISSING = "–"
_SMALLEST_P = 0.001


def decimals(halves: Iterable[float], most: int = 3) -> int:
    """Return how many decimals the values of a column have, given half the width of each interval.

    The middle interval shows two digits that count, and the smallest one above 0 at least one, so
    that none is rounded to 0; never more decimals than `most`. NaN, 0 and open intervals say
    nothing; `most` decimals where all are such.

    Examples
    --------
    >>> decimals([0.4, 2.0, 49.0]), decimals([12.0, 30.0]), decimals([0.031], most=2)
    (1, 0, 2)
    """
    sizes = sorted(half for half in halves if half > 0 and math.isfinite(half))
    if not sizes:
        return most
    middle, least = (math.floor(math.log10(size)) for size in (median_low(sizes), sizes[0]))
    return max(0, min(most, max(1 - middle, -least)))


def exact(value: float) -> float:
    """Return a number without the error of adding up: the shorter one that 1e-12 of it is away.

    Examples
    --------
    >>> exact(99.99999999999999), exact(2.970000000000003), exact(100 / 3) == 100 / 3
    (100.0, 2.97, True)
    """
    short = float(f"{value:.9g}")
    return short if abs(value - short) <= 1e-12 * abs(value) else value


def fixed(value: float, digits: int) -> str:
    """Return a number with `digits` decimals, without a minus before zero; a dash for NaN.

    Examples
    --------
    >>> fixed(-0.0004, 3), fixed(-0.0006, 3), fixed(float("nan"), 3)
    ('0.000', '-0.001', '–')
    """
    if math.isnan(value):
        return MISSING
    text = f"{value:.{digits}f}"
    return text if float(text) else text.lstrip("-")


def plus_minus(value: float, half: float, digits: int) -> str:
    """Return a value ± half the width of its interval for a table; alone without an interval."""
    text = fixed(value, digits)
    return text if text == MISSING or math.isnan(half) else f"{text} ± {fixed(half, digits)}"


def interval(value: float, low: float, high: float, digits: int, symmetric: bool = False) -> str:
    """Return a value with its interval for a table; alone without an interval.

    Examples
    --------
    >>> interval(1.5, 1.25, 1.75, 2, symmetric=True), interval(1.5, 1.25, 1.875, 1)
    ('1.50 ± 0.25', '1.5 [1.2, 1.9]')
    """
    if symmetric:
        return plus_minus(value, (high - low) / 2, digits)
    text = fixed(value, digits)
    if text == MISSING or math.isnan(low) or math.isnan(high):
        return text
    return f"{text} [{fixed(low, digits)}, {fixed(high, digits)}]"


def p_text(p: float) -> str:
    """Return p for a table, with as many digits as a reader can use, never rounded to 0.

    Examples
    --------
    >>> p_text(0.0312), p_text(0.00002)
    ('0.031', '2e-05')
    """
    return fixed(p, 3) if math.isnan(p) or p >= _SMALLEST_P else f"{p:.1g}"


def typeset(text: str) -> str:
    """Return a number's text with a true minus sign."""
    return text.replace("-", "−")


def number(value: float, digits: int = 2) -> str:
    """Return a number for a sentence, without a minus before zero."""
    return "no value" if math.isnan(value) else typeset(fixed(value, digits))


def between(low: float, high: float, digits: int = 2) -> str:
    """Return the ends of an interval for a sentence.

    Examples
    --------
    >>> between(-0.25, 1.5)
    '−0.25 to 1.50'
    """
    if math.isnan(low) or math.isnan(high):
        return "undefined"
    return f"{number(low, digits)} to {number(high, digits)}"
