"""ΔFunctional and ToM % by step or by episode, a line per subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from tomeval.plots.families import pages, tasks
from tomeval.plots.lines import TOGETHER, Line, lines_figure
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
    """Draw one metric by step, for every task of a run that has values of it."""
    if metric not in run.measures:
        return []
    what = MEASURES[metric].heading
    by_task = {task: _with_curves(cells, metric) for task, cells in tasks(run.cells).items()}
    shown = [(task, page) for task, cells in by_task.items() for page in _pages(cells)]
    several = len({task for task, _ in shown}) > 1
    return [
        Drawing(
            name,
            (f"{name}_{task.stem}" if several else name) + suffix,
            curve_figure(cells, metric, str(task), options),
            f"{what} by step: {task}",
            _caption(what, str(task), cells, options),
            _describe(cells, metric, what, options),
        )
        for task, (suffix, cells) in shown
    ]


def _pages(cells: Sequence[RunCell]) -> Iterator[tuple[str, list[RunCell]]]:
    """Yield the cells of each figure, baselines in all, with what tells its file from others."""
    base = [cell for cell in cells if cell.is_baseline]
    parts = list(pages([cell for cell in cells if not cell.is_baseline], TOGETHER)) or [[]]
    for number, part in enumerate(parts, 1):
        page = [cell for cell in cells if cell in base or cell in part]
        if page:
            yield (f"_{number}" if len(parts) > 1 else ""), page


def _caption(what: str, title: str, cells: Sequence[RunCell], options: Options) -> str:
    """Describe what is drawn: of how many episodes, with which intervals."""
    based = any(cell.is_baseline for cell in cells)
    base = " The dashed grey line is the tabular baseline." if based else ""
    width, part = options.window, "the step"
    if width > 1:
        part = f"a centred window of {width} steps (shorter at the ends)"
    return (
        f"{what} by step, {title}: a line per subject. Every point is the mean of {part}, over "
        f"{sample_words(cells)}; bands are {interval_words(options)}.{base}"
    )


def _with_curves(cells: Sequence[RunCell], metric: str) -> list[RunCell]:
    """Return the cells that have a value in every step; none if nobody was asked."""
    kept = [cell for cell in cells if matrix_cell(cell).has_curve(metric)]
    asked = any(np.isfinite(cell.totals(metric).values).any() for cell in kept)
    return kept if asked else []


def curve_figure(
    cells: Sequence[RunCell],
    metric: str,
    title: str,
    options: Options = DEFAULT,
) -> Figure:
    """Draw one metric by step: a line per cell with a 95 % band."""
    lines, is_percent = [], metric == "tom_percent"
    for cell in cells:
        x, drawn = _points(matrix_cell(cell), metric, options)
        if not np.isnan(drawn.mean).all():
            lines.append(Line(cell.title, x, drawn.mean, drawn.low, drawn.high, cell.is_baseline))
    part = f", mean of {options.window} steps" if options.window > 1 else ""
    axis = f"{axis_name(MEASURES[metric])}{part}"
    return lines_figure(lines, title, axis, options, share=is_percent)


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


def _describe(cells: Sequence[RunCell], metric: str, what: str, options: Options) -> str:
    """Describe where every line ends."""
    ends = [(cell.title, _points(matrix_cell(cell), metric, options)[1]) for cell in cells]
    said = [f"{name} {with_interval(drawn, -1)}" for name, drawn in ends]
    return f"{what}, last step: {'; '.join(said)}."
