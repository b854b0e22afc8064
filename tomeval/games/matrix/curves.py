"""ΔFunctional and ToM % by step or by episode, a line per subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.games.matrix.measures import MEASURES
from tomeval.games.matrix.played import FloatArray
from tomeval.games.matrix.results import MatrixRunCell, matrix_cell
from tomeval.plots.drawing import (
    DEFAULT,
    Drawing,
    Options,
    axis_name,
    interval_words,
    sample_words,
    with_interval,
)
from tomeval.plots.families import tasks
from tomeval.plots.lines import Frame, Line, lines_figure
from tomeval.plots.overlays import Overlay, overlays
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run
from tomeval.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    by, what = options.by, MEASURES[metric].heading
    if by is None:
        shown = [
            Overlay(str(task), task.stem, cells, [cell.title for cell in cells])
            for task, cells in tasks(run.cells).items()
        ]
    else:
        shown = overlays(run, by)
    shown = [overlay for one in shown if (overlay := _with_curves(one, metric)).cells]
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
    """Describe what is drawn: of how many episodes, with which intervals."""
    by = options.by
    several = "a line per subject" if by is None else f"a line per value of {by}"
    which = "" if by is None else " (for the first one, if it was played for several)"
    based = any(cell.is_baseline for cell in cells)
    base = f" The dashed grey line is the tabular baseline{which}." if based else ""
    width, part = options.window, "the step"
    if width > 1:
        part = f"a centred window of {width} steps (shorter at the ends)"
    return (
        f"{what} by step, {title}: {several}. Every point is the mean of {part}, over "
        f"{sample_words(cells)}; bands are {interval_words(options)}.{base}"
    )


def _with_curves(overlay: Overlay, metric: str) -> Overlay:
    """Return an overlay without cells that have no value in every step; none if nobody has any."""
    kept = [
        (cell, name)
        for cell, name in zip(overlay.cells, overlay.names, strict=True)
        if matrix_cell(cell).has_curve(metric)
    ]
    if not any(np.isfinite(cell.totals(metric).values).any() for cell, _ in kept):
        kept = []  # nobody was asked
    return overlay._replace(cells=[cell for cell, _ in kept], names=[name for _, name in kept])


def curve_figure(
    cells: Sequence[RunCell],
    metric: str,
    title: str,
    options: Options = DEFAULT,
    names: Sequence[str] | None = None,
) -> Figure:
    """Draw one metric by step: a line per cell with a 95 % band.

    With more than six lines each gets a panel of its own. `names` are those of the lines; default:
    the cells' titles.
    """
    lines, is_percent = [], metric == "tom_percent"
    for name, cell in zip(names or [cell.title for cell in cells], cells, strict=True):
        x, drawn = _points(matrix_cell(cell), metric, options)
        if not np.isnan(drawn.mean).all():
            lines.append(Line(name, x, drawn.mean, drawn.low, drawn.high, cell.is_baseline))
    part = f", mean of {options.window} steps" if options.window > 1 else ""
    frame = Frame(
        title,
        "step",
        f"{axis_name(MEASURES[metric])}{part}",
        "tabular baseline",
        limits=(-3, 103) if is_percent else None,
        zero=not is_percent,
        counts=True,
    )
    return lines_figure(lines, frame, options)


def _points(cell: MatrixRunCell, metric: str, options: Options) -> tuple[FloatArray, Estimate]:
    """Return the steps from 1, and means over episodes of the window around each of them."""
    curves, window = cell.curves(options.reference), options.window
    values, bounds = smooth(curves[metric], window), np.array([[0.0, 100.0]])
    if metric != "tom_percent":
        best = values + smooth(curves["reward_per_step"], window)
        bounds = _regret_limits(cell, best)
    return np.arange(1.0, values.shape[1] + 1), cell.mean(values, options.interval, bounds=bounds)


def _regret_limits(cell: MatrixRunCell, best: FloatArray) -> FloatArray:
    """Return between what mean regret by step lies, (T, 2), given the best reward's curves.

    At the best and at the worst payoff that the partners met ever give.
    """
    gives = [cell.game.own[:, (partner.emissions > 0).any(axis=0)] for partner in cell.partners]
    rewards = [np.array([end(payoffs) for payoffs in gives]) for end in (np.max, np.min)]
    which = cell.played.which
    return np.stack([(best - reward[which][:, None]).mean(axis=0) for reward in rewards], axis=1)


def smooth(values: FloatArray, window: int = 5) -> FloatArray:
    """Return each episode's centred moving mean over `window` steps, shape (E, T).

    An even window reaches one step farther back than ahead.
    """
    import pandas

    rolling = pandas.DataFrame(values.T).rolling(window, center=True, min_periods=1)
    return rolling.mean().to_numpy().T


def _describe(
    cells: Sequence[RunCell], names: Sequence[str], metric: str, what: str, options: Options
) -> str:
    """Describe where every line ends."""
    ends = (_points(matrix_cell(cell), metric, options)[1] for cell in cells)
    said = [f"{name} {with_interval(drawn, -1)}" for name, drawn in zip(names, ends, strict=True)]
    return f"{what}, last step: {'; '.join(said)}."
