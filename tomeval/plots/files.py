"""Plots of a run as files; the drawing itself is in `tomeval.plots`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tomeval.domains.matrix.figures.curves import CURVE_LABELS, curve_figure, smooth
from tomeval.domains.matrix.figures.scatter import scatter_figure
from tomeval.plots import FIGURES, Drawing, Options, draw, save, svg_text
from tomeval.plots.style import COLOURS, FILLINGS, LINES, MARKERS
from tomeval.runs.results import Run

__all__ = [
    "COLOURS",
    "CURVE_LABELS",
    "FIGURES",
    "FILLINGS",
    "LINES",
    "MARKERS",
    "Drawing",
    "Options",
    "curve_figure",
    "draw",
    "plot_curves",
    "plot_run",
    "plot_scatter",
    "save",
    "scatter_figure",
    "smooth",
    "svg_text",
]


def plot_run(
    run: Run,
    folder: Path,
    interval: str = "normal",
    *,
    only: Sequence[str] = (),
    column: str = "double",
    formats: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw figures of a run into a folder and return the files.

    Parameters
    ----------
    run : Run
    folder : Path
        Made where it does not exist.
    interval : {"normal", "t", "bca"}
    only : sequence of str
        Names in `tomeval.plots.FIGURES`; default: all that the run's data supports.
    column : {"double", "single"}
        Width: a whole page, or one column of a two-column page.
    formats : sequence of {"png", "svg", "pdf"}

    Raises
    ------
    TomevalError
        See `tomeval.plots.draw`; or the folder cannot be written.
    """
    return save(draw(run, only, Options(column, interval)), folder, formats)


def plot_curves(run: Run, folder: Path, interval: str = "normal") -> list[Path]:
    """Draw regret and ToM % by step and return the files."""
    return plot_run(run, folder, interval, only=("regret", "tom"))


def plot_scatter(run: Run, folder: Path, interval: str = "normal") -> list[Path]:
    """Draw literal against functional and return the files."""
    return plot_run(run, folder, interval, only=("scatter",))
