"""The table and the figure of adaptation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.domains.matrix.played import BoolArray
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cell, matrix_cells
from tomeval.extensions.adaptation.measures import MEASURES, around, lags
from tomeval.plots.drawing import DEFAULT, Drawing, Options, sample_words
from tomeval.plots.families import Sheet, by_task
from tomeval.plots.settings import SMALL, in_style
from tomeval.plots.style import COLOURS, add_head, fold, lines_of, new_figure
from tomeval.runs.columns import Table, fixed, flat, flat_share
from tomeval.runs.results import Run
from tomeval.statistics.shares import clustered_share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 6
"""Subjects in one picture; further ones go on the next."""


def changing(run: Run) -> list[MatrixRunCell]:
    """Return the cells in which a partner changed its policy within an episode."""
    return [cell for cell in matrix_cells(run) if around(cell.played).change.any()]


def rows(run: Run) -> list[dict[str, Any]]:
    """Return a row per cell with partners that change, over their episodes."""
    return [_row(cell) for cell in changing(run)]


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


def adaptation(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw a row per subject and a figure per task whose partners change."""
    return [
        Drawing(
            "adaptation",
            sheet.stem,
            _figure(sheet, options),
            f"Adaptation to a change of policy: {sheet.title}",
            f"{sheet.title}: percent of episodes in which the prediction names the partner's most "
            "probable action (solid) and in which the action is optimal for the rest of the "
            f"episode (dashed), by step since the change. Means over {sample_words(sheet.cells)}.",
            "; ".join(
                f"{row['subject']}: detection after {row['detection_steps']:.1f} steps, adaptation "
                f"after {row['adaptation_steps']:.1f}"
                for row in (_row(matrix_cell(cell)) for cell in sheet.cells)
            ),
        )
        for sheet in by_task("adaptation", changing(run), MOST_ROWS)
    ]


@in_style
def _figure(sheet: Sheet, options: Options) -> Figure:
    """Draw a panel per subject, over the steps that all episodes with a change have."""
    names = [fold(cell.title, int(13 * options.width)) for cell in sheet.cells]
    height = len(names) * (1.1 + 0.125 * lines_of(names)) + 0.4
    figure, panels = new_figure(options.width, height, len(names), 1, sharex=True, sharey=True)
    for cell, name, axes in zip(sheet.cells, names, panels, strict=True):
        laid = around(matrix_cell(cell).played)
        rows = np.flatnonzero(laid.change)
        start, length = laid.change[rows] - 1, matrix_cell(cell).played.lengths[rows]
        since = np.arange(-start.min(), (length - start).min())

        def mean(right: BoolArray, places: Any = start[:, None] + since, rows: Any = rows) -> Any:
            return 100 * np.take_along_axis(right[rows], places, axis=1).mean(axis=0)

        if laid.predicted.asked.any():
            axes.plot(since, mean(laid.predicted.right), color=COLOURS[0], label="prediction right")
        axes.plot(since, mean(laid.acted.right), "--", color=COLOURS[1], label="action optimal")
        axes.axvline(-0.5, color="0.4", lw=0.8, ls=":")
        axes.set(ylim=(-4, 104), yticks=[0, 50, 100], ylabel="% of episodes")
        axes.set_title(name, loc="left", fontsize=SMALL)
    axes.set_xlabel("steps since the change")
    add_head(figure, sheet.title, axes.get_legend_handles_labels()[0])
    return figure
