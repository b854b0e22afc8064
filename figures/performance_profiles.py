"""Share of episodes above every score: python figures/performance_profiles.py RUN OUT."""

import sys
from pathlib import Path

from tomeval import Run
from tomeval.plots import plot_run

with Run(sys.argv[1]) as run:
    for path in plot_run(run, Path(sys.argv[2]), only=["profiles"]):
        print(path)
