"""How far the rankings from all games and from clean games agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tomeval.domains.arena.attribution import Row
from tomeval.domains.arena.outcomes import GameRecord, Records, deals, players_of, subsets
from tomeval.extensions.ratings.rating import quick_ratings
from tomeval.extensions.ratings.rows import contests_of, scopes
from tomeval.runs.columns import flat
from tomeval.statistics import Estimate
from tomeval.statistics.bootstrap import draw_counts, percentile_ends
from tomeval.statistics.paired import FloatArray
from tomeval.statistics.ranks import ENOUGH, kendall, spearman

RESAMPLES = 499
"""Of deals: each one refits two ratings."""


class Agreement(NamedTuple):
    """Both coefficients with 95 % percentile intervals.

    NaN: fewer than two players, or one ranking has all players equal; NaN ends: fewer than `ENOUGH`
    of the resamples have a coefficient.
    """

    kendall: float
    kendall_low: float
    kendall_high: float
    spearman: float
    spearman_low: float
    spearman_high: float


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
        found = Agreement(*(float("nan"),) * 6)
        if len(both) > 1 and all(kept):
            found = _agreement(kept, both, rng, resamples)
        for name in ("kendall", "spearman"):
            value, low, high = (getattr(found, name + end) for end in ("", "_low", "_high"))
            ends = [np.array([end]) for end in (value, (high - low) / 2, low, high)]
            row |= flat([name], Estimate(*ends))
        rows.append(row)
    return rows, notes


def _agreement(
    kept: Sequence[Records], both: Sequence[str], rng: np.random.Generator, resamples: int
) -> Agreement:
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


def agreement(
    first: FloatArray, second: FloatArray, drawn_first: FloatArray, drawn_second: FloatArray
) -> Agreement:
    """Return how far two rankings agree, with intervals from resamples.

    Parameters
    ----------
    first, second : ndarray, shape (P,)
        Scores of the same players.
    drawn_first, drawn_second : ndarray, shape (R, P)
        The scores in each of R resamples, in which both rankings used the same draw.

    Notes
    -----
    Percentile intervals. They cannot pass 1, and where the rankings agree fully by chance of few
    players, they lie below the coefficient: read them as how low the agreement may be.
    """
    pairs = list(zip(drawn_first, drawn_second, strict=True))
    ends: list[float] = []
    for coefficient in (kendall, spearman):
        found = np.array([coefficient(one, two) for one, two in pairs])
        found = found[np.isfinite(found)]
        low, high = math.nan, math.nan
        if len(pairs) and len(found) >= ENOUGH * len(pairs):
            low, high = (float(end) for end in percentile_ends(found))
        ends += [coefficient(first, second), low, high]
    return Agreement(*ends)
