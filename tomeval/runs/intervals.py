"""What readers are told of intervals of width 0, and of those that there are not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.runs.copies import first_names
from tomeval.statistics.bounded import FEWEST

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.results import Run


def interval_notes(run: Run, names: Sequence[str] | None = None) -> list[str]:
    """Say which means have no interval, or one of width 0, and why.

    The one: fewer episodes than a spread can be told from. The other: all episodes have the same
    value of a measure that has no bounds. `names` are the measures that are shown; default: the
    run's headline.

    Notes
    -----
    If a share p of episodes had another value, n episodes would all be alike with probability
    (1 - p)^n: the p for which that is 5 % is the bound that the note gives.
    """
    shown = run.headline if names is None else names
    notes = few_notes(run)
    found = {cell.name: cell for cell in run.cells if _alike(cell, shown)}
    if not found:
        return notes
    fewest = min(cell.units for cell in found.values())
    bound = 100 * (1 - 0.05 ** (1 / fewest))
    return [
        *notes,
        f"all episodes have the same value of a measure in {first_names(found)}: ± 0 says that "
        f"none of them differed, not that none could. From {fewest} equal ones follows only that "
        f"at most {bound:.2g} % of all episodes differ (95 %)",
    ]


def few_notes(run: Run) -> list[str]:
    """Say in which cells there are too few episodes for an interval."""
    few = {cell.name: cell for cell in run.cells if 0 < cell.units < FEWEST and not cell.each_once}
    if not few:
        return []
    return [
        f"no interval in {first_names(few)}: fewer than {FEWEST} {run.domain.compare.unit}s do not "
        "show how others differ (of two equally likely kinds only one is in "
        f"{100 * 2.0 ** (2 - FEWEST):.3g} % of samples of {FEWEST - 1})"
    ]


def lacks_interval(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a value of a table lacks the interval that its column has."""
    return any(
        isinstance(row[name], float)
        and math.isfinite(row[name])
        and math.isnan(row[f"{name}_ci95"])
        for row in rows
        for name in row
        if f"{name}_ci95" in row
    )


def _alike(cell: RunCell, names: Sequence[str]) -> bool:
    """Tell whether a shown mean of a cell has an interval of width 0."""
    means = [name for name in names if name in cell.names and not cell.totals(name).share]
    if not means or cell.each_once or cell.units < FEWEST:
        return False
    for name in means:
        if np.isfinite(cell.limits(name)).all():
            continue  # what may be unseen has bounds, and so has the interval
        values = cell.totals(name).values
        some = values[np.isfinite(values)]
        if len(some) > 1 and np.ptp(some) <= 1e-12 * max(1.0, float(np.abs(some).max())):
            return True
    return False
