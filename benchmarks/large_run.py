"""Time and memory of reading, starting and resuming large runs: many cells, many episodes.

Makes run folders through `Store.add` with rows as language models leave them (a few episodes are
played by a scripted model and written again and again, with short prompts), then runs each command
as a user does and prints wall seconds and peak memory of its process, beside those of an earlier
measurement if one is given.

    python benchmarks/large_run.py --make cells --keep /tmp/large     # one folder, and stay
    python benchmarks/large_run.py --keep /tmp/large --json now.json
    python benchmarks/large_run.py --keep /tmp/large --before then.json
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from tomeval.models.base import GenerateRequest, Reply, ScoreRequest, Scores, Usage
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.domain import Block, Cell, get_domain
from tomeval.runs.experiment import Experiment, make_experiment
from tomeval.runs.folder import add_session, begin_or_resume, make_folder
from tomeval.runs.store import Store

GAMES = ["RPS", "IBS", "IPD", "stag_hunt", "chicken", "matching_pennies", "harmony", "deadlock"]
PARTNERS = ["single_action", "tit_for_tat", "uniform_random", "noisy_tit_for_tat"]
PLAIN = ["LM", "QA", "CoT", "Social QA"]
STRATEGIES = [*PLAIN, "LM -Payoffs", "QA -Payoffs", "Oracle + LM", "Oracle + QA"]
PLAYED = 4
"""Episodes that are played of every task; the others repeat them."""

PROMPT = 200
"""Characters that are kept of a prompt."""


class Size(NamedTuple):
    """A run folder to make: keys of its experiment, and whether calls are kept."""

    keys: Mapping[str, Any]
    calls: bool = True


def _models(count: int) -> dict[str, str]:
    return {f"model {number}": f"scripted:m{number}.json" for number in range(count)}


SIZES: dict[str, Size] = {
    # 8 games x 4 partners x 8 strategies x 20 models = 5,120 cells
    "cells": Size(
        {
            "games": GAMES,
            "partners": PARTNERS,
            "subjects": [{"strategy": name} for name in STRATEGIES],
            "models": _models(20),
            "horizon": 10,
            "episodes": 40,
        }
    ),
    "episodes": Size(
        {
            "games": ["RPS", "IPD"],
            "partners": ["tit_for_tat"],
            "subjects": [{"strategy": "QA"}, {"strategy": "LM"}],
            "models": _models(1),
            "horizon": 20,
            "episodes": 50_000,
        },
        calls=False,
    ),
    "scored": Size(
        {
            "games": ["RPS", "IPD"],
            "partners": ["single_action", "tit_for_tat"],
            "subjects": [{"strategy": "LM"}, {"strategy": "LM -Payoffs"}],
            "models": _models(5),
            "horizon": 100,
            "episodes": 250,
        },
        calls=False,
    ),
}


def says(request: GenerateRequest | ScoreRequest) -> Reply | Scores:
    """Answer as a model might, by chance that depends on the request."""
    seed = getattr(request, "seed", 0) or crc32(str(request.prompt).encode())
    if isinstance(request, ScoreRequest):
        logs = tuple(-0.3 - ((seed >> shift) % 97) / 20 for shift in range(len(request.labels)))
        return Scores(logs, 0.9, "scripted", Usage(400, 0, 350))
    label = "JFK"[seed % 2]
    return Reply(f"I think so.\nFinal answer: {label}", usage=Usage(400, 12, 350))


def make(folder: Path, size: Size, share: float = 1.0) -> Experiment:
    """Make a run folder, with a `share` of its episodes; return its experiment."""
    keys = dict(size.keys)
    for name in keys["models"].values():
        path = folder.parent / name.partition(":")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('["Final answer: J"]')
    keys["labels"] = "neutral"
    keys["name"] = folder.name
    keys["models"] = {
        alias: f"scripted:{folder.parent / name.partition(':')[2]}"
        for alias, name in keys["models"].items()
    }
    (folder.parent / f"{folder.name}.json").write_text(json.dumps(keys))
    experiment = make_experiment(keys)
    domain = get_domain(experiment.domain)
    make_folder(folder)
    store = Store(folder, domain)
    begin_or_resume(store, folder, experiment.identity(), experiment.per_cell, experiment.apart)
    add_session(folder, experiment.stop_after_voids)
    played: dict[str, Block] = {}
    for number, cell in enumerate(experiment.cells):
        key = json.dumps([word for word in cell.key if word not in keys["models"]])
        if key not in played:
            played[key] = _played(domain, cell, size.calls)
        count = int(experiment.per_cell * share)
        for first in range(0, count, 1000):
            store.add(number, _repeated(played[key], range(first, min(count, first + 1000))))
    store.close()
    return experiment


def _played(domain: Any, cell: Cell, calls: bool) -> Block:
    """Play a few episodes; prompts are cut."""
    block = Block([], [])
    for episode in range(PLAYED):
        models = {seat: ScriptedModel(says) for seat in cell.models}
        found = asyncio.run(domain.play(cell, episode, models, lambda: None))
        block.episodes += found.episodes
        block.steps = [*block.steps, *found.steps]
        block.answers += found.answers
        block.calls += found.calls if calls else []
    block.calls = [(*place, _cut(record)) for *place, record in block.calls]
    return block


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_cut(part) for part in value]
    return value[:PROMPT] if isinstance(value, str) else value


def _repeated(block: Block, numbers: range) -> Block:
    """Return the played episodes again and again under other numbers."""
    return Block(
        [(n, *row[1:]) for n in numbers for row in block.episodes if row[0] == n % PLAYED],
        [(n, *row[1:]) for n in numbers for row in block.steps if row[0] == n % PLAYED],
        [(n, *row[1:]) for n in numbers for row in block.answers if row[0] == n % PLAYED],
        [(n, *row[1:]) for n in numbers for row in block.calls if row[0] == n % PLAYED],
    )
