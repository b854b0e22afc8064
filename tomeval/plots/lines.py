"""Lines with bands, all in one panel or a panel each: what curves share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.plots.drawing import Options
from tomeval.plots.style import (
    BASELINE_LINE,
    MARKERS,
    SMALL,
    add_head,
    add_legend,
    fold,
    in_style,
    line_style,
    lines_of,
    new_figure,
)
from tomeval.runs.measures import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOGETHER = 6
"""Most lines in one panel."""


@dataclass(frozen=True)
class Line:
    """One subject's line.

    `x`, `y` and the ends of its band, `low` and `high`, have shape (K,); where a line has no band
    they are NaN. Every panel shows the `baseline`, to compare the others with.
    """

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray
    baseline: bool = False


@dataclass(frozen=True)
class Frame:
    """What surrounds the lines: axis names, what a baseline is called, what is fixed."""

    title: str
    x: str
    y: str
    baseline: str
    limits: tuple[float, float] | None = None
    zero: bool = False
    steps: bool = False
    """Draw lines as steps, for what jumps."""
    counts: bool = False
    """Along x are whole numbers alone."""


def lines_figure(lines: Sequence[Line], frame: Frame, options: Options) -> Figure:
    """Draw lines: all in one panel, or with more than `TOGETHER` a panel for each."""
    draw = together_figure if len(lines) <= TOGETHER else apart_figure
    return draw(lines, frame, options)


@in_style
def together_figure(lines: Sequence[Line], frame: Frame, options: Options) -> Figure:
    """Draw all lines in one panel, each with its colour, dashes and marks."""
    figure, (axes,) = new_figure(options.width, 2.3 if options.column == "single" else 2.9)
    handles = []
    for index, line in enumerate(lines):
        style = line_style(index)
        if line.baseline:
            style = BASELINE_LINE | {"lw": 1.5}
        (handle,) = axes.plot(
            line.x,
            line.y,
            label=line.name,
            **{"lw": 1.3} | style,
            drawstyle="steps-post" if frame.steps else "default",
            marker=MARKERS[index % len(MARKERS)],
            markersize=3.5,
            # each line's marks at places of its own, so that lines that meet can be told apart
            markevery=(0.02 + 0.1 * index / len(lines), 0.14),
        )
        handles.append(handle)
        _band(axes, line, style["color"], frame)
    _dress(axes, frame)
    axes.locator_params(axis="x", integer=frame.counts)
    axes.set_xlabel(frame.x)
    axes.set_ylabel(fold(frame.y, 38))
    add_head(figure, frame.title)
    add_legend(figure, handles, handlelength=3)
    return figure


@in_style
def apart_figure(lines: Sequence[Line], frame: Frame, options: Options) -> Figure:
    """Draw a panel per line: the line, the baseline dashed, and the range of all lines in grey."""
    from matplotlib.ticker import MaxNLocator

    shown = [line for line in lines if not line.baseline]
    base = [line for line in lines if line.baseline]
    columns = options.fits(2, 4)
    rows = -(-len(shown) // columns)
    names = [fold(line.name, int(15 * options.width / columns)) for line in shown]
    height = rows * (0.78 + 0.125 * lines_of(names)) + 0.6
    figure, panels = new_figure(
        options.width, height, rows, columns, len(shown), sharex=True, sharey=True
    )
    steps = "steps-post" if frame.steps else "default"
    reach = _reach(lines)
    for index, (axes, line, name) in enumerate(zip(panels, shown, names, strict=True)):
        axes.fill_between(*reach, color=GREY, linewidth=0, step="post" if frame.steps else None)
        axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10], integer=frame.counts))
        for other in base:
            axes.plot(other.x, other.y, **BASELINE_LINE, drawstyle=steps)
        _band(axes, line, OWN, frame)
        axes.plot(line.x, line.y, color=OWN, lw=1.3, drawstyle=steps)
        axes.set_title(name, loc="left", fontsize=SMALL)
        _dress(axes, frame)
        if index >= len(shown) - columns:  # nothing is below
            axes.set_xlabel(frame.x, fontsize=SMALL)
    figure.supylabel(fold(frame.y, 38 if rows < 3 else 76))
    add_head(figure, frame.title)
    add_legend(figure, _apart_handles(base, frame), handlelength=3)
    return figure


OWN = "#0072B2"
GREY = "0.88"


def _apart_handles(base: Sequence[Line], frame: Frame) -> list[Any]:
    """Return the legend of `apart_figure`."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = [f"{line.name} ({frame.baseline})" for line in base]
    return [
        Line2D([], [], color=OWN, lw=1.4, label="this subject"),
        Patch(color=GREY, label="lowest to highest of all"),
        *(Line2D([], [], label=name, **BASELINE_LINE) for name in names),
    ]


def _reach(lines: Sequence[Line]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return where any line has a point, and the lowest and the highest line there, (K,) each.

    Beyond its ends, as of a subject with fewer episodes, a line does not count.
    """
    x = np.unique(np.concatenate([line.x for line in lines]))
    y = [np.interp(x, line.x, line.y, left=np.nan, right=np.nan) for line in lines]
    return x, np.nanmin(y, axis=0), np.nanmax(y, axis=0)


def _band(axes: Axes, line: Line, colour: str, frame: Frame) -> None:
    """Shade a line's interval where it has one."""
    known = np.isfinite(line.low) & np.isfinite(line.high)
    if known.any():
        look: dict[str, Any] = {"color": colour, "alpha": 0.18, "linewidth": 0}
        look["step"] = "post" if frame.steps else None
        axes.fill_between(line.x, line.low, line.high, where=known, **look)


def _dress(axes: Axes, frame: Frame) -> None:
    """Set what all panels share."""
    if frame.limits:
        axes.set_ylim(*frame.limits)
    if frame.zero:
        axes.axhline(0, color="0.4", lw=0.6)
    axes.margins(x=0.01)
