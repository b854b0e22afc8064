"""Time of `tomeval table` and `tomeval compare` over a run of 1,000,000 steps and 16 strategies.

Sixteen simulated subjects, three games against two partner sets, 104 episodes of 100 steps in each
of the 96 cells, and the same number of steps in one game (16 cells of 625 episodes). Wall and CPU
seconds of the commands as a user runs them, interpreter included, and their peak memory.

    python benchmarks/compare.py [--keep FOLDER] [--resamples 10000]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from one_thread import use_one_thread

import tomeval
from tomeval.report.tables import render

HORIZON = 100
SUBJECTS = [
    {"kind": "simulated", "name": f"strategy {4 * i + j + 1:02d}", "p": p, "q": q}
    for i, p in enumerate((0.6, 0.8, 0.9, 1.0))
    for j, q in enumerate((0.2, 0.5, 0.8, 1.0))
]
WIDE: dict[str, Any] = {
    "games": ["RPS", "IBS", "IPD"],
    "partners": ["single_action", "tit_for_tat"],
    "episodes": 105,
}
DEEP: dict[str, Any] = {"games": "IPD", "partners": "single_action", "episodes": 625}


def make(folder: Path, task: dict[str, Any]) -> int:
    """Make a run folder where there is none yet and return its number of steps."""
    tomeval.run({**task, "subjects": SUBJECTS, "horizon": HORIZON, "seed": 1}, folder).close()
    with tomeval.Run(folder) as run:
        return int(run.store.query("SELECT COUNT(*) FROM steps")[0][0])


def _on(folder: Path, *command: str) -> list[str]:
    """Return the words of a command on a folder; a run is of the experiment's file beside it."""
    if command[0] == "run":
        return ["run", str(folder.with_suffix(".toml")), "--out", str(folder), *command[1:]]
    return [command[0], str(folder), *command[1:]]


def timed(folder: Path, *command: str) -> dict[str, str]:
    """Run a command and return its wall and CPU seconds and peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tomeval", *_on(folder, *command)],
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"tomeval {' '.join(command)} failed")
    return {
        "command": f"tomeval {' '.join(command)}",
        "wall, s": f"{time.perf_counter() - start:.2f}",
        "CPU, s": f"{used.ru_utime + used.ru_stime:.2f}",
        "peak, MiB": f"{used.ru_maxrss / 1024:.0f}",
    }


def main() -> None:
    use_one_thread()
    parser = argparse.ArgumentParser(description="Time of table and compare.")
    parser.add_argument("--keep", type=Path, help="Keep (and use again) the run folders here.")
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for what, task in (("96 cells", WIDE), ("16 cells", DEEP)):
            folder = (options.keep or Path(name)) / what.replace(" ", "_")
            steps = make(folder, task)
            size = f"{what}, {steps:,} steps"
            compare = ("compare", "--by", "subject", "--resamples", str(options.resamples))
            for command in (("table",), compare):
                rows.append({"run": size, **timed(folder, *command)})
    print(render(rows))


if __name__ == "__main__":
    main()
