"""Measures that only some runs have data for: how they are made of what their group has read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tomeval.domains.matrix.played import BoolArray, FloatArray, Played
from tomeval.runs.measures import Totals


def data_of(played: Played, name: str) -> Any:
    """Return what a group has read of a cell; None if the run has no such data."""
    return played.more[name]() if name in played.more else None


def from_data(
    name: str, of: Callable[[Played, Any], Totals], share: bool = False
) -> Callable[[Played, str], Totals]:
    """Return `Measure.of` for a measure that is made of what the group `name` has read.

    `of` is called with the episodes and their data. In a cell without data or without episodes no
    episode has a value: a share of no items if the measure is a `share` (see `Totals`), so that
    tables treat it alike in all cells.
    """

    def totals(played: Played, reference: str) -> Totals:
        if not played.episodes or (data := data_of(played, name)) is None:
            return nothing(played, share)
        return of(played, data)

    return totals


def step_mean(
    name: str, of: Callable[[Played, Any], FloatArray | BoolArray]
) -> Callable[[Played, str], Totals]:
    """Return `Measure.of` for the mean over an episode's steps of what `of` gives, shape (N,)."""
    return from_data(
        name, lambda played, data: Totals(by_episode(played, of(played, data)) / played.lengths)
    )


def step_share(
    name: str, of: Callable[[Played, Any], tuple[FloatArray | BoolArray, FloatArray | BoolArray]]
) -> Callable[[Played, str], Totals]:
    """Return `Measure.of` for a share of steps: `of` gives the hits and which steps count, (N,)."""

    def totals(played: Played, data: Any) -> Totals:
        hits, among = (by_episode(played, steps) for steps in of(played, data))
        return Totals(hits, among, share=True)

    return from_data(name, totals, share=True)


def nothing(played: Played, share: bool = False) -> Totals:
    """Return a measure that no episode has a value of; see `from_data`."""
    if share:
        return Totals(np.zeros(played.episodes), np.zeros(played.episodes), share=True)
    return Totals(np.full(played.episodes, np.nan))


def by_episode(played: Played, values: FloatArray | BoolArray) -> FloatArray:
    """Return the sums over the steps of each episode, shape (E,), given the steps' values (N,)."""
    starts = np.cumsum(played.lengths) - played.lengths
    if not played.episodes:
        return np.empty(0)
    sums: FloatArray = np.add.reduceat(values, starts, dtype=np.float64)
    return sums
