"""Regret and ToM % by step, a line per subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.numbers import number
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.results import matrix_cell
from tomeval.plots.drawing import DEFAULT, INTERVAL_WORDS, Drawing, Options
from tomeval.plots.families import tasks
from tomeval.plots.lines import Frame, Line, lines_figure
from tomeval.plots.overlays import Overlay, overlays
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE_LABELS = {
    "delta_functional_per_step": "regret, mean of 5 steps (payoff units)",
    "tom_percent": "ToM %, mean of 5 steps",
}
_SMOOTH = 5


def regret_curves(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ΔFunctional by step, a figure per task."""
    return _curves(run, options, "regret", "delta_functional_per_step", "Regret")


def tom_curves(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ToM % by step, a figure per task."""
    return _curves(run, options, "tom", "tom_percent", "ToM %")


def _curves(run: Run, options: Options, name: str, metric: str, what: str) -> list[Drawing]:
    """Draw one metric by step, for every task of a run or every overlay that has values of it."""
    by = options.by
    if by is None:
        shown = [
            Overlay(str(task), task.stem, cells, [cell.title for cell in cells])
            for task, cells in tasks(run.cells).items()
        ]
    else:
        shown = overlays(run, by)
    shown = [drawn for overlay in shown if (drawn := _with_curves(overlay, metric)) is not None]
    shown = [  # but those in which nobody was asked
        overlay
        for overlay in shown
        if any(np.isfinite(cell.totals(metric).values).any() for cell in overlay.cells)
    ]
    several = "a line per subject" if by is None else f"a line per value of {by}"
    which = "" if by is None else " (of the first one, where it was played for several)"
    caption = (
        f"{what} by step, {several}. Every point is the mean over episodes of a "
        "centred window of five steps (shorter at the ends); bands are "
        f"{INTERVAL_WORDS[options.interval]}. The dashed grey line, where there is one, is the "
        f"tabular baseline{which}."
    )
    return [
        Drawing(
            name,
            f"{name}_{words}" if by is None else f"{name}_by_{by}_{words}",
            curve_figure(cells, metric, title, options, names),
            f"{what} by step{'' if by is None else f', by {by}'}: {title}",
            caption,
            _describe(cells, names, metric, what, options),
        )
        for title, words, cells, names in shown
    ]


def _with_curves(overlay: Overlay, metric: str) -> Overlay | None:
    """Return an overlay without recorded cells that have no value in every step; None if empty."""
    kept = [
        (cell, name)
        for cell, name in zip(overlay.cells, overlay.names, strict=True)
        if matrix_cell(cell).has_curve(metric)
    ]
    if not kept:
        return None
    return overlay._replace(cells=[cell for cell, _ in kept], names=[name for _, name in kept])


def curve_figure(
    cells: Sequence[RunCell],
    metric: str,
    title: str,
    options: Options = DEFAULT,
    names: Sequence[str] | None = None,
) -> Figure:
    """Draw one metric by step: a line per cell, the mean over episodes, with a 95 % band.

    Both are means over a centred window of five steps of each episode (shorter at the ends): single
    steps jump. With more than six lines each gets a panel of its own. `names` are those of the
    lines; default: the cells' titles.
    """
    lines = []
    for name, cell in zip(names or [cell.title for cell in cells], cells, strict=True):
        values = smooth(matrix_cell(cell).curves(options.reference)[metric])
        if np.isnan(values).all():
            continue
        found = cell.mean(values, options.interval)
        steps = np.arange(1.0, values.shape[1] + 1)
        lines.append(Line(name, steps, found.mean, found.low, found.high, cell.is_baseline))
    is_percent = metric == "tom_percent"
    frame = Frame(
        title,
        "step",
        CURVE_LABELS[metric],
        "tabular baseline",
        limits=(-3, 103) if is_percent else None,
        zero=not is_percent,
    )
    return lines_figure(lines, frame, options)


def smooth(values: FloatArray, window: int = _SMOOTH) -> FloatArray:
    """Return each episode's centred moving mean over `window` steps, shape (E, T)."""
    total = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    steps = np.arange(values.shape[1])
    first = np.maximum(steps - window // 2, 0)
    last = np.minimum(steps + window // 2 + 1, values.shape[1])
    mean: FloatArray = (total[:, last] - total[:, first]) / (last - first)
    return mean


def _describe(
    cells: Sequence[RunCell], names: Sequence[str], metric: str, what: str, options: Options
) -> str:
    """Say where every line begins and ends: means of the first and the last tenth of the steps."""
    parts, tenth = [], 1
    for name, cell in zip(names, cells, strict=True):
        values = matrix_cell(cell).curves(options.reference)[metric].mean(axis=0)
        tenth = max(1, len(values) // 10)
        first, last = number(values[:tenth].mean()), number(values[-tenth:].mean())
        parts.append(f"{name} {first} and {last}")
    steps = "step" if tenth == 1 else f"{tenth} steps"
    return f"{what}, means over the first and the last {steps}: {'; '.join(parts)}."
