"""Time and memory of looking at, starting and resuming large runs: many cells, many episodes.

Makes run folders through `Store.add` with rows as language models leave them: a few episodes of
every task are played by a scripted model, with short prompts, and written again and again; and one
of 1,000,000 steps that sixteen simulated subjects play. Then runs each command as a user does, and
prints seconds, interpreter included, and peak memory. With `--before`, a file that an earlier call
wrote with `--json`, prints how many times less it takes now.

    python benchmarks/large_run.py --keep /tmp/large [--share 0.25] [--only cells] [--json now.json]
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
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from one_thread import use_one_thread

import tomeval
from tomeval.models.base import GenerateRequest, Reply, ScoreRequest, Scores, Usage
from tomeval.models.scripted import ScriptedModel
from tomeval.report.tables import render
from tomeval.runs.domain import Block, Cell, Row, get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import add_session, begin_or_resume, make_folder
from tomeval.runs.rows import Rows
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
    # 16 simulated subjects x 3 games x 2 partner sets = 96 cells
    "simulated": Size(
        {
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
        }
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


def make(folder: Path, size: Size, share: float = 1.0) -> None:
    """Make a run folder with a `share` of the episodes, and its experiment's file."""
    keys = {**size.keys, "episodes": max(1, round(share * size.keys["episodes"]))}
    if "models" not in keys:
        write(folder, keys)
        tomeval.run(keys, folder).close()
        return
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
    write(folder, keys)
    experiment = make_experiment(keys)
    domain = get_domain(experiment.domain)
    make_folder(folder)
    store = Store(folder, domain)
    begin_or_resume(store, folder, experiment.identity(), experiment.per_cell, experiment.apart)
    add_session(folder, experiment.stop_after_voids)
    played: dict[str, Rows] = {}
    for number, cell in enumerate(experiment.cells):
        key = json.dumps([word for word in cell.key if word not in keys["models"]])
        if key not in played:
            played[key] = Rows.of(number, _played(domain, cell, size.calls))
        count = experiment.per_cell
        for first in range(0, count, 1000):
            numbers = range(first, min(count, first + 1000))
            store.add(number, _repeated(played[key], number, numbers))
    store.close()


def write(folder: Path, keys: Mapping[str, Any]) -> None:
    """Write the experiment's file beside its run folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{name} = {_toml(value)}\n" for name, value in keys.items())
    folder.with_suffix(".toml").write_text("".join(lines))


def _played(domain: Any, cell: Cell, calls: bool) -> Block:
    """Play a few episodes; prompts are cut."""
    block = Block([], [])
    for episode in range(PLAYED):
        models = {seat: ScriptedModel(says) for seat in cell.models}
        found = asyncio.run(domain.play.episode(cell, episode, models, lambda: None))
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


def _repeated(rows: Rows, cell: int, numbers: range) -> Rows:
    """Return the rows of the played episodes again and again, in a cell under other numbers."""

    def again(table: list[Row]) -> list[Row]:
        of = [[row[2:] for row in table if row[1] == played] for played in range(PLAYED)]
        return [(cell, n, *rest) for n in numbers for rest in of[n % PLAYED]]

    return Rows(
        cell,
        [(n, *row[1:]) for n in numbers for row in rows.episodes if row[0] == n % PLAYED],
        again(rows.steps),
        again(rows.answers),
        again(rows.calls),
        again(rows.spent),
    )


def _toml(value: Any) -> str:
    """Return a value of an experiment as TOML."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(k)} = {_toml(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


COMMANDS = (
    ("status",),
    ("table",),
    ("table", "--metric", "tom", "--where", "game=RPS"),
    ("table", "--all"),
    ("table", "--interval", "bca"),
    ("compare", "--by", "strategy"),
    ("compare", "--by", "strategy", "--what", "mixed", "--metric", "tom"),
    ("export", "--what", "cells"),
    ("transcript",),
    ("plot",),
    ("report",),
    ("run",),
)


def timed(folder: Path, *command: str) -> dict[str, str]:
    """Run a command on a folder; return its wall and CPU seconds and peak memory."""
    on = [str(folder.with_suffix(".toml")), "--out", str(folder)]
    words = [command[0], *(on if command[0] == "run" else [str(folder)]), *command[1:]]
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "tomeval", *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"tomeval {' '.join(words)} failed")
    return {
        "wall, s": f"{time.perf_counter() - start:.2f}",
        "CPU, s": f"{used.ru_utime + used.ru_stime:.2f}",
        "peak, MiB": f"{used.ru_maxrss / 1024:.0f}",
    }


WRITTEN = {"export": "cells.csv", "plot": "pictures", "report": "report.html"}
"""Where commands write to that need to be told."""


def main() -> None:
    """Make the folders, time the commands, print the table."""
    use_one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="Keep (and use again) the run folders here.")
    parser.add_argument("--share", type=float, default=1.0, help="Share of the episodes.")
    parser.add_argument("--only", action="append", choices=SIZES, help="Repeatable; default: all.")
    parser.add_argument("--json", type=Path, help="Write what was measured to this file.")
    parser.add_argument("--before", type=Path, help="Compare with such a file.")
    options = parser.parse_args()
    before = json.loads(options.before.read_text()) if options.before else {}
    found: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as name:
        place = (options.keep or Path(name)).resolve()
        for size in options.only or SIZES:
            folder = place / size
            if not folder.exists():
                make(folder, SIZES[size], options.share)
            for command in COMMANDS:
                written = WRITTEN.get(command[0])
                more = ("-o", str(Path(name) / written)) if written else ()
                row = timed(folder, *command, *more)
                words = f"{size}: {' '.join(command)}"
                found[words] = {**row, "command": words}
                if words in before:
                    times = float(before[words]["CPU, s"]) / float(row["CPU, s"])
                    found[words]["times less"] = f"{times:.1f}"
    print(render(list(found.values())))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
