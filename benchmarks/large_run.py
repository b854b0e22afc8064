"""Time and memory of looking at large runs: many cells, many episodes.

Makes run folders, of many cells and of 1,000,000 steps, which simulated subjects play, and prints
the speed of that. Then runs each command as a user does, and prints seconds, interpreter included,
and peak memory.

    python benchmarks/large_run.py [--share 0.25] [--only cells]
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from one_thread import use_one_thread

import tomeval
from tomeval.report.rows import grid_of
from tomeval.report.tables import set_grid

GAMES = ["RPS", "IBS", "IPD", "stag_hunt", "chicken", "matching_pennies", "harmony", "deadlock"]
PARTNERS = ["single_action", "tit_for_tat", "uniform_random", "noisy_tit_for_tat"]


def simulated(*shares: float) -> list[dict[str, Any]]:
    """Return subjects of every pair of these shares of right predictions and of their use."""
    return [
        {"kind": "simulated", "name": f"p = {p}, q = {q}", "p": p, "q": q}
        for p, q in itertools.product(shares, shares)
    ]


SIZES: dict[str, dict[str, Any]] = {
    # 8 games x 4 partner sets x 169 subjects = 5,408 cells
    "cells": {
        "games": GAMES,
        "partners": PARTNERS,
        "subjects": simulated(*(n / 12 for n in range(13))),
        "horizon": 10,
        "episodes": 2,
    },
    # 3 games x 2 partner sets x 16 subjects = 96 cells
    "simulated": {
        "games": GAMES[:3],
        "partners": PARTNERS[:2],
        "subjects": simulated(0.4, 0.6, 0.8, 1.0),
        "horizon": 100,
        "episodes": 105,
        "seed": 1,
    },
}


def make(folder: Path, size: dict[str, Any], share: float) -> None:
    """Make a run folder with a `share` of the episodes."""
    keys = {**size, "episodes": max(1, round(share * size["episodes"]))}
    start = time.process_time()
    with tomeval.run(keys, folder) as run:
        steps = sum(cell.steps for cell in run.cells)
    speed = steps / (time.process_time() - start)
    print(f"{folder.name}: {speed:,.0f} steps/s played, written")


COMMANDS = (("status",), ("table",), ("compare",), ("plot",), ("report",))
WRITTEN = {"plot": "pictures", "report": "report.html"}
"""Where commands write to that need to be told."""


def timed(folder: Path, *command: str) -> dict[str, str]:
    """Run a command on a folder; return its wall and CPU seconds and peak memory."""
    written = WRITTEN.get(command[0])
    words = [command[0], str(folder), *command[1:]]
    words += ["-o", str(folder.parent / written)] if written else []
    start = time.perf_counter()
    whole = [sys.executable, "-m", "tomeval", *words]
    process = subprocess.Popen(whole, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"tomeval {' '.join(words)} failed")
    return {
        "command": f"{folder.name}: {' '.join(command)}",
        "wall, s": f"{time.perf_counter() - start:.2f}",
        "CPU, s": f"{used.ru_utime + used.ru_stime:.2f}",
        "peak, MiB": f"{used.ru_maxrss / 1024:.0f}",
    }


def main() -> None:
    use_one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="Share of the episodes.")
    parser.add_argument("--only", action="append", choices=SIZES, help="Repeatable; default: all.")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for size in options.only or SIZES:
            folder = Path(place).resolve() / size
            make(folder, SIZES[size], options.share)
            rows += [timed(folder, *command) for command in COMMANDS]
    print(set_grid(grid_of(rows), "text"))


if __name__ == "__main__":
    main()
