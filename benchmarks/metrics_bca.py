"""Time of all metrics and their BCa intervals over 1,000,000 steps, from arrays and from a run.

10,000 episodes of 100 steps in one cell, and in 100 cells of 100 episodes; 9,999 resamples. Wall
and CPU time, the median of three. The arrays are those of a finished run, so both ways give the
same numbers.

    python benchmarks/metrics_bca.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tomeval
from tomeval.domains.matrix.measures import METRICS, episode_metrics
from tomeval.report.tables import render
from tomeval.statistics import estimate

TIMES = 3
SUBJECTS = [{"kind": "simulated", "p": 0.9, "q": 0.5}]
TASK = {"games": "IPD", "partners": "0.5*tit_for_tat + 0.5*grim_trigger"}


def timed(what: str, work: Callable[[], object]) -> dict[str, str]:
    """Return wall and CPU seconds of `work`, medians."""
    walls, cpus = [], []
    for _ in range(TIMES):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {
        "1,000,000 steps": what,
        "wall, s": f"{statistics.median(walls):.2f}",
        "CPU, s": f"{statistics.median(cpus):.2f}",
    }


def from_arrays(run: tomeval.Run) -> None:
    """Do what a table does, on steps that are in memory already."""
    for cell in run.cells:
        values = episode_metrics(cell.played, cell.reference)
        table = np.stack([values[name] for name in METRICS], axis=1)
        estimate(table, "bca", strata=cell.which, rng=np.random.default_rng(1))


def from_folder(folder: Path) -> None:
    """Read a run folder and make its table."""
    with tomeval.Run(folder) as run:
        run.rows(interval="bca")


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        one, many = Path(name) / "one", Path(name) / "many"
        wide = {**TASK, "subjects": SUBJECTS, "horizon": 100}
        run = tomeval.run({**wide, "episodes": 10_000}, one)
        from_arrays(run)  # reads the steps once
        rows.append(timed("1 cell of 10,000 episodes, arrays", lambda: from_arrays(run)))
        rows.append(timed("1 cell of 10,000 episodes, run folder", lambda: from_folder(one)))
        run.close()
        run = tomeval.run({**wide, "episodes": 100, "seed": list(range(100))}, many)
        from_arrays(run)
        rows.append(timed("100 cells of 100 episodes, arrays", lambda: from_arrays(run)))
        rows.append(timed("100 cells of 100 episodes, run folder", lambda: from_folder(many)))
        run.close()
    print(render(rows))


if __name__ == "__main__":
    main()
