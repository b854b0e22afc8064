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
    """Say of means weighted by draws, which are those of ``bca``, why they differ from plain ones.

    And where they have no interval, and why.
    """
    if interval != "bca":
        return []
    missing, alone, uneven = [], [], []
    for cell in run.cells:
        if cell.weights is None or cell.each_once or not len(cell.episodes):
            continue
        drawn = np.array([(cell.which == draw).mean() for draw in cell.weights])
        if np.abs(drawn - list(cell.weights.values())).max() > 1e-9:
            uneven.append(cell.name)
        samples = list(_samples(cell))
        if any(unmet(cell.weights, which.tolist()) for which in samples):
            missing.append(cell.name)
        elif any(np.unique(which, return_counts=True)[1].min() < 2 for which in samples):
            alone.append(cell.name)
    notes = []
    if uneven:
        notes.append(
            f"bca: the mean weighs every {run.domain.compare.drawn} by its share of the set, those "
            "of t and normal by how often it was drawn. The two means differ in "
            f"{first_names(uneven)}, where draws came out uneven"
        )
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
