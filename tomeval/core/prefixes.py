"""How much two sequences share from their start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def common_prefix(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return how many leading items two sequences of one type share, by bisection over slices.

    Comparing slices runs at the speed of memory; comparing item by item would not.

    Examples
    --------
    >>> common_prefix("round 12", "round 13")
    7
    """
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
