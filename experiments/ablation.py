"""An ablation the Python way: a product of contexts, advice and answers, and its table.

Every combination becomes one strategy; all meet the same partners at the same seeds, beside the
tabular baseline. The same command again resumes, or with more episodes extends.

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
from tomeval.report.tables import FORMATS, render
from tomeval.strategies.compose import ADVICE, ANSWERS, CONTEXTS

SHOWN = (
    "strategy",
    "game",
    "partners",
    "episodes",
    "invalid_rate",
    "tom_percent",
    "tom_percent_ci95",
    "delta_functional_per_step",
    "delta_functional_per_step_ci95",
    "self_consistency_percent",
    "self_consistency_percent_ci95",
)


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
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.epilog = (
        f"Contexts: {', '.join(CONTEXTS)}. Advice: {', '.join(ADVICE)}. "
        f"Answers: {', '.join(ANSWERS)}."
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
        rows = run.rows()
    for row in rows:
        row["strategy"] = row["strategy"] or row["subject"]
    print(render([{name: row[name] for name in SHOWN} for row in rows], chosen.format))


def _protected(arguments: Sequence[str] | None) -> list[str]:
    """Keep argparse from reading ``-history`` and ``-payoffs`` as options."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return [f" {word}" if word in CONTEXTS else word for word in given]


if __name__ == "__main__":
    try:
        main()
    except tomeval.TomevalError as error:
        sys.exit(f"ablation: {error}")
