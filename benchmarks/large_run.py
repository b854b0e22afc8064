"""Time and memory of looking at large runs: many cells, many episodes.

Makes run folders through `WritableStore.add` with records as language models leave them: a few
episodes of every task are played by a scripted model, with short prompts, and written again and
again; and one of 1,000,000 steps that sixteen simulated subjects play, whose speed is printed. Then
runs each command as a user does, and prints seconds, interpreter included, and peak memory.

    python benchmarks/large_run.py [--share 0.25] [--only cells]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

from one_thread import use_one_thread

import tomeval
from tomeval.models import model_name
from tomeval.models.base import GenerateRequest, Reply, ScoreRequest, Scores, Usage
from tomeval.models.scripted import ScriptedModel
from tomeval.report.tables import render
from tomeval.runs.domain import Cell, get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import add_session, make_folder
from tomeval.runs.record import Record
from tomeval.runs.writing import WritableStore

GAMES = ["RPS", "IBS", "IPD", "stag_hunt", "chicken", "matching_pennies", "harmony", "deadlock"]
PARTNERS = ["single_action", "tit_for_tat", "uniform_random", "noisy_tit_for_tat"]
PLAIN = ["LM", "QA", "CoT", "Social QA"]
STRATEGIES = [*PLAIN, "LM -Payoffs", "QA -Payoffs", "Oracle + LM", "Oracle + QA"]
PLAYED = 4
"""Episodes that are played of every task; the others repeat them."""

PROMPT = 200
"""Characters that are kept of a prompt."""


def _models(count: int) -> list[str]:
    """Return names of files with the scripts of models."""
    return [f"m{number}.json" for number in range(count)]


SIZES: dict[str, dict[str, Any]] = {
    # 8 games x 4 partners x 8 strategies x 20 models = 5,120 cells
    "cells": {
        "games": GAMES,
        "partners": PARTNERS,
        "subjects": [{"strategy": name} for name in STRATEGIES],
        "model": _models(20),
        "horizon": 10,
        "episodes": 40,
    },
    # 16 simulated subjects x 3 games x 2 partner sets = 96 cells
    "simulated": {
        "games": ["RPS", "IBS", "IPD"],
        "partners": ["single_action", "tit_for_tat"],
        "subjects": [
            {"kind": "simulated", "name": f"p = {p}, q = {q}", "p": p, "q": q}
            for p in (0.6, 0.8, 0.9, 1.0)
            for q in (0.2, 0.5, 0.8, 1.0)
        ],
        "horizon": 100,
        "episodes": 105,
        "seed": 1,
    },
}


def says(request: GenerateRequest | ScoreRequest) -> Reply | Scores:
    """Answer as a model might, by chance that depends on the request."""
    seed = getattr(request, "seed", 0) or crc32(str(request.prompt).encode())
    if isinstance(request, ScoreRequest):
        logs = tuple(-0.3 - ((seed >> shift) % 97) / 20 for shift in range(len(request.labels)))
        return Scores(logs, 0.9, "scripted", Usage(400, 0, 350))
    label = "JFK"[seed % 2]
    return Reply(f"I think so.\nFinal answer: {label}", usage=Usage(400, 12, 350))


def make(folder: Path, size: dict[str, Any], share: float = 1.0) -> None:
    """Make a run folder with a `share` of the episodes."""
    keys = {**size, "episodes": max(1, round(share * size["episodes"]))}
    if "model" not in keys:
        start = time.process_time()
        with tomeval.run(keys, folder) as run:
            steps = sum(cell.steps for cell in run.cells)
        print(
            f"{folder.name}: {steps / (time.process_time() - start):,.0f} steps/s played, written"
        )
        return
    keys["labels"] = "neutral"
    keys["name"] = folder.name
    keys["model"] = [f"scripted:{folder.parent / file}" for file in keys["model"]]
    for name in keys["model"]:
        Path(name.partition(":")[2]).write_text('["Final answer: J"]')
    names = set(map(model_name, keys["model"]))
    experiment = make_experiment(keys)
    domain = get_domain(experiment.domain)
    make_folder(folder)
    store = WritableStore(folder, domain)
    store.begin(experiment.identity(), experiment.per_cell, experiment.apart)
    add_session(store, experiment.stop_after_voids)
    played: dict[str, list[Record]] = {}
    for number, cell in enumerate(experiment.cells):
        key = json.dumps([word for word in cell.key if word not in names])
        if key not in played:
            played[key] = [_played(domain, cell, episode) for episode in range(PLAYED)]
        count = cell.wanted(experiment.per_cell)
        for first in range(0, count, 1000):
            numbers = range(first, min(count, first + 1000))
            store.add(number, list(_repeated(played[key], numbers)))
    store.close()


def _played(domain: Any, cell: Cell, episode: int) -> Record:
    """Play an episode; prompts are cut."""
    models = {seat: ScriptedModel(says) for seat in cell.models}
    record: Record = asyncio.run(domain.play(cell, episode, models, lambda: None))
    record.calls = [(*place, _cut(call)) for *place, call in record.calls]
    return record


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_cut(part) for part in value]
    return value[:PROMPT] if isinstance(value, str) else value


def _repeated(played: list[Record], numbers: range) -> Iterator[Record]:
    """Yield the played episodes again and again, under other numbers."""
    return (replace(played[number % PLAYED], episode=number) for number in numbers)


COMMANDS = (("status",), ("table",), ("compare", "--by", "strategy"), ("plot",), ("report",))
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
    print(render(rows))


if __name__ == "__main__":
    main()
