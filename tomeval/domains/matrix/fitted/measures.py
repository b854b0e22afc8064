"""Measures of regret against the best reply to a fitted machine; see `fitted`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from tomeval.domains.matrix.fitted.fit import fits
from tomeval.domains.matrix.groups import Group
from tomeval.domains.matrix.played import FloatArray, Played
from tomeval.domains.matrix.storing import partners_known
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.store import Store

FITTED = "delta_functional_fitted_per_step"
LEAST, MOST = "regret_fitted_least_per_step", "regret_fitted_most_per_step"
"""The estimate, and between what regret lies whatever the other does of what is left open."""


def fitted_values(played: Played, name: str) -> FloatArray:
    """Return one of `FITTED`, `LEAST` and `MOST` by complete episode, shape (E,)."""
    values = np.full(played.episodes, np.nan)
    for which, found in fits(played).items():
        part = {FITTED: found.regret, LEAST: found.least, MOST: found.most}[name]
        values[played.which == which] = part
    return values


def _measure(name: str, heading: str, better: Literal[0, -1], meaning: str) -> Measure:
    def of(played: Played, reference: str) -> Totals:
        return Totals(fitted_values(played, name))

    source = "this project, docs/measures.md, Fitted partners"
    label = name.removesuffix("_per_step").replace("delta_functional", "regret")
    return Measure(name, heading, meaning, "payoff", better, source, of, label=label)


_MEASURES = (
    _measure(
        FITTED,
        "ΔFunctional/T (fitted)",
        -1,
        "An estimate of regret where the partner has no table: how much less reward per step the "
        "subject earned than the best reply to the machine of short memory that fits the partner "
        "best. Its interval holds the uncertainty of the fit. Missing where it would hang on what "
        "the partner did too seldom: then there are the least and the most only. Lower is better; "
        "in payoff units.",
    ),
    _measure(
        LEAST,
        "regret (fitted), least",
        0,
        "The same if the partner did the worst for the subject, step by step, within exact limits "
        "of what these games leave open. In payoff units.",
    ),
    _measure(
        MOST,
        "regret (fitted), most",
        0,
        "The same if the partner did the best for the subject within exact limits of what these "
        "games leave open. In payoff units.",
    ),
)


def has_unknown_partners(store: Store) -> bool:
    """Tell whether any cell's partner has no table: a player, or one of recorded games."""
    return not all(partners_known(store))


def _read(store: Store, number: int, definition: Mapping[str, Any]) -> None:
    """Read nothing: moves and rewards are all that is needed."""


FITTED_GROUP = Group("fitted", _MEASURES, has_unknown_partners, _read)
