"""What figures share: options, estimates of a cell, words for numbers, lines by step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.numbers import between, number
from tomeval.plots.style import (
    BASELINE_LINE,
    MARKERS,
    WIDTHS,
    add_head,
    add_legend,
    fold,
    in_style,
    line_style,
    new_figure,
)
from tomeval.runs.cell import RunCell
from tomeval.runs.measures import FloatArray, Measure
from tomeval.statistics.estimates import AUTO, FEW, SEQUENCE, Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_WINDOW = 1_000_000


@dataclass(frozen=True)
class Options:
    """How figures are drawn.

    Attributes
    ----------
    column : {"screen", "single", "double"}
        Width: of a telephone or half a window, of one column of a two-column page, of the page.
    by : str, optional
        The column whose values are laid over each other in curves.
    metrics : tuple of str
        Names of the measures that figures show which can choose. Default: the run's first ones.
    window : int
        How many steps the centred moving window of curves has, from 1 to `MOST_WINDOW`.
    """

    column: str = "screen"
    by: str | None = None
    metrics: tuple[str, ...] = ()
    window: int = 5

    def __post_init__(self) -> None:
        if self.column not in WIDTHS:
            raise unknown("column", self.column, WIDTHS)
        if not 1 <= self.window <= MOST_WINDOW:
            raise TomevalError(f"window must be from 1 to {MOST_WINDOW:,}, not {self.window}")

    @property
    def width(self) -> float:
        """Width of a figure in inches."""
        return WIDTHS[self.column]

    def fits(self, single: int, double: int) -> int:
        """Return how many fit the width, given how many fit a single and a double column."""
        wide = (self.width - WIDTHS["single"]) / (WIDTHS["double"] - WIDTHS["single"])
        return int(single + wide * (double - single))


DEFAULT = Options()


class Drawing(NamedTuple):
    """A figure with its words.

    `name` is a key of `tomeval.plots.figures_of`, `stem` the file's name without suffix, unique
    within a run; `title` says what is shown, `caption` how to read it; `description` is the text
    alternative: what the picture says, in numbers.
    """

    name: str
    stem: str
    figure: Figure
    title: str
    caption: str
    description: str


def has_values(cell: RunCell, names: Sequence[str]) -> bool:
    """Return whether a cell has values of all these measures."""
    return all(bool(np.isfinite(cell.totals(name).values).any()) for name in names)


def axis_name(measure: Measure) -> str:
    """Return a measure's name with its unit."""
    unit = "payoff units" if measure.in_payoffs else measure.unit
    return measure.heading if unit in measure.heading else f"{measure.heading} ({unit})"


def better_side(measure: Measure) -> str:
    """Return a line for below an axis that says where better values are; empty: nowhere."""
    return {-1: "\n← better", 0: "", 1: "\nbetter →"}[measure.better]


def with_interval(found: Estimate, index: int = 0) -> str:
    """Return a mean and its interval for reading."""
    mean = number(float(found.mean[index]), 2)
    low, high = float(found.low[index]), float(found.high[index])
    return mean if math.isnan(low) else f"{mean} ({between(low, high, 2)})"


def sample_words(cells: Iterable[RunCell], unit: str = "episodes") -> str:
    """Return how many complete episodes each of some cells has.

    Examples
    --------
    >>> from types import SimpleNamespace as Cell
    >>> sample_words([Cell(episodes=[0, 1, 2]), Cell(episodes=[0])])
    '1 to 3 complete episodes each'
    """
    counts = sorted({len(cell.episodes) for cell in cells} - {0})
    several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    return f"{several} complete {unit if counts[-1] > 1 else unit.removesuffix('s')} each"


def interval_words(cell: RunCell, shares: bool = False) -> str:
    """Describe the intervals of a cell's means, or of shares, and how bounds are handled.

    See `tomeval.statistics.bounded`.
    """
    unit = f"{cell.domain.unit}s"
    if cell.method(AUTO) == SEQUENCE:
        return f"95 % confidence sequences over {unit} (valid at every look)"
    words = f"95 % intervals over {unit} (Student's t below {FEW}, else 1.96 standard errors)"
    if shares:  # of the steps or items of an episode
        words = f"95 % intervals (Wilson's, with {unit} as clusters)"
    return f"{words}; bounded measures have score intervals, which stay within the bounds"


TOGETHER = 8
"""Most lines in one figure, besides baselines."""


class Line(NamedTuple):
    """One subject's line, K points; the `baseline` is what the others are compared with."""

    name: str
    x: FloatArray
    y: Estimate
    baseline: bool


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
            line.y.mean,
            label=line.name,
            **{"lw": 1.3} | style,
            marker=MARKERS[index % len(MARKERS)],
            markersize=3.5,
            # each line's marks at places of its own, so that lines that meet can be told apart
            markevery=(0.02 + 0.1 * index / len(lines), 0.14),
        )
        handles.append(handle)
        low, high = line.y.low, line.y.high
        known = np.isfinite(low) & np.isfinite(high)
        if known.any():
            band = {"color": style["color"], "alpha": 0.18, "linewidth": 0}
            axes.fill_between(line.x, low, high, where=known, **band)
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
