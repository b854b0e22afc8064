"""Measures of what states hold, for runs whose states have been read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from tomeval.domains.matrix.played import Played, from_data
from tomeval.extensions.internal.chain import sites
from tomeval.extensions.internal.findings import Found, any_kept, kept_of
from tomeval.extensions.internal.keys import BEST_REPLY, NEXT_MOVE, STATE, TYPE, settings_of
from tomeval.extensions.internal.questions import ACT
from tomeval.extensions.internal.use import LAST, TWIN
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.store import Store
from tomeval.statistics.bounded import FROM_ZERO, Bounds

NAME = "internal"


def _read(store: Store, number: int, definition: Mapping[str, Any]) -> Found | None:
    return kept_of(store, number, definition)


def _mean(name: str, truth: str = NEXT_MOVE) -> Callable[[Played, Found | None], Totals]:
    def of(played: Played, data: Found | None) -> Totals:
        if data is None or truth not in data.held:
            return Totals(np.full(played.episodes, np.nan))
        return Totals.known(data.held[truth].of(name))

    return of


def _followed(played: Played, data: Found | None) -> Totals:
    hits, items = np.zeros((2, played.episodes))
    if data is not None:
        # Never the last layer, whose state decides alone.
        probed = sites(data, next(iter(data.held), ""))[0].layer
        for swap in data.swaps:
            if swap[:4] == (ACT, LAST, probed, TWIN):
                items[swap.place] += 1
                hits[swap.place] += swap.follows
    return Totals(hits, items, share=True)


def _decodes(truth: str, store: Store) -> bool:
    """Tell whether a truth besides the next move was asked for, and states have been read."""
    asked = any(truth in settings_of(told).truth for _, told in store.cells())
    return asked and any_kept(store)


def _measure(
    name: str,
    heading: str,
    meaning: str,
    unit: str,
    better: Literal[1, 0, -1],
    of: Callable[[Played, Any], Totals],
    bounds: Bounds | None = None,
) -> Measure:
    source = "this project, docs/measures/internal.md"
    share = of is _followed
    whole = from_data(NAME, of, share=share)
    return Measure(name, heading, meaning, unit, better, source, whole, bounds=bounds)


MEASURES = (
    _measure(
        "internal_percent",
        "internal %",
        "How often a cross-fitted linear probe reads the partner's next move from the state at the "
        "token where the model acts, from the second step on, 0 to 100. That it can be read does "
        "not mean that it is used.",
        "%",
        1,
        _mean("holds"),
    ),
    _measure(
        "delta_internal_per_step",
        "ΔInternal/T",
        "The regret per step of a rational reader of the state, who maximises its payoff expected "
        "under the probe's probabilities, the partner's moves as played, from the second step on. "
        "In payoff units; lower is better.",
        "payoff",
        -1,
        _mean("internal_regret"),
        FROM_ZERO,
    ),
    _measure(
        "internal_use_percent",
        "followed %",
        "How often the action becomes that of an episode with another partner when the state that "
        "the probe reads is taken from there, among pairs with different actions, 0 to 100.",
        "%",
        0,
        _followed,
    ),
)

_OTHERS = {
    TYPE: (
        "type",
        "which partner it plays with, among cells that share everything else,",
    ),
    STATE: ("state", "the state that the partner's table is in"),
    BEST_REPLY: ("best reply", "the best action over the steps that are left"),
}


def _group(truth: str, words: str, what: str) -> Group:
    meaning = (
        f"How often a cross-fitted linear probe reads {what} from the state at the token where the "
        "model acts, from the second step on, 0 to 100."
    )
    of = _mean("holds", truth)
    measure = _measure(f"internal_{truth}_percent", f"internal {words} %", meaning, "%", 1, of)
    return Group(NAME, (measure,), partial(_decodes, truth), _read)


GROUPS = (
    Group(NAME, MEASURES, any_kept, _read),
    *(_group(truth, *words) for truth, words in _OTHERS.items()),
)
