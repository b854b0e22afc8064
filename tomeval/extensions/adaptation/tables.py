"""The table of adaptation: a row per cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tomeval.domains.matrix.partners import change_of
from tomeval.domains.matrix.played import BoolArray
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cells
from tomeval.extensions.adaptation.measures import MEASURES, Adaptation, adaptation
from tomeval.runs.columns import Table, fixed, flat, flat_share
from tomeval.runs.results import Run
from tomeval.statistics.shares import clustered_share

_SIDES = (("detection", "undetected"), ("adaptation", "unadapted"))
_Row = dict[str, Any]


def adaptation_rows(run: Run) -> list[_Row]:
    """Return a row per cell with partners that change, over their episodes."""
    rows = []
    for cell in matrix_cells(run):
        changes = np.array([change_of(one) is not None for one in cell.partners], dtype=bool)
        if not len(cell.episodes) or not changes.any():
            continue
        measured = adaptation(cell.played)
        switched = changes[cell.which] & measured.steps.switched
        row: _Row = {**cell.columns, "episodes": int(changes[cell.which].sum())}
        row |= {"switched": int(switched.sum()), "most_steps": measured.window.after}
        for (name, missed), lags in zip(_SIDES, (measured.knows, measured.acts), strict=True):
            if lags is not None:
                row |= _mean(cell, f"{name}_steps", measured, switched)
                known = switched & ~np.isnan(lags)
                row |= _share(cell, f"{missed}_percent", np.isinf(lags), known)
        for measure in MEASURES[2:]:
            row |= _mean(cell, measure.name, measured, switched)
        rows.append(row)
    return rows


def _mean(cell: MatrixRunCell, name: str, measured: Adaptation, among: BoolArray) -> _Row:
    """Return the mean of a measure over the episodes that have a value, with its interval."""
    values = measured.totals[name].values
    mean = cell.mean(values, among=among & np.isfinite(values), bounds=cell.limits(name))
    return flat([name], mean)


def _share(cell: MatrixRunCell, name: str, hits: BoolArray, among: BoolArray) -> _Row:
    """Return the share of some episodes, with its interval; none if episodes are no sample."""
    row = flat_share(name, clustered_share(hits[among], cell.clusters[among]))
    return {name: row[name]} if cell.each_once else row


def adaptation_notes(run: Run) -> list[str]:
    """Say how steps are counted, and what is not identified."""
    return [
        'Steps count from the change of the partner\'s policy. A lag above "most steps", the most '
        "that every episode can show, counts as that many, and so does an episode that never turns "
        "to mostly right answers (undetected, unadapted).",
        *_unidentified([adaptation(c.played) for c in matrix_cells(run) if len(c.episodes)]),
    ]


def _unidentified(cells: list[Adaptation]) -> Iterator[str]:
    """Say of how many cells the lags are not identified, of all or of some episodes."""
    changing = [one for one in cells if one.steps.switched.any()]
    for name, sides in (
        ("Predictions", [(one.knows, one.steps.switched) for one in changing]),
        ("Actions", [(one.acts, one.steps.switched) for one in changing]),
    ):
        missing = [np.isnan(lags[rows]) for lags, rows in sides if lags is not None]
        blind, some = (sum(bool(fn(part)) for part in missing) for fn in (np.all, np.any))
        if blind:
            yield (
                f"no {name} in {blind} of {len(missing)} cells: no step after the change tells the "
                "policies apart, or the latest change comes too late; choose policies that differ "
                "more, or earlier changes."
            )
        if some > blind:
            yield (
                f"{name} in {some - blind} of {len(missing)} cells: the mean leaves out episodes "
                "in which no step tells the policies apart."
            )


TABLES = {
    "adaptation": Table(
        "adaptation to partners that switch: detection, adaptation, regret around the change",
        fixed(adaptation_rows),
        notes=adaptation_notes,
        needs='partners that switch within the horizon: docs/measures/adaptation.md, "Adaptation"',
    ),
}
