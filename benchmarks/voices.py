"""Every strategy in every voice: how many episodes are complete.

A server plays a known policy in one voice after the other (`voice_server`, `voice_styles`), and the
strategies play matrix games with default settings.

    python benchmarks/voices.py                     # all of them, some minutes
    python benchmarks/voices.py --voice chatty --strategy QA --episodes 2
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voice_server import VoiceServer
from voice_styles import VOICES

from tomeval.play.runner import run_experiment
from tomeval.report.tables import render
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.strategies.compose import NAMED


def matrix_games(strategies: list[str], model: str, episodes: int, horizon: int) -> dict[str, Any]:
    """Return an experiment on matrix games; strategies have their defaults."""
    return {
        "games": ["RPS", "IPD"],
        "partners": ["tit_for_tat"],
        "labels": "neutral",
        "horizon": horizon,
        "subjects": [{"strategy": strategies}],
        "model": model,
        "episodes": episodes,
        "seed": 1,
        "stop_after_voids": 0,
    }


def measure(data: dict[str, Any], folder: Path) -> dict[str, float]:
    """Return the share of complete episodes by strategy."""
    run_experiment(make_experiment(data), folder, concurrency=16)
    ended: dict[str, list[str]] = defaultdict(list)
    with Run(folder) as run:
        for cell in run.cells:
            ended[str(cell.columns["strategy"])] += run.store.statuses(cell.number).values()
    return {name: of.count("complete") / len(of) for name, of in ended.items()}


def rows(table: dict[str, dict[str, float]]) -> Iterator[dict[str, str]]:
    """Yield a row per strategy: the least and the most over each kind of voices."""
    for strategy, of in table.items():
        row = {"strategy": strategy}
        for name, kind in (("cooperative", True), ("do not answer", False)):
            shares = [100 * x for voice, x in of.items() if VOICES[voice].cooperative == kind]
            ends = sorted(
                {f"{share:.0f}" for share in (min(shares), max(shares))} if shares else {}
            )
            row[f"complete, %: {name}"] = " to ".join(ends)
        yield row


def main() -> None:
    """Play everything and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--voice", action="append", choices=list(VOICES))
    parser.add_argument("--strategy", action="append")
    parser.add_argument("--episodes", type=int, default=4)
    parser.add_argument("--horizon", type=int, default=5)
    arguments = parser.parse_args()
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    strategies = arguments.strategy or [point.name for point in NAMED]
    table: dict[str, dict[str, float]] = defaultdict(dict)
    for voice in arguments.voice or VOICES:
        with VoiceServer(voice) as server, tempfile.TemporaryDirectory() as folder:
            data = matrix_games(strategies, server.model, arguments.episodes, arguments.horizon)
            found = measure(data, Path(folder) / "run")
        for name in strategies:
            table[name][voice] = found[name]
        print(f"{voice} is done", file=sys.stderr)
    print(render(list(rows(table)), "markdown"))


if __name__ == "__main__":
    main()
