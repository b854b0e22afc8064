"""What the harness itself costs per model call: rendering, logging, storing; no model.

A scripted model answers at once, with full prompts, T = 100 and 64 episodes, through the engine
and into a run folder, as a run does. Prints a table by step; what a call costs must be under a
millisecond and not grow with the step. The first steps also hold what an episode costs once: rules
rendered, rows stored. Times are CPU seconds of one thread.

    python benchmarks/harness_overhead.py
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from one_thread import use_one_thread

from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS, Said
from tomeval.play.runner import run_experiment
from tomeval.report.tables import render
from tomeval.runs.experiment import make_experiment
from tomeval.strategies import parse_strategy

HORIZON = 100
EPISODES = 64
CONCURRENCY = 64
STRATEGIES = ["QA", "LM", "CoT + 3-Shot", "Reflexion 3", "S2A + CoT", "Social QA"]
BINS = 10
WIDTH = HORIZON // BINS


class Clock:
    """A script that answers at once and adds up the time between its calls, by step.

    Nothing ever waits, so an episode runs through in one go, and what passes before a call belongs
    to it. Storing a finished episode thus counts into the first step of the next one.
    """

    def __init__(self) -> None:
        self.spent: dict[int, float] = defaultdict(float)
        self.calls: dict[int, int] = defaultdict(int)
        self._count: dict[str, int] = defaultdict(int)
        self._last = time.process_time()
        self.per_step = 1

    def __call__(self, request: GenerateRequest | ScoreRequest) -> Said:
        """Answer a request."""
        now = time.process_time()
        episode = request.group.partition(" ")[0]
        step = 1 + self._count[episode] // self.per_step
        self._count[episode] += 1
        self.spent[step] += now - self._last
        self.calls[step] += 1
        said: Said = "Final answer: J"
        if isinstance(request, ScoreRequest):
            said = [-0.7, -1.2, -1.6]
        self._last = time.process_time()
        return said


def measure(strategy: str) -> tuple[list[float], float, int]:
    """Return milliseconds per call by bins of steps, over all, and the number of calls."""
    clock = Clock()
    point = parse_strategy(strategy)
    clock.per_step = point.calls_per_step + point.probes_per_step
    SCRIPTS["clock"] = clock
    data: dict[str, Any] = {
        "games": ["RPS"],
        "partners": ["tit_for_tat"],
        "labels": ["neutral"],
        "horizon": HORIZON,
        "episodes": EPISODES,
        "subjects": [{"strategy": strategy}],
        "model": "scripted:clock",
    }
    experiment = make_experiment(data)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run_experiment(experiment, Path(folder) / "run", concurrency=CONCURRENCY)
        total = time.process_time() - start
    bins = []
    for first in range(1, HORIZON + 1, WIDTH):
        steps = range(first, first + WIDTH)
        spent, calls = (sum(table[s] for s in steps) for table in (clock.spent, clock.calls))
        bins.append(1e3 * spent / calls)
    calls = sum(clock.calls.values())
    return bins, 1e3 * total / calls, calls


def main() -> None:
    use_one_thread()
    rows = []
    for strategy in STRATEGIES:
        bins, mean, calls = measure(strategy)
        row: dict[str, Any] = {"strategy": strategy, "calls": calls, "ms per call": round(mean, 3)}
        for index in (0, BINS // 2, BINS - 1):
            first = 1 + index * WIDTH
            row[f"steps {first} to {first + WIDTH - 1}"] = round(bins[index], 3)
        rows.append(row)
    print(render(rows))


if __name__ == "__main__":
    main()
