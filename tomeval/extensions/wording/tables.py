"""Sensitivity to wording in tables: the gap as a measure, rows, and what ``compare`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.extensions import Compared
from tomeval.core.once import once_each
from tomeval.domains.matrix.measures import MEASURES
from tomeval.domains.matrix.played import Played
from tomeval.extensions.wording.variance import Sensitivity, sensitivity
from tomeval.runs.columns import Table, fixed, interval_columns
from tomeval.runs.measures import Measure, Totals
from tomeval.runs.outside import Group
from tomeval.runs.results import Run

GAP = "literal_functional_gap_per_step"
Rows = list[dict[str, Any]]


def _gap(played: Played, reference: str) -> Totals:
    """Return ΔFunctional/T - ΔToM/T (best response) of every episode."""
    whole = MEASURES["delta_functional_per_step"].of(played, reference)
    belief = MEASURES["delta_tom_best_response_per_step"].of(played, reference)
    return Totals(whole.values - belief.values)


_MEASURE = Measure(
    GAP,
    "literal-functional gap",
    "The gap between literal and functional theory of mind: regret beyond what acting on the "
    "subject's own predictions would have cost, response and foresight together. In payoff units, "
    "any sign; shown where the wording is swept.",
    "payoff",
    0,
    "this project, docs/measures/wording.md",
    _gap,
)
GROUPS = (Group("wording", (_MEASURE,)),)


@once_each
def found_in(run: Run) -> tuple[list[Sensitivity], list[str]]:
    """Return the variances of a run and the notes, once for all tables and figures."""
    both = {"delta_functional_per_step", "delta_tom_best_response_per_step"}
    metrics = [*run.headline, *([GAP] if both <= {*run.headline} else [])]
    try:
        return sensitivity(run, metrics)
    except TomevalError as error:
        return [], [str(error)]


def variation_rows(run: Run, found: Sequence[Sensitivity]) -> Rows:
    """Return a row per model, task, measure and source of variance: its sd, share and range."""
    rows = []
    for one in found:
        laid = one.laid
        for part in one.variations:
            of, nothing = part.component, (math.nan,) * 3
            shares = (100 * share for share in (of.share, of.share_low, of.share_high))
            rows.append(
                {
                    "model": laid.model,
                    **laid.task,
                    "measure": run.domain.measures[laid.metric].heading,
                    "source": part.source,
                    "levels": part.levels,
                    **interval_columns("sd", *map(math.sqrt, (of.variance, of.low, of.high))),
                    **interval_columns("share_percent", *shares),
                    **interval_columns("range", *(part.range[:3] if part.range else nothing)),
                    "least": part.least,
                    "most": part.most,
                }
            )
    return rows


def notes(run: Run) -> list[str]:
    """Say what the columns are, and what was left out."""
    return [
        "sd and share: of one episode's variance, by crossed random effects; range: the largest "
        "minus the smallest mean of the swept values; any wording: all that wording does, alone "
        "and to single strategies",
        *found_in(run)[1],
    ]


TABLES: Mapping[str, Table] = {
    "sensitivity": Table(
        "sensitivity to wording: variance of the measures by option of wording and strategy",
        fixed(lambda run: variation_rows(run, found_in(run)[0])),
        notes=notes,
        needs='a sweep over options of wording: docs/measures/wording.md, "Sensitivity to wording"',
    )
}


def _compared(runs: Sequence[Run], options: dict[str, Any]) -> tuple[Rows, list[str], list[str]]:
    """Return the rows of a comparison, the sentence above them and the notes."""
    variations, notes = sensitivity(
        runs, options["metrics"] or None, options["reference"], options["seed"]
    )
    above = (
        "variance by crossed random effects of one player's wording: sd, and share of one "
        f"{runs[0].domain.compare.unit}'s variance, with generalised 95 % intervals; range of the "
        "swept values' means"
    )
    return variation_rows(runs[0], variations), [above], notes


SENSITIVITY = Compared(_compared, ("--metric",))
