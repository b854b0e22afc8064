"""The tables of matrix games besides that of cells, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tomeval.domains.matrix.fitted import has_unknown_partners
from tomeval.domains.matrix.fitted_sides import fitted_notes, fitted_rows
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
    """

    about: str
    present: Callable[[Run], bool]
    rows: Callable[[Run], Rows]
    notes: Callable[[Run], list[str]] = _none
    reported: Callable[[Run], bool] | None = None

    def __call__(self, run: Run, by: Sequence[str]) -> Rows:
        """Return its rows."""
        return self.rows(run)


TABLES: Mapping[str, Table] = {
    "fitted": Table(
        "both seats of every pairing: regret against the best reply to a fitted machine",
        lambda run: True,
        fitted_rows,
        fitted_notes,
        lambda run: has_unknown_partners(run.store),
    ),
}
"""In the order in which a report shows them, after the measures."""
