"""How far the rankings from all games and from clean games agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.domains.arena.attribution import Row
from tomeval.domains.arena.outcomes import GameRecord, Records, deals, players_of, subsets
from tomeval.extensions.ratings.rating import quick_ratings
from tomeval.extensions.ratings.rows import contests_of, scopes
from tomeval.runs.columns import interval_columns
from tomeval.statistics.bootstrap import draw_counts, percentile_ends
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.ranks import ENOUGH, kendall, spearman

RESAMPLES = 499
"""Of deals: each one refits two ratings."""


def agreement_rows(
    records: Records, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[list[Row], list[str]]:
    """Return how far the rankings from all games and from clean games agree; and notes.

    Kendall's tau-b and Spearman's rho of the ratings of those players who have games in both. The
    intervals resample deals, with the same draw for both rankings; ratings of resamples have the
    weak prior of `tomeval.extensions.ratings.fit.PRIOR`, as a resample may lack a player's losses.
    """
    rows, notes = [], []
    for scope, some in scopes(records).items():
        (_, whole), (_, clean) = subsets([record for record in some if record.complete])
        both = [name for name in players_of(whole) if name in players_of(clean)]
        row: Row = {"game": scope, "players": len(both), "games": len(whole)}
        row["clean"] = len(clean)
        kept: list[list[GameRecord]] = [
            [record for record in games if set(record.players) <= set(both)]
            for games in (whole, clean)
        ]
        lost = [name for name in players_of(whole) if name not in both]
        if lost:
            notes.append(
                f"{scope}: {', '.join(lost)} has no clean game: rankings are of the others, from "
                "the games among themselves"
            )
        nothing = (math.nan,) * 3
        ends = {"kendall": nothing, "spearman": nothing}
        if len(both) > 1 and all(kept):
            ends = _agreement(kept, both, rng, resamples)
        for name, values in ends.items():
            row |= interval_columns(name, *values)
        rows.append(row)
    return rows, notes


def _agreement(
    kept: Sequence[Records], both: Sequence[str], rng: np.random.Generator, resamples: int
) -> dict[str, Coefficient]:
    """Return the agreement of the ratings of two sets of games on the same deals."""
    tables = [contests_of(records, both) for records in kept]
    every = np.unique(deals([*kept[0], *kept[1]]))
    # The contests' clusters are the sorted deals of their own games.
    own = [np.searchsorted(every, np.unique(deals(records))) for records in kept]
    fits = [quick_ratings(table) for table in tables]
    drawn: list[list[Any]] = [[], []]
    # One deal cannot be resampled.
    for counts in draw_counts(resamples if len(every) > 1 else 0, len(every), rng):
        for which, (fit, places) in enumerate(zip(fits, own, strict=True)):
            drawn[which].append(fit(counts[places].astype(np.float64)))
    return agreement(fits[0](), fits[1](), np.array(drawn[0]), np.array(drawn[1]))


Coefficient = tuple[float, float, float]
"""A coefficient and the ends of its interval: NaN without two players or a ranking, NaN ends where
fewer than `ENOUGH` of the resamples have a coefficient."""


def agreement(
    first: FloatArray, second: FloatArray, drawn_first: FloatArray, drawn_second: FloatArray
) -> dict[str, Coefficient]:
    """Return Kendall's tau-b and Spearman's rho of scores of the same players, (P,), by name.

    With 95 % percentile intervals from R resamples, (R, P) each, in which both rankings used the
    same draw. They cannot pass 1, and where the rankings agree fully by chance of few players, they
    lie below the coefficient: read them as how low the agreement may be.
    """
    pairs = list(zip(drawn_first, drawn_second, strict=True))
    made = {}
    for name, coefficient in (("kendall", kendall), ("spearman", spearman)):
        drawn = np.array([coefficient(one, two) for one, two in pairs])
        drawn = drawn[np.isfinite(drawn)]
        low, high = math.nan, math.nan
        if len(pairs) and len(drawn) >= ENOUGH * len(pairs):
            low, high = map(float, percentile_ends(drawn))
        made[name] = (coefficient(first, second), low, high)
    return made
