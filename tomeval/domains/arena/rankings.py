"""How far the rankings from all games and from clean games agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tomeval.domains.arena.attribution import Row
from tomeval.domains.arena.outcomes import GameRecord, Records, deals, players_of, subsets
from tomeval.domains.arena.ratings import contests_of, scopes
from tomeval.runs.columns import flat
from tomeval.statistics import Estimate
from tomeval.statistics.agreement import Agreement, agreement
from tomeval.statistics.bootstrap import draw_counts
from tomeval.statistics.ratings import quick_ratings

RESAMPLES = 499
"""Of deals: each one refits two ratings."""


def agreement_rows(
    records: Records, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[list[Row], list[str]]:
    """Return how far the rankings from all games and from clean games agree; and notes.

    Kendall's tau-b and Spearman's rho of the ratings of those players who have games in both. The
    intervals resample deals, with the same draw for both rankings; ratings of resamples have the
    weak prior of `tomeval.statistics.ratings.PRIOR`, as a resample may lack a player's losses.
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
