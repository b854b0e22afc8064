"""The tables of matrix games besides that of cells, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tomeval.domains.matrix.adaptation import table as adapting
from tomeval.domains.matrix.aids.shares import has_ladders
from tomeval.domains.matrix.aids.table import aids_notes, aids_rows
from tomeval.domains.matrix.reasoning.measures import has_reasoning
from tomeval.domains.matrix.reasoning.table import reasoning_notes, reasoning_rows
from tomeval.runs.tables import Table, fixed

_AIDS = 'strategy = "ladder": docs/measures.md, "The ladder of aids"'
_CHANGES = 'partners that switch within the horizon: docs/measures.md, "Adaptation"'
_PAIRS = 'partners that switch between several pairs of policies: docs/measures.md, "Adaptation"'
_REASONS = 'answers that reason in writing, such as CoT: docs/measures.md, "Reasoning consistency"'

TABLES: Mapping[str, Table] = {
    "aids": Table(
        "the ladder of aids: regret by rung, and the share of it that every aid removes",
        fixed(aids_rows),
        has_ladders,
        aids_notes,
        needs=_AIDS,
    ),
    "adaptation": Table(
        "adaptation to partners that switch: detection, adaptation, regret around the change",
        fixed(adapting.adaptation_rows),
        adapting.changes,
        adapting.adaptation_notes,
        needs=_CHANGES,
    ),
    "adaptation_pairs": Table(
        "adaptation for each pair of policies",
        fixed(adapting.pair_rows),
        adapting.several_pairs,
        adapting.adaptation_notes,
        needs=_PAIRS,
    ),
    "adaptation_checks": Table(
        "what the lags of adaptation rest on: evidence, medians, turns found by chance",
        fixed(adapting.check_rows),
        adapting.changes,
        adapting.check_notes,
        needs=_CHANGES,
    ),
    "reasoning": Table(
        "reasoning consistency: the text's last expectation beside probe and action",
        fixed(reasoning_rows),
        lambda run: has_reasoning(run.store),
        reasoning_notes,
        needs=_REASONS,
    ),
}
"""In the order in which a report shows them, after the measures; those of extensions follow."""
