"""Lines by step with bands, in one panel: what curves share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tomeval.plots.drawing import Options
from tomeval.plots.style import (
    BASELINE_LINE,
    MARKERS,
    add_head,
    add_legend,
    fold,
    in_style,
    line_style,
    new_figure,
)
from tomeval.runs.measures import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOGETHER = 8
"""Most lines in one figure, besides baselines."""


@dataclass(frozen=True)
class Line:
    """One subject's line.

    `x`, `y` and the ends of its band, `low` and `high`, have shape (K,); where a line has no band
    they are NaN. The `baseline` is what the others are compared with.
    """

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray
    baseline: bool = False


@in_style
def lines_figure(
    lines: Sequence[Line], title: str, axis: str, options: Options, *, share: bool = False
) -> Figure:
    """Draw lines by step, each with its colour, dashes and marks; `share`: of 100 %."""
    figure, (axes,) = new_figure(options.width, 2.3 if options.column == "single" else 2.9)
    handles = []
    for index, line in enumerate(lines):
        style = BASELINE_LINE | {"lw": 1.5} if line.baseline else line_style(index)
        (handle,) = axes.plot(
            line.x,
            line.y,
            label=line.name,
            **{"lw": 1.3} | style,
            marker=MARKERS[index % len(MARKERS)],
            markersize=3.5,
            # each line's marks at places of its own, so that lines that meet can be told apart
            markevery=(0.02 + 0.1 * index / len(lines), 0.14),
        )
        handles.append(handle)
        known = np.isfinite(line.low) & np.isfinite(line.high)
        if known.any():
            band = {"color": style["color"], "alpha": 0.18, "linewidth": 0}
            axes.fill_between(line.x, line.low, line.high, where=known, **band)
    if share:
        axes.set_ylim(-3, 103)
    else:
        axes.axhline(0, color="0.4", lw=0.6)
    axes.margins(x=0.01)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("step")
    axes.set_ylabel(fold(axis, 38))
    add_head(figure, title)
    add_legend(figure, handles, handlelength=3)
    return figure
