"""What readers are told of means that weigh what episodes drew, such as their partner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tomeval.runs.copies import first_names
from tomeval.statistics.estimates import unmet

if TYPE_CHECKING:
    from tomeval.runs.cell import RunCell
    from tomeval.runs.results import Run
    from tomeval.statistics.bootstrap import IntArray


def weight_notes(run: Run, interval: str) -> list[str]:
    """Say where a mean weighted by draws, which is that of ``bca``, has no interval, and why."""
    if interval != "bca":
        return []
    missing, alone = [], []
    for cell in run.cells:
        if cell.weights is None or cell.each_once or not len(cell.episodes):
            continue
        samples = list(_samples(cell))
        if any(unmet(cell.weights, which.tolist()) for which in samples):
            missing.append(cell.name)
        elif any(np.unique(which, return_counts=True)[1].min() < 2 for which in samples):
            alone.append(cell.name)
    notes = []
    if missing:
        notes.append(
            f"a partner of the set has no episode with a value in {first_names(missing)}: the mean "
            "that weighs partners as in their set is over the others alone there, and has no "
            "interval; play more episodes, or use the interval t"
        )
    if alone:
        notes.append(
            f"a partner of the set has one episode with a value in {first_names(alone)}: nothing "
            "shows how its episodes vary, so the weighted mean has no interval there; play more "
            "episodes, or use the interval t"
        )
    return notes


def _samples(cell: RunCell) -> Iterator[IntArray]:
    """Yield what the episodes drew, for each set of episodes over which a measure has a mean."""
    yield cell.which
    for name in cell.names:
        totals = cell.totals(name)
        if totals.bottom is not None and not totals.share and (totals.bottom > 0).any():
            yield cell.which[totals.bottom > 0]
