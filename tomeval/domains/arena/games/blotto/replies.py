"""Best replies to one allocation: whether it can be beaten, and the reply that is taken.

To lead by `lead` fields (1: win, 0: tie) against units ``b`` by field, let ``c`` fields be
contested and ``w`` of them won, the others tied: the lead is ``w - (fields - c)``, so that
``w = fields + lead - c``. A won field costs ``b + 1`` units, a tied one ``b``, a lost one nothing.
So it is cheapest to contest the ``c`` fields with the fewest units, at the price of these units
plus ``w``. Units that are left over never harm.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from tomeval.domains.arena.games.blotto.allocations import Allocation, even


def price(other: Sequence[int], lead: int) -> int:
    """Return the fewest units that reach a lead of 1 or 0 fields against an allocation.

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

    Examples
    --------
    >>> best_result((7, 7, 6)), best_result((1, 1, 1))
    (1, 0)
    """
    return int(price(other, lead=1) <= sum(other))


def always_beaten(fields: int, units: int) -> bool:
    """Tell whether every allocation of a board can be beaten.

    The sum of the ``c`` smallest numbers is largest for the even split, whatever ``c`` is, and so
    is the price of a win.

    Examples
    --------
    >>> always_beaten(3, 20), always_beaten(3, 3), always_beaten(2, 20)
    (True, False, False)
    """
    return best_result(even(fields, units)) == 1


def margin(other: Sequence[int], lead: int) -> int:
    """Return the most units that the other seat could have more on *every* field, the lead kept.

    Examples
    --------
    >>> margin((7, 7, 6), lead=1)
    2
    """
    fields, units, total = len(other), sorted(other), sum(other)
    contested = range((fields + lead + 1) // 2, fields + 1)
    return max((total - fields - lead + c - sum(units[:c])) // c for c in contested)


@functools.lru_cache(maxsize=4096)
def best_reply(other: Allocation) -> Allocation:
    """Return the best reply to an allocation, if it is certain.

    Of the allocations with the best result: those that keep it against the most additional units
    on every field (see `margin`); of these the closest to even, with the least sum of squares; of
    these the lexicographically first. So a near miss of a prediction costs little, and nothing is
    presumed of the player that it is about.

    Examples
    --------
    >>> best_reply((7, 7, 6))
    (1, 10, 9)
    """
    lead = best_result(other)
    more = margin(other, lead)
    return most_even(tuple(units + more for units in other), lead, sum(other))


def most_even(other: Sequence[int], lead: int, total: int) -> Allocation:
    """Return the allocation of `total` units with the least sum of squares that leads by `lead`.

    ``least[i][u, d]`` is the least sum of squares over fields i, i + 1, ... if u units are left for
    them and the lead is d - fields before them. Equals: the lexicographically first.
    """
    fields = len(other)
    end = np.full((total + 1, 2 * fields + 1), np.inf)
    end[0, fields + lead :] = 0
    least = [end]
    for units in reversed(other):
        later, now = least[0], np.full_like(end, np.inf)
        for own in range(total + 1):
            rows = later[: total + 1 - own]
            step = (own > units) - (own < units)
            width = 2 * fields + 1 - abs(step)
            to, source = max(0, -step), max(0, step)
            part = now[own:, to : to + width]
            np.minimum(part, rows[:, source : source + width] + own * own, out=part)
        least.insert(0, now)
    chosen: list[int] = []
    left, place = total, fields
    for i, units in enumerate(other):
        own = next(
            own
            for own in range(left + 1)
            if _at(least[i + 1], left - own, place + (own > units) - (own < units)) + own * own
            == least[i][left, place]
        )
        chosen.append(own)
        left, place = left - own, place + (own > units) - (own < units)
    return tuple(chosen)


def _at(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]], left: int, place: int) -> float:
    return float(table[left, place]) if 0 <= place < table.shape[1] else np.inf
