"""Every strategy in every voice: complete episodes, calls per step, unreadable replies.

A server plays a known policy in one voice after the other (`voice_server`, `voice_styles`), and the
strategies play with default settings, matrix games and Decrypto. Prints the tables of
docs/calibration.md.

    python benchmarks/voices.py                     # all of them, some minutes
    python benchmarks/voices.py --voice chatty --strategy QA --episodes 2
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from voice_server import VoiceServer
from voice_styles import VOICES

from tomeval.play.runner import run_experiment
from tomeval.report.tables import render
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
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


def decrypto(name: str, model: str, episodes: int) -> dict[str, Any]:
    """Return an experiment on Decrypto with players of `DECRYPTO` in all seats."""
    return {
        "domain": "decrypto",
        "players": {"model": {"model": model, **DECRYPTO[name]}},
        "pairings": [dict.fromkeys(("encoder", "decoder", "interceptor"), "model")],
        "probes": {"eve": True, "bob": True, "beliefs": True},
        "episodes": episodes,
        "seed": 1,
        "stop_after_voids": 0,
    }


def measure(data: dict[str, Any], folder: Path, whole: str = "") -> dict[str, Found]:
    """Run an experiment and count by strategy; `whole` names one that all cells belong to."""
    run_experiment(make_experiment(data), folder, concurrency=16)
    with Run(folder) as run:
        statuses: dict[str, list[str]] = {}
        calls: dict[str, list[Call]] = {}
        for cell in run.cells:
            name = whole or str(cell.columns["strategy"])
            for episode, status in run.store.statuses(cell.number).items():
                statuses.setdefault(name, []).append(status)
                said = run.store.calls(cell.number, episode)
                mine = [((cell.number, episode, step), record) for step, _, _, record in said]
                calls.setdefault(name, []).extend(mine)
    return {name: _counted(ended, calls[name]) for name, ended in statuses.items()}


Call = tuple[tuple[int, int, int], dict[str, Any]]
"""Cell, episode and step, and the record."""


def _counted(statuses: list[str], calls: list[Call]) -> Found:
    """Count the statuses of episodes, and calls."""
    steps = {step for step, _ in calls}
    outcomes = Counter(str(record.get("outcome", "")) for _, record in calls)
    read = outcomes.total() - outcomes[""]  # summaries and the like are not read for an answer
    unreadable = 1 - outcomes["valid"] / read if read else 0.0
    return Found(statuses.count("complete") / len(statuses), len(calls) / len(steps), unreadable)


def rows(table: dict[str, dict[str, Found]]) -> Iterator[dict[str, str]]:
    """Yield a row per strategy and kind of voices, with the least and the most over its voices."""
    for strategy, of in table.items():
        for name, kind in (("cooperative", True), ("do not answer", False)):
            found = [one for voice, one in of.items() if VOICES[voice].cooperative == kind]
            if found:
                yield {
                    "strategy": strategy,
                    "voices": name,
                    "complete, %": _span([100 * one.complete for one in found], 0),
                    "calls per step": _span([one.calls for one in found], 1),
                    "unreadable, %": _span([100 * one.unreadable for one in found], 0),
                }


def _span(values: list[float], digits: int) -> str:
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


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
            where, episodes = Path(folder), arguments.episodes
            matrix = [name for name in strategies if name not in DECRYPTO]
            found: dict[str, Found] = {}
            if matrix:
                data = matrix_games(matrix, server.model, episodes, arguments.horizon)
                found |= measure(data, where / "matrix")
            for number, name in enumerate(name for name in strategies if name in DECRYPTO):
                data = decrypto(name, server.model, episodes)
                found |= measure(data, where / f"decrypto{number}", name)
        for name in strategies:
            table[name][voice] = found[name]
        print(f"{voice} is done", file=sys.stderr)
    print(render(list(rows(table)), "markdown"))


if __name__ == "__main__":
    main()
