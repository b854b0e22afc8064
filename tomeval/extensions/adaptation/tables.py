"""The table of adaptation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tomeval.extensions.adaptation.measures import MEASURES, around, lags
from tomeval.games.matrix.results import MatrixRunCell, matrix_cells
from tomeval.runs.columns import Table, fixed, flat, flat_share
from tomeval.runs.results import Run
from tomeval.statistics.shares import clustered_share


def rows(run: Run) -> list[dict[str, Any]]:
    """Return a row per cell whose partners change within an episode, over its episodes."""
    return [_row(cell) for cell in matrix_cells(run) if around(cell.played).change.any()]


def _row(cell: MatrixRunCell) -> dict[str, Any]:
    laid = around(cell.played)
    row: dict[str, Any] = {**cell.columns, "episodes": len(cell.episodes)}
    row |= {"switched": int((laid.change > 0).sum()), "most_steps": laid.most}
    missed = {"detection_steps": "undetected", "adaptation_steps": "unadapted"}
    sides = {"detection_steps": laid.predicted, "adaptation_steps": laid.acted}
    for name in (measure.name for measure in MEASURES):
        values = cell.totals(name).values
        row |= flat([name], cell.mean(values, among=np.isfinite(values), bounds=cell.limits(name)))
        if name in sides:
            turns = lags(laid.change, sides[name])
            known = ~np.isnan(turns)
            share = clustered_share(np.isinf(turns)[known], cell.clusters[known])
            column = f"{missed[name]}_percent"
            # Episodes that are no sample have no interval.
            row |= {column: 100 * share.share} if cell.each_once else flat_share(column, share)
    return row


def _notes(run: Run) -> list[str]:
    return [
        'Steps count from the change of the partner\'s policy. A lag above "most steps", the most '
        "that every episode can show, counts as that many, and so does an episode that never turns "
        "to mostly right answers (undetected, unadapted). No number: no step tells the policies "
        "apart, or the change comes too late."
    ]


TABLES = {
    "adaptation": Table(
        "adaptation to partners that switch: detection, adaptation",
        fixed(rows),
        notes=_notes,
        needs='partners that switch within the horizon: docs/measures/adaptation.md, "Adaptation"',
    ),
}
