"""Time, memory and size of `tomeval report` over a run of 1,000,000 steps and 16 strategies.

The run folders of `compare.py`: sixteen simulated subjects in 96 cells (three games, two partner
sets), and in 16 cells of one game. Further, 2,000 steps of a scripted model with every prompt and
reply, for the size of a page with transcripts. Wall and CPU seconds of the command as a user runs
it, interpreter included, its peak memory, and the size of the page.

    python benchmarks/report.py [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from compare import DEEP, WIDE, make, timed
from one_thread import use_one_thread

from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS
from tomeval.report.tables import render
from tomeval.runs.experiment import make_experiment
from tomeval.runs.runner import run_experiment


def says(request: GenerateRequest | ScoreRequest) -> str:
    """Answer with a few hundred characters of thought that differ from step to step."""
    seed = getattr(request, "seed", 0)
    thought = " ".join(f"{(seed >> shift) % 9973}" for shift in range(0, 60, 1))
    return f"Thinking of {thought}.\nFinal answer: {'JF'[seed % 2]}"


def make_talking(folder: Path) -> int:
    """Make a run of 20 episodes of 100 steps in which a model is asked twice a step."""
    SCRIPTS["says"] = says
    experiment = {"games": "IPD", "partners": "tit_for_tat", "labels": "neutral", "episodes": 20}
    subjects = [{"strategy": "CoT"}]
    data = {**experiment, "horizon": 100, "model": "scripted:says", "subjects": subjects}
    run_experiment(make_experiment(data), folder)
    return 2000


def main() -> None:
    use_one_thread()
    parser = argparse.ArgumentParser(description="Time, memory and size of report.")
    parser.add_argument("--keep", type=Path, help="Keep (and use again) the run folders here.")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        place = options.keep or Path(name)
        out = Path(name) / "report.html"
        for what, steps in (
            ("96 cells", make(place / "96_cells", WIDE)),
            ("16 cells", make(place / "16_cells", DEEP)),
            ("CoT, prompts and replies", make_talking(place / "talking")),
        ):
            folder = place / {"9": "96_cells", "1": "16_cells"}.get(what[0], "talking")
            for more in ((), ("--no-figures",)):
                row = timed(folder, "report", *more, "-o", str(out))
                row["command"] = " ".join(("tomeval report", *more))
                megabytes = out.stat().st_size / 1e6
                rows.append({"run": f"{what}, {steps:,} steps", **row, "MB": f"{megabytes:.2f}"})
    print(render(rows))


if __name__ == "__main__":
    main()
