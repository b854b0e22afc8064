"""Paired differences from a baseline, as a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tomeval.comparing.sides import compared_by
from tomeval.core.numbers import number
from tomeval.plots.drawing import (
    DEFAULT,
    Drawing,
    Options,
    axis_name,
    better_side,
    sample_words,
)
from tomeval.plots.families import MOST_PANELS, MOST_ROWS, all_words, pages
from tomeval.plots.forest import Ends, Panel, Series, dots_figure
from tomeval.runs.measures import Measure
from tomeval.runs.results import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tomeval.comparing.comparison import Comparison

SIDES = {-1: " To the left of 0 is better.", 0: "", 1: " To the right of 0 is better."}


def differences(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw every level's paired difference from the first, per task.

    In the chosen measures, or in the first measure that several levels have.
    """
    drawings: list[Drawing] = []
    by = options.by or compared_by(run)
    for name in (options.metrics or run.headline) if by else ():
        drawings += _by_measure(run, str(by), name, options)
        if drawings and not options.metrics:
            break
    return drawings


def _by_measure(run: Run, by: str, name: str, options: Options) -> list[Drawing]:
    """Draw the differences in one measure, as many panels and rows on a page as fit."""
    from tomeval.comparing.comparison import compare

    compared = compare(run, by=by, metrics=[name], reference=options.reference)
    if not np.isfinite(compared.difference).any():
        return []
    (measure,) = compared.measures
    single = [s for s, task in enumerate(compared.tasks) if task] or [0]
    stem = f"differences_by_{by}" + (f"_{measure.short}" if len(options.metrics) > 1 else "")
    cells = [cell for cell in run.cells if len(cell.episodes)]
    told = all_words(cells)
    shown = pages(single, MOST_PANELS)
    parts = [
        (some, rows) for some in shown for rows in pages(range(len(compared.levels)), MOST_ROWS)
    ]
    return [
        Drawing(
            "differences",
            stem + (f"_{number}" if len(parts) > 1 else ""),
            differences_figure(compared, measure, scopes, levels, options, told),
            f"{measure.heading} compared with {compared.baseline}, by {by}",
            f"Difference in {measure.heading} from {compared.baseline}, {told}, over "
            f"{_units(compared)} ({sample_words(cells)}), with 95 % intervals (Student's t). "
            "Filled: significant at 5 % (permutation test, Holm's correction)."
            f"{SIDES[measure.better]} All panels and pages share one scale.",
            _describe(compared, measure, scopes, levels),
        )
        for number, (scopes, levels) in enumerate(parts, 1)
    ]


def _units(found: Comparison) -> str:
    """Describe what is compared: pairs, and unpaired groups."""
    pairs = "pairs of episodes with the same task and seed"
    if found.apart.any():
        return "unpaired groups of episodes" + ("" if found.apart.all() else f", or {pairs}")
    return pairs


def _describe(
    found: Comparison, measure: Measure, scopes: Sequence[int], levels: Sequence[int]
) -> str:
    """Describe every difference with its interval."""
    parts = []
    for s in scopes:
        said = []
        for level in levels:
            low, high = float(found.t_low[s, level, 0]), float(found.t_high[s, level, 0])
            between = "" if np.isnan(low) else f" ({number(low)} to {number(high)})"
            mean = number(float(found.difference[s, level, 0]))
            said.append(f"{found.levels[level]} {mean}{between}")
        parts.append(f"{found.scopes[s]}: {', '.join(said)}")
    return f"Differences in {measure.heading} from {found.baseline}. {'; '.join(parts)}."


def differences_figure(
    found: Comparison,
    measure: Measure,
    scopes: Sequence[int],
    levels: Sequence[int],
    options: Options,
    told: str = "",
) -> Figure:
    """Draw a panel per task and a row per level, all on one scale; `told` names the tasks."""
    ends = np.stack([found.difference, found.t_low, found.t_high], axis=-1)[:, :, 0]
    known = [0.0, *ends[np.isfinite(ends)].tolist()]
    room = 0.06 * (max(known) - min(known)) or 1.0

    def finish(axes: Axes, number: int) -> None:
        axes.axvline(0, color="0.3", lw=0.8, zorder=2)
        axes.set_xlim(min(known) - room, max(known) + room)

    def marks(scope: int) -> dict[tuple[int, int], Ends]:
        differs = found.p_holm[scope, :, 0] < 0.05
        return {(row, int(not differs[k])): tuple(ends[scope, k]) for row, k in enumerate(levels)}

    look = {"marker": "o", "color": "#0072B2", "markeredgecolor": "#0072B2", "markersize": 4.5}
    series = [
        Series("significant at 5 % (Holm)", look),
        Series("not significant", look | {"markerfacecolor": "white"}),
    ]
    panels = [Panel(found.scopes[scope], marks(scope)) for scope in scopes]
    names = [found.levels[level] for level in levels]
    axis = f"difference in {axis_name(measure)} from {found.baseline}{better_side(measure)}"
    head = f"{measure.heading} compared with {found.baseline}"
    title = f"{head}: {told}" if told else head
    return dots_figure(title, panels, names, axis, series, options, finish=finish)
