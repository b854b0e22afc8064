"""The tables of matrix games besides that of cells, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tomeval.domains.matrix import sensitivity
from tomeval.domains.matrix.adaptation import table as adapting
from tomeval.domains.matrix.aids.shares import has_ladders
from tomeval.domains.matrix.aids.table import aids_notes, aids_rows
from tomeval.domains.matrix.fitted.measures import has_unknown_partners
from tomeval.domains.matrix.fitted.table import fitted_notes, fitted_rows
from tomeval.domains.matrix.planted.tables import (
    accuracy_notes,
    accuracy_rows,
    has_beliefs,
    trust_notes,
    trust_rows,
)
from tomeval.domains.matrix.probabilistic import table as probabilistic
from tomeval.domains.matrix.reasoning.measures import has_reasoning
from tomeval.domains.matrix.reasoning.table import reasoning_notes, reasoning_rows
from tomeval.runs.results import Run

Rows = list[dict[str, Any]]


def _none(run: Run) -> list[str]:
    return []


@dataclass(frozen=True)
class Table:
    """One table of a run.

    Attributes
    ----------
    about : str
        What it shows, in a few words, for ``tomeval list tables``.
    present : callable
        Tells whether a run has the data; of other runs the table is neither offered nor reported.
    rows : callable
        Returns its rows: names of columns as elsewhere, a mean followed by its interval.
    notes : callable
        Returns the sentences that stand below it.
    reported : callable, optional
        Tells whether a report shows it; default: wherever it is present.
    needs : str
        What an experiment must have for it to be present, and where the manual says more; empty
        if it always is.
    """

    about: str
    present: Callable[[Run], bool]
    rows: Callable[[Run], Rows]
    notes: Callable[[Run], list[str]] = _none
    reported: Callable[[Run], bool] | None = None
    needs: str = ""

    def __call__(self, run: Run, by: Sequence[str]) -> Rows:
        """Return its rows."""
        return self.rows(run)


_BELIEFS = 'strategies with belief(...): docs/measures.md, "Planted beliefs"'
_AIDS = 'strategy = "ladder": docs/measures.md, "The ladder of aids"'
_STATED = (
    "predictions with probabilities, from scored labels (LM) or draws = N: docs/measures.md, "
    '"Probabilistic predictions"'
)
_CHANGES = 'partners that switch within the horizon: docs/measures.md, "Adaptation"'
_PAIRS = 'partners that switch between several pairs of policies: docs/measures.md, "Adaptation"'
_WORDINGS = 'a sweep over options of wording: docs/measures.md, "Sensitivity to wording"'
_REASONS = 'answers that reason in writing, such as CoT: docs/measures.md, "Reasoning consistency"'

TABLES: Mapping[str, Table] = {
    "planted": Table(
        "planted beliefs: use, compliance and regret by accuracy",
        has_beliefs,
        accuracy_rows,
        accuracy_notes,
        needs=_BELIEFS,
    ),
    "trust": Table(
        "planted beliefs: from which accuracy subjects follow them, and from which it pays",
        has_beliefs,
        trust_rows,
        trust_notes,
        needs=_BELIEFS,
    ),
    "aids": Table(
        "the ladder of aids: regret by rung, and the share of it that every aid removes",
        has_ladders,
        aids_rows,
        aids_notes,
        needs=_AIDS,
    ),
    "probabilistic": Table(
        "predictions as probabilities: losses, skills, calibration",
        probabilistic.present,
        probabilistic.rows,
        probabilistic.notes,
        needs=_STATED,
    ),
    "calibration": Table(
        "predictions as probabilities: how often those of each confidence are right",
        probabilistic.present,
        probabilistic.curve_rows,
        probabilistic.curve_notes,
        needs=_STATED,
    ),
    "adaptation": Table(
        "adaptation to partners that switch: detection, adaptation, regret around the change",
        adapting.changes,
        adapting.adaptation_rows,
        adapting.adaptation_notes,
        needs=_CHANGES,
    ),
    "adaptation_pairs": Table(
        "adaptation for each pair of policies",
        adapting.several_pairs,
        adapting.pair_rows,
        adapting.adaptation_notes,
        needs=_PAIRS,
    ),
    "adaptation_checks": Table(
        "what the lags of adaptation rest on: evidence, medians, turns found by chance",
        adapting.changes,
        adapting.check_rows,
        adapting.check_notes,
        needs=_CHANGES,
    ),
    "sensitivity": Table(
        "sensitivity to wording: variance of the measures by option of wording and strategy",
        sensitivity.present,
        sensitivity.variance_rows,
        sensitivity.variance_notes,
        needs=_WORDINGS,
    ),
    "wording_gap": Table(
        "sensitivity to wording: share of the literal-functional gap that it explains",
        sensitivity.present,
        sensitivity.gap_rows,
        sensitivity.gap_notes,
        needs=_WORDINGS,
    ),
    "rank_stability": Table(
        "sensitivity to wording: agreement of the strategies' ranks",
        sensitivity.present,
        sensitivity.rank_rows,
        sensitivity.rank_notes,
        needs=_WORDINGS,
    ),
    "ranks": Table(
        "sensitivity to wording: each strategy's ranks",
        sensitivity.present,
        sensitivity.first_rows,
        needs=_WORDINGS,
    ),
    "reasoning": Table(
        "reasoning consistency: the text's last expectation beside probe and action",
        lambda run: has_reasoning(run.store),
        reasoning_rows,
        reasoning_notes,
        needs=_REASONS,
    ),
    "fitted": Table(
        "fitted partners: both seats of every pairing, regret against the best reply to a fit",
        lambda run: True,
        fitted_rows,
        fitted_notes,
        lambda run: has_unknown_partners(run.store),
    ),
}
"""In the order in which a report shows them, after the measures."""
