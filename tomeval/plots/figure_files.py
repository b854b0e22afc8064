"""Figures of a run as files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tomeval.plots.drawing import Options
from tomeval.plots.output import save
from tomeval.plots.registry import draw
from tomeval.runs.results import Run


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
        Names in `tomeval.plots.figures_of`; default: all that the run's data supports.
    column : {"double", "single"}
        Width: a whole page, or one column of a two-column page.
    formats : sequence of {"png", "svg", "pdf"}

    Raises
    ------
    TomevalError
        See `tomeval.plots.draw`; or the folder cannot be written.
    """
    return save(draw(run, only, Options(column, interval)), folder, formats)
