"""An ablation the Python way: a product of contexts, advice and answers, and its table.

Every combination becomes one strategy; all meet the same partners at the same seeds, beside the
tabular baseline. The same command again resumes, or with more episodes extends. Other formats of
the table: ``tomeval table FOLDER --format latex``.

    python experiments/ablation.py --model pocket --out runs/ablation
    python experiments/ablation.py --model pocket --out runs/ablation --advice none reflexion_1
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import tomeval

SHOWN = ("tom_percent", "regret", "self_consistency_percent")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sweep and print its table."""
    parser = argparse.ArgumentParser(description="Ablate contexts, advice and answers.")
    parser.add_argument("--model", required=True, help="such as pocket or hf:REPO_OR_PATH")
    parser.add_argument("--out", type=Path, required=True, help="the run folder")
    parser.add_argument("--contexts", nargs="+", default=["full", "-payoffs"], metavar="CONTEXT")
    parser.add_argument("--advice", nargs="+", default=["none", "oracle_max"], metavar="ADVICE")
    parser.add_argument("--answers", nargs="+", default=["lm", "qa"], metavar="ANSWER")
    parser.add_argument("--games", nargs="+", default=["RPS", "IPD"], metavar="GAME")
    parser.add_argument("--partners", nargs="+", default=["single_action"], metavar="SET")
    parser.add_argument("--labels", default="neutral")
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--horizon", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.epilog = (
        f"Contexts: {', '.join(tomeval.CONTEXTS)}. Advice: {', '.join(tomeval.ADVICE)}. "
        f"Answers: {', '.join(tomeval.ANSWERS)}."
    )
    chosen = parser.parse_args(_protected(arguments))
    contexts = [name.strip() for name in chosen.contexts]
    strategies = [
        {"context": context, "advice": advice, "answer": answer}
        for context, advice, answer in itertools.product(contexts, chosen.advice, chosen.answers)
    ]
    experiment = {
        "name": "ablation",
        "games": chosen.games,
        "partners": chosen.partners,
        "labels": chosen.labels,
        "model": chosen.model,
        "subjects": ["rmax", {"strategy": strategies}],
        "episodes": chosen.episodes,
        "horizon": chosen.horizon,
        "seed": chosen.seed,
    }
    with tomeval.run(experiment, chosen.out) as run:
        print(run.text(SHOWN))


def _protected(arguments: Sequence[str] | None) -> list[str]:
    """Keep argparse from reading ``-history`` and ``-payoffs`` as options."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return [f" {word}" if word in tomeval.CONTEXTS else word for word in given]


if __name__ == "__main__":
    try:
        main()
    except tomeval.TomevalError as error:
        sys.exit(f"ablation: {error}")
