"""Regret and ToM % by step, a line per subject: python figures/regret_by_step.py RUN OUT."""

import sys
from pathlib import Path

from tomeval import Run
from tomeval.plotting import plot_curves

with Run(sys.argv[1]) as run:
    for path in plot_curves(run, Path(sys.argv[2])):
        print(path)
