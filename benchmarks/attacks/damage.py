"""Damaged run folders: bits, blocks and pages that changed, ends that are cut off, files gone."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from attacks.base import Attack, Row, scaled
from attacks.commands import call
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS, Said
from tomeval.runs.experiment import make_experiment
from tomeval.runs.runner import run_experiment

DAMAGES = 1000
PAGE = 4096
SCRIPT = "damage attack"

MATRIX: dict[str, Any] = {
    "name": "damaged",
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "tit_for_tat"],
    "labels": ["neutral"],
    "horizon": 6,
    "episodes": 4,
    "seed": 2,
    "model": f"scripted:{SCRIPT}",
    "subjects": ["rmax", {"strategy": "CoT"}, {"strategy": "LM"}],
}
DECRYPTO: dict[str, Any] = {
    "domain": "decrypto",
    "name": "damaged",
    "players": {
        "llm": {"kind": "llm", "model": f"scripted:{SCRIPT}"},
        "mini": {"kind": "embedding", "embedding": "minilm"},
    },
    "pairings": [
        {"encoder": "llm", "decoder": "mini", "interceptor": "mini"},
        {"encoder": "mini", "decoder": "mini", "interceptor": "mini"},
    ],
    "episodes": 3,
    "rules": {"turns": 3},
    "seed": 4,
}


def _script(request: GenerateRequest | ScoreRequest) -> Said:
    """Answer anything that is asked here, always the same way."""
    if isinstance(request, ScoreRequest):
        return [-0.7 - 0.5 * place for place in range(len(request.labels))]
    asked = request.prompt.messages[-1].content
    if '"hints"' in asked:
        return 'Some words.\nFinal answer: {"hints": ["amber", "basalt", "cedar"]}'
    if '"code"' in asked:
        return 'One of many.\nFinal answer: {"code": [1, 2, 3]}'
    return "I take the first.\nFinal answer: J"


def _commands(folder: Path, work: Path) -> list[list[str]]:
    """Return what is read of every damaged folder."""
    report = str(work / "report.html")
    return [
        ["status", str(folder)],
        ["table", str(folder)],
        ["table", str(folder), "--what", "cells", "--format", "csv"],
        ["compare", str(folder)],
        ["transcript", str(folder), "--cell", "0", "--episode", "2"],
        ["export", str(folder), "--what", "steps"],
        ["export", str(folder), "--what", "episodes"],
        ["export", str(folder), "--what", "answers"],
        ["report", str(folder), "--no-figures", "--out", report],
    ]


def read(command: list[str]) -> tuple[int | str, str, str]:
    """Run a command here; return its exit code (or a traceback), its output and its errors."""
    called = call(*command)
    code, text = called.crash or called.code, called.out
    if command[0] == "report" and code == 0:
        text += Path(command[-1]).read_text(encoding="utf-8")
    return code, text, called.errors


def _bases(work: Path) -> Iterator[tuple[str, Path]]:
    """Play the runs that are damaged: whole ones, and one as a kill leaves it."""
    for name, data in (("matrix", MATRIX), ("Decrypto", DECRYPTO)):
        run_experiment(make_experiment(data), work / name)
        yield f"{name}, finished", work / name
    played, killed = work / "played", work / "killed"

    def on_steps(done: int, _: int) -> None:
        if done >= 6 * 30 and not killed.exists():
            shutil.copytree(played, killed)

    run_experiment(make_experiment(MATRIX), played, concurrency=3, progress=on_steps)
    yield "matrix, killed", killed


def _damage(folder: Path, file: str, rng: np.random.Generator) -> str:
    """Damage a file once; return how."""
    path = folder / file
    data = bytearray(path.read_bytes())
    kinds = ["a bit", "64 bytes", "zeros", "a page of zeros", "two pages swapped", "cut off"]
    kind = str(rng.choice(kinds))
    if not data:
        return "nothing"
    place = int(rng.integers(len(data)))
    start = place - place % PAGE
    if kind == "a bit":
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == "64 bytes":
        size = min(64, len(data) - place)
        data[place : place + size] = rng.bytes(size)
    elif kind == "zeros":
        size = min(int(rng.integers(1, 600)), len(data) - place)
        data[place : place + size] = bytes(size)
    elif kind == "a page of zeros":
        size = min(PAGE, len(data) - start)
        data[start : start + size] = bytes(size)
    elif kind == "two pages swapped":
        other = int(rng.integers(max(1, len(data) // PAGE))) * PAGE
        size = min(PAGE, len(data) - max(start, other))
        one, two = data[start : start + size], data[other : other + size]
        data[start : start + size], data[other : other + size] = two, one
    else:
        del data[place:]
    path.write_bytes(data)
    return kind


def _files(folder: Path) -> dict[str, list[str]]:
    """Return the files of a run folder by case, those that are there and not empty."""
    groups = {
        "store": ["run.sqlite"],
        "its log": ["run.sqlite-wal"],
        "other files": ["experiment.json", "sessions.json", "startup.json", "run.seal"],
    }
    return {
        name: found
        for name, files in groups.items()
        if (found := [f for f in files if (folder / f).exists() and (folder / f).stat().st_size])
    }


def _outcome(folder: Path, work: Path, truth: list[tuple[int | str, str, str]], what: str) -> str:
    """Read a damaged folder; return ``equal``, ``told``, ``silent`` or ``traceback``."""
    outcomes = set()
    for command, (_, right, _) in zip(_commands(folder, work), truth, strict=True):
        code, text, errors = read(command)
        if isinstance(code, str) or code not in (0, 2):
            print(f"{what}: {command[0]}: {code} {errors}", file=sys.stderr)
            outcomes.add("traceback")
        elif code == 2:
            outcomes.add("told" if errors.count("\n") >= 1 and str(folder) in errors else "silent")
        elif text != right and "damaged" not in errors:
            print(f"{what}: {command[0]}: another text", file=sys.stderr)
            outcomes.add("silent")
        else:
            outcomes.add("told" if "damaged" in errors else "equal")
    return next(kind for kind in ("traceback", "silent", "told", "equal") if kind in outcomes)


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Damage copies of three runs, and read them with every command that reads."""
    rng = np.random.default_rng(seed)
    rows = []
    with mock.patch.dict(SCRIPTS, {SCRIPT: _script}):
        bases = list(_bases(work))
        groups = [(name, base, group) for name, base in bases for group in _files(base).items()]
        for name, base, (group, files) in groups:
            folder = work / "damaged" / name.partition(",")[0]
            count = scaled(
                round(DAMAGES * (2 if group == "store" else 1) / (len(groups) + 3)), size
            )
            shutil.copytree(base, folder, dirs_exist_ok=False)
            truth = [read(command) for command in _commands(folder, work)]
            assert {code for code, _, _ in truth} == {0}, [errors for *_, errors in truth]
            found: Counter[str] = Counter()
            for number in range(count):
                shutil.rmtree(folder)
                shutil.copytree(base, folder)
                how = [
                    f"{file}: {_damage(folder, file, rng)}"
                    for file in rng.choice(files, int(rng.integers(1, 4)))
                ]
                found[_outcome(folder, work, truth, f"{name}, {number} ({how})")] += 1
            shutil.rmtree(folder)
            lost = found["silent"] + found["traceback"]
            note = (
                f"{found['told']} told, {found['equal']} read as before, {found['silent']} silent, "
                f"{found['traceback']} tracebacks"
            )
            rows.append(Row(f"{name}: {group}", count, count - lost, lost, None, note))
    return rows


ATTACK = Attack(
    "Damage",
    "Copies of three run folders (matrix games with models, Decrypto with models, a run that was "
    "killed in the middle) in which one to three places of one file were changed: a bit, 64 random "
    "bytes, zeros, a page, two pages swapped, or the end cut off. Every copy was read by `status`, "
    "`table`, `compare`, `transcript`, `export` and `report`. Survived: each command printed what "
    "it prints for the sound folder, or said which file is damaged. Lost: another text or number "
    "without a word, or a traceback.",
    play,
)
