"""Measures that are sums over items of a game: its turns, its decisions, its probes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tomeval.runs.measures import Measure, Totals

Items = tuple[NDArray[np.int64], NDArray[Any], NDArray[np.bool_]]
"""Which game each item is of, its value, and whether it counts."""

ItemsOf = Callable[[Any], Items]
"""Returns items, given played games, whose number is their ``games``."""

Head = tuple[str, str, Literal[1, 0, -1]]
"""Name, heading, and which way is better."""


def known(of: NDArray[np.int64], values: NDArray[np.float64]) -> Items:
    """Return items that count wherever their value is known."""
    return of, np.nan_to_num(values), np.isfinite(values)


def totals_of(items: ItemsOf, share: bool, played: Any, reference: str) -> Totals:
    """Return sums and counts of items by game."""
    of, values, among = items(played)
    top = np.bincount(of[among], weights=values[among], minlength=played.games)
    bottom = np.bincount(of[among], minlength=played.games)
    return Totals(top.astype(np.float64), bottom.astype(np.float64), share)


def percent(head: Head, items: ItemsOf, meaning: str, source: str) -> Measure:
    """Return the share of items that are hits; the name of its column ends in ``_percent``."""
    of, (name, heading, better) = partial(totals_of, items, True), head
    return Measure(f"{name}_percent", heading, meaning, "%", better, source, of)


def mean(
    head: Head, items: ItemsOf, meaning: str, source: str, unit: str = "payoff", **more: Any
) -> Measure:
    """Return the mean over games of the mean of their items; `more` are fields of `Measure`."""
    of, (name, heading, better) = partial(totals_of, items, False), head
    return Measure(name, heading, meaning, unit, better, source, of, **more)
