"""The tables of matrix games besides that of cells, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tomeval.domains.matrix import sensitivity
from tomeval.runs.tables import Table, fixed

_WORDINGS = 'a sweep over options of wording: docs/measures.md, "Sensitivity to wording"'

TABLES: Mapping[str, Table] = {
    "sensitivity": Table(
        "sensitivity to wording: variance of the measures by option of wording and strategy",
        fixed(sensitivity.variance_rows),
        sensitivity.present,
        sensitivity.variance_notes,
        needs=_WORDINGS,
    ),
    "wording_gap": Table(
        "sensitivity to wording: share of the literal-functional gap that it explains",
        fixed(sensitivity.gap_rows),
        sensitivity.present,
        sensitivity.gap_notes,
        needs=_WORDINGS,
    ),
    "rank_stability": Table(
        "sensitivity to wording: agreement of the strategies' ranks",
        fixed(sensitivity.rank_rows),
        sensitivity.present,
        sensitivity.rank_notes,
        needs=_WORDINGS,
    ),
    "ranks": Table(
        "sensitivity to wording: each strategy's ranks",
        fixed(sensitivity.first_rows),
        sensitivity.present,
        needs=_WORDINGS,
    ),
}
"""In the order in which a report shows them, after the measures; those of extensions follow."""
