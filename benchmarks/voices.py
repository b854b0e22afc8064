"""Every strategy in every voice: complete episodes, calls per step, unreadable replies.

A server plays a known policy in one voice after the other (`voice_server`, `voice_styles`), and the
strategies play with default settings, matrix games and Decrypto. Prints a table for docs/voices.md.

    python benchmarks/voices.py                     # all of them, some minutes
    python benchmarks/voices.py --voice chatty --strategy QA --episodes 2
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from voice_server import VoiceServer
from voice_styles import COOPERATIVE, VOICES

from tomeval.report.tables import render
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.strategies.compose import NAMED

DECRYPTO: dict[str, dict[str, Any]] = {
    "Decrypto: QA": {"strategy": "QA"},
    "Decrypto: CoT": {"strategy": "CoT"},
    "Decrypto: CoT + 3-Shot": {"strategy": "CoT + 3-Shot"},
    "Decrypto: S2A + CoT": {"strategy": "S2A + CoT"},
    "Decrypto: Reflexion 2": {"strategy": "Reflexion 2"},
    "Decrypto: Plans + Insights": {"strategy": "Plans + Insights"},
    "Decrypto: Social QA, QA, QA": {"strategy": {"encoder": "Social QA"}},
    "Decrypto: Oracle, QA, QA": {"strategy": {"encoder": "Oracle"}},
    "Decrypto: conversation": {"strategy": "QA", "memory": "conversation"},
}


class Found(NamedTuple):
    """What became of one strategy in one voice.

    `complete` and `unreadable` are shares, of episodes and of replies that should hold an answer;
    `calls` are model calls per step.
    """

    complete: float
    calls: float
    unreadable: float


def experiment(strategy: str, model: str, episodes: int, horizon: int) -> dict[str, Any]:
    """Return an experiment on one strategy, all of whose options have their defaults."""
    common = {"episodes": episodes, "seed": 1}
    if strategy not in DECRYPTO:
        return common | {
            "games": ["RPS", "IPD"],
            "partners": ["tit_for_tat"],
            "labels": "neutral",
            "horizon": horizon,
            "subjects": [{"strategy": strategy}],
            "model": model,
        }
    return common | {
        "domain": "decrypto",
        "players": {"model": {"model": model, **DECRYPTO[strategy]}},
        "pairings": [dict.fromkeys(("encoder", "decoder", "interceptor"), "model")],
        "probes": {"eve": True, "bob": True, "beliefs": True},
    }


def measure(data: dict[str, Any], folder: Path) -> Found:
    """Run an experiment and count."""
    run_experiment(make_experiment(data), folder, concurrency=16)
    with Run(folder) as run:
        status = Counter(row[0] for row in run.store.query("SELECT status FROM episodes"))
        rows = run.store.query("SELECT cell, episode, step, record FROM calls")
    steps = {row[:3] for row in rows}
    outcomes = Counter(str(json.loads(row[3]).get("outcome", "")) for row in rows)
    read = outcomes.total() - outcomes[""]  # summaries and the like are not read for an answer
    unreadable = 1 - outcomes["valid"] / read if read else 0.0
    return Found(status["complete"] / status.total(), len(rows) / len(steps), unreadable)


def cell_text(found: Found) -> str:
    """Return complete / calls per step / unreadable."""
    return f"{found.complete:.0%}, {found.calls:.1f}, {found.unreadable:.0%}"


def main() -> None:
    """Play everything and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--voice", action="append", choices=list(VOICES))
    parser.add_argument("--strategy", action="append")
    parser.add_argument("--episodes", type=int, default=4)
    parser.add_argument("--horizon", type=int, default=5)
    arguments = parser.parse_args()
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    strategies = arguments.strategy or [*(point.name for point in NAMED), *DECRYPTO]
    table: dict[str, dict[str, Found]] = defaultdict(dict)
    for voice in arguments.voice or VOICES:
        with VoiceServer(voice) as server, tempfile.TemporaryDirectory() as folder:
            for name in strategies:
                data = experiment(name, server.model, arguments.episodes, arguments.horizon)
                table[name][voice] = measure(data, Path(folder) / str(len(table[name])) / name)
    for kind, voices in (
        ("Cooperative voices", [v for v in COOPERATIVE if v in next(iter(table.values()))]),
        ("Others", [v for v in VOICES if v not in COOPERATIVE]),
    ):
        print(f"{kind}: share of episodes complete, calls per step, unreadable replies\n")
        print(
            render(
                [
                    {"strategy": name}
                    | {voice: cell_text(row[voice]) for voice in voices if voice in row}
                    for name, row in table.items()
                ]
            )
        )
        print()


if __name__ == "__main__":
    main()
