"""Damaged run folders: bits, blocks and pages that changed, ends cut off, files of other runs.

Copies of three run folders (matrix games with models, Decrypto with models, a run that was killed
in the middle) in which one to three places of one file were changed: a bit, 64 random bytes, zeros,
a page, two pages exchanged, a page of another store, or the end cut off. Every copy was read by
`status`, `table`, `compare`, `transcript`, `export`, `report` and `import`. Survived: each
command printed what it prints for the sound folder, or said which file is damaged, or read what is
left where the last episodes were lost with the log of a killed run, which are played again. Lost:
another text or number without a word, or a traceback. Then whole files were exchanged: the store,
the store with its seal, or `experiment.json` is that of another experiment of the same name or of
another domain, or `experiment.json` is missing. There every command is counted, `plot` too, and has
to say it.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from attacks.base import Row, scaled
from attacks.commands import call
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS, Said
from tomeval.runs.experiment import make_experiment
from tomeval.runs.runner import run_experiment
from tomeval.runs.store import STORE

DAMAGES = 1000
PAGE = 4096
SCRIPT = "damage attack"

MATRIX: dict[str, Any] = {
    "name": "attacked",
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
    "name": "attacked",
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
OTHERS = {"matrix": {**MATRIX, "seed": 3}, "Decrypto": {**DECRYPTO, "seed": 5}}
"""By domain an experiment of the same name whose files take the place of a run's own."""

TOLD = ("damaged", "missing", "put back the right file")
"""Words by which a command says that something is wrong with a folder that it reads."""


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
        ["import", str(folder), "--out", str(work / "merged")],
    ]


def _more_commands(folder: Path, work: Path) -> list[list[str]]:
    """Return what is read besides where files are those of other runs."""
    return [["plot", str(folder), "--out", str(work / "figures")]]


def read(command: list[str]) -> tuple[int | str, str, str]:
    """Run a command here; return its exit code (or a traceback), its output and its errors."""
    if command[0] in ("import", "plot"):
        shutil.rmtree(command[-1], ignore_errors=True)
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
    (killed / "run.pid").unlink(missing_ok=True)  # this process is alive
    yield "matrix, killed", killed


def _damage(folder: Path, file: str, other: Path, rng: np.random.Generator) -> str:
    """Damage a file once, perhaps with a page of the folder `other`; return how."""
    path = folder / file
    data = bytearray(path.read_bytes())
    kinds = ["a bit", "64 bytes", "zeros", "a page of zeros", "two pages swapped", "cut off"]
    kinds += ["a page of another run"] * (file.startswith(STORE) and (other / file).exists())
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
        twin = int(rng.integers(max(1, len(data) // PAGE))) * PAGE
        size = min(PAGE, len(data) - max(start, twin))
        one, two = data[start : start + size], data[twin : twin + size]
        data[start : start + size], data[twin : twin + size] = two, one
    elif kind == "a page of another run":
        page = (other / file).read_bytes()[start : start + PAGE][: len(data) - start]
        data[start : start + len(page)] = page
    else:
        del data[place:]
    path.write_bytes(data)
    return kind


def _files(folder: Path) -> dict[str, list[str]]:
    """Return the files of a run folder by case, those that are there and not empty."""
    groups = {
        "store": ["run.sqlite"],
        "its log": ["run.sqlite-wal"],
        "other files": ["experiment.json", "sessions.json", "run.seal"],
    }
    return {
        name: found
        for name, files in groups.items()
        if (found := [f for f in files if (folder / f).exists() and (folder / f).stat().st_size])
    }


def _outcome(
    folder: Path, commands: list[list[str]], truth: list[tuple[int | str, str, str]], what: str
) -> str:
    """Read a damaged folder; return ``equal``, ``fewer``, ``told``, ``silent`` or ``traceback``.

    ``fewer``: replies and episodes that were lost with a log are missing, and are played again.
    """
    outcomes = set()
    fewer = "log:" in what and _complete(read(commands[0])[1]) <= _complete(truth[0][1])
    for command, (before, right, _) in zip(commands, truth, strict=True):
        code, text, errors = read(command)
        if isinstance(code, str):
            print(f"{what}: {command[0]}: {code} {errors}", file=sys.stderr)
            outcomes.add("traceback")
        elif code == 2:
            outcomes.add("told" if errors.count("\n") >= 1 and str(folder) in errors else "silent")
        elif (code, text) != (before, right) and fewer:
            outcomes.add("fewer")
        elif (code, text) != (before, right) and not any(word in errors for word in TOLD):
            print(f"{what}: {command[0]}: another text, exit code {code}", file=sys.stderr)
            outcomes.add("silent")
        else:
            outcomes.add("told" if any(word in errors for word in TOLD) else "equal")
    kinds = ("traceback", "silent", "told", "fewer", "equal")
    return next(kind for kind in kinds if kind in outcomes)


def _complete(text: str) -> int:
    """Return how many complete episodes a status tells of, of a store that can be read."""
    counts = re.search(r"episodes: ([\d,]+) complete", text)
    return int(counts[1].replace(",", "")) if counts else sys.maxsize


def _swaps(domain: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield how files are exchanged: in words, for those of which run, and which files.

    No run: they are deleted. A store without the log that it needs is damage of another kind.
    """
    store = ["run.sqlite", "run.sqlite-wal"]
    for other in OTHERS:
        whose = "another experiment" if other == domain else "another domain"
        yield f"store of {whose}", other, store
        yield f"store and seal of {whose}", other, [*store, "run.seal"]
        yield f"experiment.json of {whose}", other, ["experiment.json"]
    yield "experiment.json missing", "", ["experiment.json"]
    yield "experiment.json and seal missing", "", ["experiment.json", "run.seal"]


def _exchange(work: Path, bases: list[tuple[str, Path]]) -> Iterator[Row]:
    """Put files of other runs in the place of a run's own, and read the folder."""
    for name, base in bases:
        found: Counter[str] = Counter()
        folder, domain = work / "exchanged", name.partition(",")[0]
        shutil.copytree(base, folder)
        commands = [*_commands(folder, work), *_more_commands(folder, work)]
        truth = [read(command) for command in commands]
        for how, other, files in _swaps(domain):
            shutil.rmtree(folder)
            shutil.copytree(base, folder)
            for file in files:
                (folder / file).unlink(missing_ok=True)
                if other and (work / f"other {other}" / file).exists():
                    shutil.copy(work / f"other {other}" / file, folder)
            for command, right in zip(commands, truth, strict=True):
                said = _outcome(folder, [command], [right], f"{name}, {how}")
                silent = said == "equal"
                found["silent" if silent else said] += 1
                if silent:
                    print(f"{name}, {how}: {command[0]}: nothing told", file=sys.stderr)
        shutil.rmtree(folder)
        yield _row(f"{name}: files of other runs, by command", found)


def _row(case: str, found: Counter[str]) -> Row:
    lost = found["silent"] + found["traceback"]
    note = (
        f"{found['told']} told, {found['equal']} read as before, {found['fewer']} with fewer "
        f"episodes, {found['silent']} silent, "
        f"{found['traceback']} tracebacks"
    )
    return Row(case, found.total(), lost, None, note)


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Damage copies of three runs, and read them with every command that reads."""
    rng = np.random.default_rng(seed)
    rows = []
    with mock.patch.dict(SCRIPTS, {SCRIPT: _script}):
        bases = list(_bases(work))
        for name, data in OTHERS.items():
            run_experiment(make_experiment(data), work / f"other {name}")
        groups = [(name, base, group) for name, base in bases for group in _files(base).items()]
        for name, base, (group, files) in groups:
            folder = work / "copies" / name.partition(",")[0]
            count = scaled(
                round(DAMAGES * (2 if group == "store" else 1) / (len(groups) + 3)), size
            )
            shutil.copytree(base, folder, dirs_exist_ok=False)
            commands = _commands(folder, work)
            other = work / f"other {name.partition(',')[0]}"
            truth = [read(command) for command in commands]
            # An import of it says by its exit code that the run is not finished.
            assert {code for code, _, _ in truth} <= {0, 1}, [errors for *_, errors in truth]
            found: Counter[str] = Counter()
            for number in range(count):
                shutil.rmtree(folder)
                shutil.copytree(base, folder)
                how = [
                    f"{file}: {_damage(folder, file, other, rng)}"
                    for file in rng.choice(files, int(rng.integers(1, 4)))
                ]
                found[_outcome(folder, commands, truth, f"{name}, {group}: {number} ({how})")] += 1
            shutil.rmtree(folder)
            rows.append(_row(f"{name}: {group}", found))
        rows += _exchange(work, bases)
    return rows
