"""ΔFunctional and ToM % by step, a line per subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.core.numbers import number
from tomeval.domains.matrix.measures import MEASURES
from tomeval.domains.matrix.played import FloatArray
from tomeval.domains.matrix.results import MatrixRunCell, matrix_cell
from tomeval.plots.drawing import (
    CUT,
    DEFAULT,
    INTERVAL_WORDS,
    Drawing,
    Options,
    axis_name,
    sample_words,
)
from tomeval.plots.families import tasks
from tomeval.plots.overlays import Overlay, overlays
from tomeval.plots.profiles import Frame, Line, lines_figure
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SMOOTH = 5


def regret_curves(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ΔFunctional by step, a figure per task."""
    return _curves(run, options, "regret", "delta_functional_per_step")


def tom_curves(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ToM % by step, a figure per task."""
    return _curves(run, options, "tom", "tom_percent")


def _curves(run: Run, options: Options, name: str, metric: str) -> list[Drawing]:
    """Draw one metric by step, for every task of a run or every overlay that has values of it."""
    if metric not in run.measures:
        return []
    by, what = options.by, run.measures[metric].heading
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
    stem = name if by is None else f"{name}_by_{by}"
    return [
        Drawing(
            name,
            f"{stem}_{words}" if len(shown) > 1 else stem,
            curve_figure(cells, metric, title, options, names),
            f"{what} by step{'' if by is None else f', by {by}'}: {title}",
            _caption(what, title, cells, options),
            _describe(cells, names, metric, what, options),
        )
        for title, words, cells, names in shown
    ]


def _caption(what: str, title: str, cells: Sequence[RunCell], options: Options) -> str:
    """Say what is drawn: of how many episodes, with which intervals."""
    by = options.by
    several = "a line per subject" if by is None else f"a line per value of {by}"
    which = "" if by is None else " (of the first one, where it was played for several)"
    based = any(cell.is_baseline for cell in cells)
    base = f" The dashed grey line is the tabular baseline{which}." if based else ""
    return (
        f"{what} by step, {title}: {several}. Every point is the mean over "
        f"{sample_words(cells)} of a centred window of five steps (shorter at the ends); bands are "
        f"{INTERVAL_WORDS[options.interval]}; {CUT}.{base}"
    )


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
    lines, is_percent = [], metric == "tom_percent"
    for name, cell in zip(names or [cell.title for cell in cells], cells, strict=True):
        values = smooth(matrix_cell(cell).curves(options.reference)[metric])
        if np.isnan(values).all():
            continue
        bounds = np.array([[0.0, 100.0]])
        if not is_percent:
            bounds = np.stack(_regret_limits(matrix_cell(cell), values, options), axis=1)
        found = cell.mean(values, options.interval, bounds=bounds)
        steps = np.arange(1.0, values.shape[1] + 1)
        lines.append(Line(name, steps, found.mean, found.low, found.high, cell.is_baseline))
    frame = Frame(
        title,
        "step",
        f"{axis_name(MEASURES[metric])}, mean of {_SMOOTH} steps",
        "tabular baseline",
        limits=(-3, 103) if is_percent else None,
        zero=not is_percent,
    )
    return lines_figure(lines, frame, options)


def _regret_limits(
    cell: MatrixRunCell, regret: FloatArray, options: Options
) -> tuple[FloatArray, FloatArray]:
    """Return between what mean regret by step lies, (T,) each.

    At the best and at the worst payoff that an episode's partner ever gives.
    """
    played, own = cell.played, cell.game.own
    gives = [own[:, (partner.emissions > 0).any(axis=0)] for partner in cell.partners]
    if played.mixture is not None:  # who was met is known up to probabilities
        gives = [own for _ in gives]
    best = regret + smooth(cell.curves(options.reference)["reward_per_step"])
    ends = (np.array([end(payoffs) for payoffs in gives]) for end in (np.max, np.min))
    low, high = ((best - end[played.which][:, None]).mean(axis=0) for end in ends)
    return low, high


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
