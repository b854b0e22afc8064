"""ΔFunctional and ToM % by step or by episode, a line per subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.comparing.sides import level
from tomeval.games.matrix.measures import MEASURES
from tomeval.games.matrix.played import FloatArray, IntArray
from tomeval.games.matrix.results import MatrixRunCell, matrix_cell
from tomeval.plots.drawing import (
    DEFAULT,
    TOGETHER,
    Drawing,
    Line,
    Options,
    axis_name,
    interval_words,
    lines_figure,
    sample_words,
    with_interval,
)
from tomeval.plots.families import all_words, pages, tasks
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run
from tomeval.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_LEFT = 10
"""Curves of games that go on with a probability end before fewer episodes than these are left."""

Named = tuple[str, RunCell]
"""A cell with the name of its line."""


def regret_curves(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ΔFunctional by step, a figure per task; with ``by`` a line per value of a column."""
    return _curves(run, options, "regret", "delta_functional_per_step")


def tom_curves(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw ToM % by step, a figure per task."""
    return _curves(run, options, "tom", "tom_percent")


def _curves(run: Run, options: Options, name: str, metric: str) -> list[Drawing]:
    """Draw one metric by step, for every task, or overlay, that has values of it."""
    if metric not in run.measures:
        return []
    what, by = MEASURES[metric].heading, options.by
    groups = _by_task(run) if by is None else _overlaid(run, by)
    kept = [(title, stem, _with_curves(cells, metric)) for title, stem, cells in groups]
    shown = [(title, stem, page) for title, stem, cells in kept for page in _pages(cells)]
    several = len({title for title, _, _ in shown}) > 1
    name_of = name if by is None else f"{name}_by_{by}"
    return [
        Drawing(
            name,
            (f"{name_of}_{stem}" if several else name_of) + suffix,
            curve_figure(cells, metric, title, options),
            f"{what} by step{'' if by is None else f', by {by}'}: {title}",
            _caption(what, title, cells, options),
            _describe(cells, metric, what, options),
        )
        for title, stem, (suffix, cells) in shown
    ]


def _by_task(run: Run) -> Iterator[tuple[str, str, list[Named]]]:
    """Yield title, file name and cells of every task, cells with the names of their lines."""
    for task, cells in tasks(run.cells).items():
        named = [(cell.title, cell) for cell in cells]
        yield all_words(cells), "_".join(str(value) for _, value in task), named


def _overlaid(run: Run, by: str) -> Iterator[tuple[str, str, list[Named]]]:
    """Yield the same of cells that differ in one column alone; the baseline of a task is with all.

    So the label sets of one player stand beside the baseline, as in the published curves, although
    labels mean nothing to it. Other players of whom nothing is held fixed join all, too.
    """
    domain, seeds = run.domain, {cell.seed for cell in run.cells}
    base: dict[tuple[Any, ...], RunCell] = {}
    found: dict[tuple[Any, ...], list[RunCell]] = {}
    for cell in run.cells:
        where = (*cell.task_without(by).values(), cell.seed)
        if cell.is_baseline:
            base.setdefault(where, cell)
        elif level(cell, by):
            found.setdefault((where, cell.fixed(by)), []).append(cell)
    apart = {where for where, held in found if held}
    for (where, held), own in found.items():
        if not held and where in apart:
            continue
        cells = own + (found.get((where, ""), []) if held else [])
        task = {n: v for n, v in cells[0].task_without(by).items() if n in cells[0].columns}
        words = [held, domain.task_words(task), f"seed {where[-1]}" * (len(seeds) > 1)]
        named = [(level(cell, by), cell) for cell in cells]
        if where in base:
            named.append((f"{base[where].player} (tabular baseline)", base[where]))
        stem = "_".join(map(str, (held, *task.values())))
        yield ", ".join(filter(None, words)), stem, named


def _pages(cells: Sequence[Named]) -> Iterator[tuple[str, list[Named]]]:
    """Yield the cells of each figure, baselines in all, with what tells its file from others."""
    base = [one for one in cells if one[1].is_baseline]
    parts = list(pages([one for one in cells if not one[1].is_baseline], TOGETHER)) or [[]]
    for number, part in enumerate(parts, 1):
        page = [one for one in cells if one in base or one in part]
        if page:
            yield (f"_{number}" if len(parts) > 1 else ""), page


def _caption(what: str, title: str, cells: Sequence[Named], options: Options) -> str:
    """Describe what is drawn: of how many episodes, with which intervals."""
    based = any(cell.is_baseline for _, cell in cells)
    base = " The dashed grey line is the tabular baseline." if based else ""
    width, part = options.window, "the step"
    if width > 1:
        part = f"a centred window of {width} steps (shorter at the ends)"
    line = "subject" if options.by is None else f"value of {options.by}"
    sample = sample_words([cell for _, cell in cells])
    if any("continuation" in cell.definition for _, cell in cells):
        sample = (
            f"those of {sample} that last to it; a line ends before fewer than {LEAST_LEFT} are"
        )
    return (
        f"{what} by step, {title}: a line per {line}. Every point is the mean of {part}, over "
        f"{sample}; bands are {interval_words(cells[0][1])}.{base}"
    )


def _with_curves(cells: Sequence[Named], metric: str) -> list[Named]:
    """Return the cells that have a value in every step; none if nobody was asked."""
    kept = [(name, cell) for name, cell in cells if matrix_cell(cell).has_curve(metric)]
    asked = any(np.isfinite(cell.totals(metric).values).any() for _, cell in kept)
    return kept if asked else []


def curve_figure(
    cells: Sequence[Named], metric: str, title: str, options: Options = DEFAULT
) -> Figure:
    """Draw one metric by step: a line per named cell with a 95 % band."""
    lines, is_percent = [], metric == "tom_percent"
    for name, cell in cells:
        x, drawn = _points(matrix_cell(cell), metric, options)
        if not np.isnan(drawn.mean).all():
            lines.append(Line(name, x, drawn, cell.is_baseline))
    part = f", mean of {options.window} steps" if options.window > 1 else ""
    axis = f"{axis_name(MEASURES[metric])}{part}"
    return lines_figure(lines, title, axis, options, share=is_percent)


def _points(cell: MatrixRunCell, metric: str, options: Options) -> tuple[FloatArray, Estimate]:
    """Return the steps from 1, and means over episodes of the window around each of them."""
    curves, window = cell.curves(), options.window
    left = _left(cell)
    lasts = cell.played.lengths[:, None] > np.arange(len(left))
    values, rewards = (
        np.where(lasts, smooth(curves[name], window)[:, : len(left)], np.nan)
        for name in (metric, "reward_per_step")
    )
    bounds = np.array([[0.0, 100.0]])
    if metric != "tom_percent":
        bounds = _regret_limits(cell, values + rewards)
    steps = np.arange(1.0, values.shape[1] + 1)
    if lasts.all():
        return steps, cell.mean(values, bounds=bounds)
    bounds = np.broadcast_to(bounds, (len(left), 2))
    each = [
        cell.mean(values[:, [t]], among=lasts[:, t], bounds=bounds[[t]]) for t in range(len(left))
    ]
    return steps, Estimate(*map(np.concatenate, zip(*each, strict=True)))


def _left(cell: MatrixRunCell) -> IntArray:
    """Return how many episodes last to each step, up to where they are fewer than `LEAST_LEFT`.

    Lengths are drawn whatever is played, so those that last are a fair sample of all.
    """
    lengths = cell.played.lengths
    left: IntArray = (lengths[:, None] > np.arange(lengths.max(initial=0))).sum(axis=0)
    shown: IntArray = left[left >= min(LEAST_LEFT, len(lengths))]
    return shown


def _regret_limits(cell: MatrixRunCell, best: FloatArray) -> FloatArray:
    """Return between what mean regret by step lies, (T, 2), given the best reward's curves.

    At the best and at the worst payoff that the partners met ever give.
    """
    gives = [cell.game.own[:, (partner.emissions > 0).any(axis=0)] for partner in cell.partners]
    rewards = [np.array([end(payoffs) for payoffs in gives]) for end in (np.max, np.min)]
    which = cell.played.which
    ends = [np.nanmean(best - reward[which][:, None], axis=0) for reward in rewards]
    return np.stack(ends, axis=1)


def smooth(values: FloatArray, window: int = 5) -> FloatArray:
    """Return each episode's centred moving mean over `window` steps, shape (E, T).

    An even window reaches one step farther back than ahead.
    """
    import pandas

    rolling = pandas.DataFrame(values.T).rolling(window, center=True, min_periods=1)
    return rolling.mean().to_numpy().T


def _describe(cells: Sequence[Named], metric: str, what: str, options: Options) -> str:
    """Describe where every line ends."""
    ends = [(name, _points(matrix_cell(cell), metric, options)[1]) for name, cell in cells]
    said = [f"{name} {with_interval(drawn, -1)}" for name, drawn in ends]
    return f"{what}, last step: {'; '.join(said)}."
