"""Means with intervals as dots in rows: what figures by subject, seat or player share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.plots.drawing import Options
from tomeval.plots.families import MOST_ABREAST, row_panels
from tomeval.plots.style import add_head, in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Ends = tuple[float, float, float]
"""A mean and the ends of its interval: NaN where there is none."""


class Series(NamedTuple):
    """Dots of one kind: what the legend calls them, and how they look."""

    label: str
    look: Mapping[str, Any]


ROW_HEIGHT = 0.145
"""Of a row, in inches."""


class Panel(NamedTuple):
    """One panel: its title, and by row and number of the series a mean with its interval."""

    title: str
    marks: Mapping[tuple[int, int], Ends]


@in_style
def dots_figure(
    title: str,
    panels: Sequence[Panel],
    rows: Sequence[str],
    axis: str,
    series: Sequence[Series],
    options: Options,
    *,
    finish: Callable[[Axes, int], None] | None = None,
    handles: Sequence[Any] = (),
) -> Figure:
    """Draw a panel per title with a row per name, and in each row a dot per series.

    Parameters
    ----------
    finish : callable, optional
        Sets limits, and draws what else a panel has, given its axes and number; before the dots.
    handles : sequence
        Further entries of the legend, which names the series that have a dot.
    """
    from matplotlib.lines import Line2D

    figure, drawn = row_panels(
        [panel.title for panel in panels], rows, axis, options, MOST_ABREAST, ROW_HEIGHT
    )
    for number, (axes, panel) in enumerate(zip(drawn, panels, strict=True)):
        if finish:
            finish(axes, number)
        for (row, which), ends in panel.marks.items():
            dot(axes, row, ends, series[which].look)
    used = {which for panel in panels for _, which in panel.marks}
    named = [
        Line2D([], [], label=one.label, **{**one.look, "ls": "none"})
        for which, one in enumerate(series)
        if which in used and one.label
    ]
    add_head(figure, title, [*named, *handles])
    return figure


def dot(axes: Axes, y: float, ends: Ends, look: Mapping[str, Any]) -> None:
    """Draw one mean with its interval, if it has a value."""
    mean, low, high = ends
    if math.isnan(mean):
        return
    if not math.isnan(low):
        axes.plot([low, high], [y, y], color=look["color"], lw=1.3, zorder=3)
    axes.plot([mean], [y], **{**look, "ls": "none", "zorder": 4})
