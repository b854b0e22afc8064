"""Tables of a run besides that of cells: what they need, what they show, and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tomeval.core.errors import TomevalError

if TYPE_CHECKING:
    from tomeval.runs.results import Run

Rows = list[dict[str, Any]]


def always(run: Run) -> bool:
    """Tell that every run has the data."""
    return True


def never(run: Run) -> bool:
    """Tell that no report shows a table."""
    return False


def _no_notes(run: Run) -> list[str]:
    return []


def fixed(of: Callable[[Run], Rows]) -> Callable[[Run, Sequence[str]], Rows]:
    """Return `Table.rows` of a table whose rows no columns of ``--by`` choose."""

    def rows(run: Run, by: Sequence[str]) -> Rows:
        if by:
            raise TomevalError("the rows of this table cannot be chosen: leave out --by")
        return of(run)

    return rows


@dataclass(frozen=True)
class Table:
    """One table of a run.

    Attributes
    ----------
    about : str
        What it shows, in a few words, for ``tomeval list tables`` and above it in a report.
    rows : callable
        Returns its rows, given a run and the columns of ``--by``: names of columns as elsewhere, a
        mean followed by its interval.
    present : callable
        Tells whether a run has the data; of other runs the table is neither offered nor reported.
    notes : callable
        Returns the sentences that stand below it.
    reported : callable
        Tells whether a report shows it, of runs where it is present.
    needs : str
        What an experiment must have for it to be present, and where the manual says more; empty
        if it always is.
    """

    about: str
    rows: Callable[[Run, Sequence[str]], Rows]
    present: Callable[[Run], bool] = always
    notes: Callable[[Run], list[str]] = _no_notes
    reported: Callable[[Run], bool] = always
    needs: str = ""
