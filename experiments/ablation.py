"""A sweep: every context with every advice and answer is a strategy; change the lists below.

    python experiments/ablation.py MODEL FOLDER         such as pocket runs/ablation

All meet the same partners at the same seeds, beside the tabular baseline. The same command again
resumes, or with more episodes extends.
"""

import itertools
import sys

import tomeval

CONTEXTS, ADVICE, ANSWERS = ["full", "-payoffs"], ["none", "oracle_max"], ["lm", "qa"]
EXPERIMENT = {
    "name": "ablation",
    "games": ["RPS", "IPD"],
    "partners": "single_action",
    "labels": "neutral",
    "episodes": 10,
    "horizon": 20,
    "seed": 1,
}


def main(model: str, folder: str) -> None:
    """Run the sweep, print its table and the effects of the parts of strategies."""
    every = itertools.product(CONTEXTS, ADVICE, ANSWERS)
    strategies = [dict(zip(("context", "advice", "answer"), parts, strict=True)) for parts in every]
    subjects = ["rmax", {"strategy": strategies}]
    with tomeval.run(EXPERIMENT | {"model": model, "subjects": subjects}, folder) as run:
        print(run.text(["tom_percent", "regret", "self_consistency_percent"]))
    print(f"next: tomeval compare {folder} --by strategy")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
