"""Sensitivity to wording as rows of tables, and the tables of ``tomeval compare``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tomeval.core.extensions import Compared
from tomeval.extensions.wording.gap import WordingGap, wording_gap
from tomeval.extensions.wording.grids import Grid
from tomeval.extensions.wording.ranks import Agreed, RankStability, rank_stability
from tomeval.extensions.wording.variance import Sensitivity, Variation, sensitivity
from tomeval.runs.columns import interval_columns
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

Rows = list[dict[str, Any]]
Table = tuple[Rows, list[str], list[str]]
Measures = Mapping[str, Measure]


def variation_rows(found: Sequence[Sensitivity], measures: Measures) -> Rows:
    """Return a row per model, task, measure and source of variance."""
    return [
        {**_place(one.laid), "measure": measures[one.laid.metric].heading, **_variation(part)}
        for one in found
        for part in one.variations
    ]


def _variation(part: Variation) -> dict[str, Any]:
    """Return a source's columns: its standard deviation, its share, and its range."""
    found = part.component
    deviations = (math.sqrt(value) for value in (found.variance, found.low, found.high))
    shares = (100 * found.share, 100 * found.share_low, 100 * found.share_high)
    ends = (math.nan,) * 3
    if part.range is not None:
        ends = (part.range.value, part.range.low, part.range.high)
    return {
        "source": part.source,
        "levels": part.levels,
        **interval_columns("sd", *deviations),
        **interval_columns("share_percent", *shares),
        **interval_columns("range", *ends),
        "least": part.least,
        "most": part.most,
    }


def gap_rows(found: Sequence[WordingGap], by: str) -> Rows:
    """Return a row per model, task and player."""
    rows = []
    for one in found:
        chosen = one.chosen
        shares = (100 * chosen.share, 100 * chosen.low, 100 * chosen.high)
        rows.append(
            {
                **_place(one.laid),
                by: one.player,
                "wordings": len(one.laid.wordings),
                **interval_columns("gap", chosen.mean, chosen.mean_low, chosen.mean_high),
                **interval_columns("under_the_best", chosen.least, math.nan, math.nan),
                **interval_columns("explained_percent", *shares),
                "best_wording": one.best,
                "chosen_again_percent": 100 * chosen.kept,
            }
        )
    return rows


def rank_rows(found: Sequence[RankStability], measures: Measures) -> Rows:
    """Return a row per model, task and measure: how far rankings agree over wordings."""
    return [
        {
            **_place(one.laid),
            "measure": measures[one.laid.metric].heading,
            "players": len(one.laid.players),
            "wordings": len(one.laid.wordings),
            **_agreed("W", one.concordance),
            **_agreed("tau_b", one.kendall),
            "best": one.best,
            **_agreed("first", one.kept, "_percent"),
        }
        for one in found
    ]


def _agreed(name: str, found: Agreed, ending: str = "") -> dict[str, float]:
    """Return a coefficient's columns, with what noise alone would leave of it."""
    size = 100.0 if ending else 1.0
    ends = (size * found.value, size * found.low, size * found.high)
    alone = (size * found.alone, size * found.alone_low, size * found.alone_high)
    return {
        **interval_columns(name + ending, *ends),
        **interval_columns(f"{name}_noise_alone{ending}", *alone),
    }


def first_rows(found: Sequence[RankStability], measures: Measures, by: str) -> Rows:
    """Return a row per model, task, measure and player: which ranks it has over wordings."""
    rows, nothing = [], (math.nan, math.nan)
    for one in found:
        ranks = one.ranks()
        for place, player in enumerate(one.laid.players):
            ends = (100 * values[place] for values in (one.first, one.first_low, one.first_high))
            rows.append(
                {
                    **_place(one.laid),
                    "measure": measures[one.laid.metric].heading,
                    by: player,
                    **interval_columns("mean", float(one.means[place].mean()), *nothing),
                    "mean_rank": float(ranks[place].mean()),
                    "best_rank": float(ranks[place].min()),
                    "worst_rank": float(ranks[place].max()),
                    **interval_columns("first_percent", *map(float, ends)),
                }
            )
    return rows


def _place(laid: Grid) -> dict[str, Any]:
    """Return the columns of a model and a task."""
    return {"model": laid.model, **laid.task}


def _sensitivity(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    found, notes = sensitivity(
        runs, options["metrics"] or None, options["reference"], options["seed"]
    )
    above = [
        "variance by crossed random effects of one player's wording: sd, and share of one "
        f"{runs[0].domain.compare.unit}'s variance, with generalised 95 % intervals; range of the "
        "swept values' means"
    ]
    return variation_rows(found, runs[0].measures), above, notes


def _wording_gap(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    found, notes = wording_gap(runs, options["reference"])
    above = [
        "gap: functional regret less what acting on one's predictions would have cost; explained: "
        "the share of it that disappears under the best wording, which is chosen without the "
        f"{runs[0].domain.compare.unit} in which it is evaluated"
    ]
    return gap_rows(found, runs[0].domain.compare.by[0]), above, notes


def _rank_stability(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    found, notes = rank_stability(
        runs, options["metrics"] or None, options["reference"], options["seed"]
    )
    above = [
        "agreement of ranks over wordings: Kendall's W, mean tau-b of pairs, share of wordings in "
        "which the best over all is first; noise alone: if wordings moved all alike"
    ]
    return rank_rows(found, runs[0].measures), above, notes


SENSITIVITY = Compared(_sensitivity, ("--metric",))
WORDING_GAP = Compared(_wording_gap)
RANK_STABILITY = Compared(_rank_stability, ("--metric",))
