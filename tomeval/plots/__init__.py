"""Figures of a run, each with a caption and a text alternative.

Only the run's step records are read; matplotlib is imported when something is drawn.
"""

from tomeval.plots.drawing import Drawing, Options
from tomeval.plots.registry import (
    FIGURES,
    FILE_FORMATS,
    chosen,
    draw,
    figures_of,
    picture,
    plot_run,
    save,
)

__all__ = [
    "FIGURES",
    "FILE_FORMATS",
    "Drawing",
    "Options",
    "chosen",
    "draw",
    "figures_of",
    "picture",
    "plot_run",
    "save",
]
