"""Predicted and actual interception by turn: python figures/decrypto_perspective.py RUN OUT."""

import sys
from pathlib import Path

from tomeval import Run
from tomeval.plots import plot_run

with Run(sys.argv[1]) as run:
    for path in plot_run(run, Path(sys.argv[2]), only=["perspective"]):
        print(path)
