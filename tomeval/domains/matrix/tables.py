"""The tables of matrix games besides that of cells, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tomeval.domains.matrix import sensitivity
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
    """

    about: str
    present: Callable[[Run], bool]
    rows: Callable[[Run], Rows]
    notes: Callable[[Run], list[str]] = _none

    def __call__(self, run: Run, by: Sequence[str]) -> Rows:
        """Return its rows."""
        return self.rows(run)


TABLES: Mapping[str, Table] = {
    "sensitivity": Table(
        "variance of the measures by option of wording and strategy",
        sensitivity.present,
        sensitivity.variance_rows,
        sensitivity.variance_notes,
    ),
    "wording_gap": Table(
        "share of the literal-functional gap that wording explains",
        sensitivity.present,
        sensitivity.gap_rows,
        sensitivity.gap_notes,
    ),
    "rank_stability": Table(
        "agreement of the strategies' ranks over wordings",
        sensitivity.present,
        sensitivity.rank_rows,
        sensitivity.rank_notes,
    ),
    "ranks": Table(
        "each strategy's ranks over wordings", sensitivity.present, sensitivity.first_rows
    ),
}
"""In the order in which a report shows them, after the measures."""
