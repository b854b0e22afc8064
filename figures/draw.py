"""Draw some figures of a run folder: python figures/draw.py RUN OUT NAME [NAME ...].

The same as ``tomeval plot RUN --out OUT --only NAME``, for those who want other sizes or colours:
`tomeval.plots.draw` gives matplotlib figures.
"""

import sys
from pathlib import Path

from tomeval import Run
from tomeval.plots import draw, save

if len(sys.argv) < 4:
    raise SystemExit(__doc__)
with Run(sys.argv[1]) as run:
    for path in save(draw(run, sys.argv[3:]), Path(sys.argv[2])):
        print(path)
