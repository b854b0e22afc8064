"""Sensitivity to wording in runs of matrix games: the gap as a measure, and three tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.numbers import number
from tomeval.domains.matrix.measures import MEASURES
from tomeval.domains.matrix.played import Played
from tomeval.domains.matrix.worded import has_wordings
from tomeval.extensions.wording import rows as laid
from tomeval.extensions.wording.gap import EVERY, WordingGap, wording_gap
from tomeval.extensions.wording.ranks import RankStability, rank_stability
from tomeval.extensions.wording.variance import Sensitivity, place_words, sensitivity
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.results import Run
from tomeval.runs.tables import Table, fixed

GAP = "literal_functional_gap_per_step"
Rows = list[dict[str, Any]]


def _gap(played: Played, reference: str) -> Totals:
    """Return ΔFunctional/T - ΔToM/T (best response) of every episode."""
    whole = MEASURES["delta_functional_per_step"].of(played, reference)
    belief = MEASURES["delta_tom_best_response_per_step"].of(played, reference)
    return Totals(whole.values - belief.values)


GROUPS = (
    Group(
        "wording",
        (
            Measure(
                GAP,
                "literal-functional gap",
                "The gap between literal and functional theory of mind: regret beyond what acting "
                "on the subject's own predictions would have cost, response and foresight "
                "together. In payoff units, any sign; shown where the wording is swept.",
                "payoff",
                0,
                "this project, docs/measures.md",
                _gap,
                label="gap",
            ),
        ),
        has_wordings,
    ),
)


def metrics_of(run: Run) -> list[str]:
    """Return the measures whose sensitivity is shown: the headline, and the gap if it is known."""
    both = {"delta_functional_per_step", "delta_tom_best_response_per_step"}
    return [*run.headline, *([GAP] if both <= {*run.headline} else [])]


class Found:
    """What a run says of its sensitivity to wording; empty lists where it cannot say it."""

    def __init__(self, run: Run) -> None:
        self.notes: list[str] = []
        self.variances: list[Sensitivity] = []
        self.ranks: list[RankStability] = []
        self.gaps: list[WordingGap] = []
        try:
            self.variances, notes = sensitivity(run, metrics_of(run))
            self.notes += notes
        except TomevalError as error:
            self.notes.append(str(error))
        try:
            self.ranks, _ = rank_stability(run)
        except TomevalError as error:
            self.notes.append(str(error))
        try:
            self.gaps, self.gap_notes = wording_gap(run)
        except TomevalError as error:
            self.gap_notes = [str(error)]


@lru_cache(maxsize=2)
def found_in(run: Run) -> Found:
    """Return what a run says, computed once for all tables and figures."""
    return Found(run)


def present(run: Run) -> bool:
    """Tell whether the run sweeps the wording."""
    return has_wordings(run.store)


def variance_rows(run: Run) -> Rows:
    """Return the variance of the headline measures and of the gap by source."""
    return laid.variation_rows(found_in(run).variances, run.domain.measures)


def gap_rows(run: Run) -> Rows:
    """Return how much of the gap the best wording removes."""
    return laid.gap_rows(found_in(run).gaps, run.domain.compare.by[0])


def rank_rows(run: Run) -> Rows:
    """Return how far the ranks of strategies agree over wordings."""
    return laid.rank_rows(found_in(run).ranks, run.domain.measures)


def first_rows(run: Run) -> Rows:
    """Return each strategy's ranks over wordings."""
    return laid.first_rows(found_in(run).ranks, run.domain.measures, run.domain.compare.by[0])


def variance_notes(run: Run) -> list[str]:
    """Say what the columns are, what was left out, and what the gap and the ranks come to."""
    found = found_in(run)
    notes = [
        "sd and share: of one episode's variance, by crossed random effects; range: the largest "
        "less the smallest mean of the swept values; any wording: all that wording does, alone and "
        "to single strategies"
    ]
    return [*notes, *found.notes, *_gap_sentences(run, found), *_rank_sentences(run, found)]


def _gap_sentences(run: Run, found: Found) -> list[str]:
    """Say the share of the gap that wording explains."""
    told = []
    for one in found.gaps:
        of_all = one.player == EVERY or len(one.laid.players) == 1
        if of_all and not one.chosen.reason:
            where = place_words(run.domain, one.laid.model, one.laid.task)
            ends = f"{number(100 * one.chosen.low, 0)} to {number(100 * one.chosen.high, 0)}"
            told.append(
                f"{where}: wording explains {number(100 * one.chosen.share, 0)} % ({ends}) of the "
                f"literal-functional gap, {number(one.chosen.mean, 2)}: it is "
                f"{number(one.chosen.least, 2)} under the best wording ({one.best})"
            )
    return told


def _rank_sentences(run: Run, found: Found) -> list[str]:
    """Say how stable the ranks by regret are."""
    first = run.headline[0] if run.headline else ""
    told = []
    for one in found.ranks:
        if one.laid.metric == first:
            where = place_words(run.domain, one.laid.model, one.laid.task)
            told.append(
                f"{where}: by {run.measures[first].heading}, {one.best} is first in "
                f"{number(100 * one.kept.value, 0)} % of {len(one.laid.wordings)} wordings "
                f"(noise alone: {number(100 * one.kept.alone, 0)} %); Kendall's W "
                f"{number(one.concordance.value, 2)} (noise alone: "
                f"{number(one.concordance.alone, 2)})"
            )
    return told


def gap_notes(run: Run) -> list[str]:
    """Say how the best wording was chosen, and where there is no share."""
    return [
        "under_the_best: the wording is chosen without the episode in which it is evaluated; "
        "explained: how much smaller that is than the gap, its interval for the truly best wording",
        *found_in(run).gap_notes,
    ]


def rank_notes(run: Run) -> list[str]:
    """Say what the columns are."""
    return [
        "W: Kendall's over wordings; tau_b: mean over pairs of wordings; first: share of wordings "
        "in which the best strategy over all of them is first; noise alone: the mean if wordings "
        "moved all strategies alike. Intervals: bootstrap over episodes, which lie low"
    ]


_NEEDS = 'a sweep over options of wording: docs/measures.md, "Sensitivity to wording"'

TABLES: Mapping[str, Table] = {
    "sensitivity": Table(
        "sensitivity to wording: variance of the measures by option of wording and strategy",
        fixed(variance_rows),
        present,
        variance_notes,
        needs=_NEEDS,
    ),
    "wording_gap": Table(
        "sensitivity to wording: share of the literal-functional gap that it explains",
        fixed(gap_rows),
        present,
        gap_notes,
        needs=_NEEDS,
    ),
    "rank_stability": Table(
        "sensitivity to wording: agreement of the strategies' ranks",
        fixed(rank_rows),
        present,
        rank_notes,
        needs=_NEEDS,
    ),
    "ranks": Table(
        "sensitivity to wording: each strategy's ranks",
        fixed(first_rows),
        present,
        needs=_NEEDS,
    ),
}
