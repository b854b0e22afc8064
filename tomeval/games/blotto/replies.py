"""Best replies to one allocation: whether it can be beaten, and the reply that is taken."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from tomeval.games.blotto.allocations import Allocation, every, results


def price(other: Sequence[int], lead: int) -> int:
    """Return the fewest units that reach a lead of 1 or 0 fields against an allocation.

    Let ``c`` fields be contested and ``w`` of them won, the others tied: the lead is
    ``w - (fields - c)``, so that ``w = fields + lead - c``. A won field costs a unit more than the
    other seat has there, a tied one as many. So it is cheapest to contest the ``c`` fields with the
    fewest units.

    Examples
    --------
    >>> price((7, 7, 6), lead=1)
    15
    """
    fields, units = len(other), sorted(other)
    contested = range((fields + lead + 1) // 2, fields + 1)
    return min(sum(units[:c]) + fields + lead - c for c in contested)


def best_result(other: Sequence[int]) -> int:
    """Return the best result against an allocation of as many units: 1, or 0 if it is unbeaten.

    Where the even split can be beaten, every allocation can: the sum of the ``c`` smallest numbers
    is largest for it, whatever ``c`` is, and so is the price of a win.

    Examples
    --------
    >>> best_result((7, 7, 6)), best_result((1, 1, 1))
    (1, 0)
    """
    return int(price(other, lead=1) <= sum(other))


@functools.lru_cache(maxsize=4096)
def best_reply(other: Allocation) -> Allocation:
    """Return the best reply to an allocation, if it is certain.

    Of the allocations with the best result: those that keep it against the most additional units
    on every field; of these the closest to even, with the least sum of squares; of these the
    lexicographically first. So a near miss of a prediction costs little, and nothing is presumed
    of the player that it is about.

    Examples
    --------
    >>> best_reply((7, 7, 6))
    (1, 10, 9)
    """
    lead, total = best_result(other), sum(other)
    raised = (tuple(units + more for units in other) for more in itertools.count())
    affordable = itertools.takewhile(lambda units: price(units, lead) <= total, raised)
    *_, hardest = affordable
    rows = every(len(other), total)
    good = rows[results(rows, hardest) >= lead].astype(np.int64)
    return tuple(good[(good**2).sum(axis=1).argmin()].tolist())
