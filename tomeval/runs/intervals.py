"""What readers are told of intervals of width 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.runs.copies import first_names

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.results import Run


def alike_notes(run: Run, names: Sequence[str] | None = None) -> list[str]:
    """Say which means have an interval of width 0, because all episodes have the same value.

    `names` are the measures that are shown; default: the run's headline.

    Notes
    -----
    If a share p of episodes had another value, n episodes would all be alike with probability
    (1 - p)^n: the p for which that is 5 % is the bound that the note gives.
    """
    shown = run.headline if names is None else names
    found = {cell.name: cell for cell in run.cells if _alike(cell, shown)}
    if not found:
        return []
    fewest = min(cell.units for cell in found.values())
    bound = 100 * (1 - 0.05 ** (1 / fewest))
    return [
        f"all episodes have the same value of a measure in {first_names(found)}: ± 0 says that "
        f"none of them differed, not that none could. From {fewest} equal ones follows only that "
        f"at most {bound:.2g} % of all episodes differ (95 %)"
    ]


def _alike(cell: RunCell, names: Sequence[str]) -> bool:
    """Tell whether a shown mean of a cell has an interval of width 0."""
    means = [name for name in names if name in cell.names and not cell.totals(name).share]
    if not means or cell.each_once or cell.units < 2:
        return False
    for name in means:
        values = cell.totals(name).values
        some = values[np.isfinite(values)]
        if len(some) > 1 and np.ptp(some) <= 1e-12 * max(1.0, float(np.abs(some).max())):
            return True
    return False
