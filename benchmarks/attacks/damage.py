"""Damaged run folders: bits, blocks, ends cut off, lines and files of other times and other runs.

Copies of three run folders (matrix games with models, the same in three shards, one that was killed
in the middle) in which one to three things were changed in one file. Every copy was read by
`status`, `table`, `transcript` and `export`, line by line as the store gives it, and then played on
by the same command. Survived: an episode that is there is the one that was played; where a line is
not what was written, a warning or the one error names its file and line; what is missing counts as
not played; no command ended in a traceback; and the run that went on is whole, or was refused by
name. Lost: anything else.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from attacks.base import Row, contents, judged, scaled
from attacks.commands import call
from attacks.damages import DAMAGE, FORGED, Rng, wrong_lines
from tomeval.core.errors import TomevalError
from tomeval.models.base import GenerateRequest, ScoreRequest
from tomeval.models.scripted import SCRIPTS, Said
from tomeval.play.runner import run_experiment
from tomeval.play.schedule import Shard
from tomeval.runs.experiment import make_experiment

FULL = 1000
"""Damages at full size."""

SCRIPT = "damage attack"
SHARDS = 3

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
KINDS = ("whole", "shards", "killed")

Contents = dict[tuple[int, int], str]


def _script(request: GenerateRequest | ScoreRequest) -> Said:
    """Answer anything that is asked here, always the same way."""
    if isinstance(request, ScoreRequest):
        return [-0.7 - 0.5 * place for place in range(len(request.labels))]
    return "I take the first.\nFinal answer: J"


class Base(NamedTuple):
    """A run that is damaged.

    Attributes
    ----------
    folder, other : Path
        As it was left, and a run of the same name with another seed.
    whole : Contents
        What it holds once it is played to its end.
    """

    folder: Path
    other: Path
    whole: Contents

    def play(self, folder: Path) -> None:
        """Play what is missing, as the run did: whole, or shard by shard."""
        sharded = any(self.folder.glob("*-of-*"))
        for shard in [Shard(k, SHARDS) for k in range(1, SHARDS + 1)] if sharded else [None]:
            run_experiment(make_experiment(MATRIX), folder, shard=shard)


def _base(kind: str, work: Path) -> Base:
    """Play a run that is to be damaged: a whole one, or one as a kill leaves it."""
    played, left, other = (work / name for name in ("played", "left", "other"))
    run_experiment(make_experiment({**MATRIX, "seed": 9}), other)

    def on_steps(done: int, _: int) -> None:
        if kind == "killed" and done >= 6 * 30 and not left.exists():
            shutil.copytree(played, left)

    run_experiment(make_experiment(MATRIX), played, concurrency=3, progress=on_steps)
    if kind == "shards":
        for k in range(1, SHARDS + 1):
            run_experiment(make_experiment(MATRIX), left, shard=Shard(k, SHARDS))
    elif kind == "whole":
        shutil.copytree(played, left)
    return Base(left, other, contents(played))


def _faults(base: Base, folder: Path, file: Path) -> Iterator[str]:
    """Read a damaged copy; yield what went wrong."""
    there: Contents | None = None
    try:
        there = contents(folder)
    except TomevalError as error:
        if str(folder) not in str(error):
            yield f"the error names no file: {error}"
    for key, record in (there or {}).items():
        if record != base.whole.get(key):
            yield f"episode {key} is another one"
    for command in (
        ("status", folder),
        ("table", folder, "--what", "cells", "--format", "csv"),
        ("export", folder, "--what", "steps"),
        ("transcript", folder, "--cell", "0", "--episode", "2"),
    ):
        called = call(*command)
        if called.crash:
            yield f"{command[0]}: {called.crash[-1500:]}"
        elif there is None and not called.is_one_error:
            yield f"{command[0]}: no error: {called.code} {called.errors[-300:]}"
        elif called.code not in (0, 1, 2):
            yield f"{command[0]}: {called.code}"
        elif there and command[0] == "status":
            done = re.search(r"episodes: ([\d,]+) complete", called.out)
            if done is None or int(done[1].replace(",", "")) != len(there):
                yield f"status counts {done and done[1]} of {len(there)}"
            # a warning names the file and its first wrong line, if it has any
            wrong = wrong_lines(file.read_bytes())
            told = re.search(rf"{re.escape(str(file))}: .* line (\d+)", called.errors)
            found = [int(told[1])] if told else []
            if file.name.startswith("episodes") and wrong[:1] != found:
                yield f"wrong are the lines {wrong}, told {called.errors[-300:]!r}"


def _played_on(base: Base, folder: Path) -> Iterator[str]:
    """Play a damaged copy on; yield what went wrong."""
    try:
        with mock.patch("tomeval.runs.lines.SYNC", 1e9):
            base.play(folder)
    except TomevalError as error:
        if str(folder) not in str(error):
            yield f"refused without a name: {error}"
        return
    there = contents(folder)
    if there != base.whole:
        yield f"played on, {len(there)} of {len(base.whole)}, or others"
    left = call("status", folder)
    if left.code or "not what was written" in left.errors:
        yield f"played on, and still damaged: {left.errors[-300:]}"


def _files(folder: Path) -> dict[str, list[Path]]:
    """Return the files of a run folder by case, those that are there and not empty."""
    groups = {
        "episodes": folder.glob("episodes*.jsonl"),
        "calls": folder.glob("calls*.gz"),
        "kept replies": folder.glob("replies/*.jsonl"),
        "other files": folder.glob("*.json"),
    }
    every = {name: sorted(p for p in paths if p.stat().st_size) for name, paths in groups.items()}
    return {name: paths for name, paths in every.items() if paths}


def _attempts(base: Base, files: list[Path], work: Path, count: int, rng: Rng) -> Iterator[str]:
    """Damage so many copies of a run in some of its files; yield what went wrong in each."""
    kinds = list(DAMAGE)
    for number in range(count):
        folder = work / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base.folder, folder)
        own = files[number % len(files)].relative_to(base.folder)
        file = folder / own
        how = [kinds[number % len(kinds)]]
        if how != [FORGED]:  # whose first line must stay: nothing tells it from a forged one
            how += [str(one) for one in rng.choice(kinds[:5], int(rng.choice((0, 0, 1, 2))))]
        data = bytearray(file.read_bytes())
        twin = base.other / re.sub(r"\.\d-of-\d", "", str(own))
        for one in how:
            if data:
                DAMAGE[one](data, twin.read_bytes() if twin.exists() else bytes(data), rng)
        file.write_bytes(data)
        wrong = list(_faults(base, folder, file)) or list(_played_on(base, folder))
        yield f"{own}: {', '.join(how)}: {'; '.join(wrong)}" if wrong else ""


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Damage copies of three runs, read them with commands, and play them on."""
    rng = np.random.default_rng(seed)
    rows = []
    silent = [logging.NullHandler()]  # of what is read here; commands have handlers of their own
    with (
        mock.patch.dict(SCRIPTS, {SCRIPT: _script}),
        mock.patch.object(logging.root, "handlers", silent),
    ):
        bases = {kind: _base(kind, work / kind) for kind in KINDS}
        groups = [
            (k, base, group) for k, base in bases.items() for group in _files(base.folder).items()
        ]
        shares = Counter({"episodes": 4, "calls": 1, "kept replies": 1, "other files": 1})
        parts = sum(shares[name] for _, _, (name, _) in groups)
        for kind, base, (name, files) in groups:
            count = scaled(FULL * shares[name] / parts, size)
            rows.append(
                judged(f"{kind}: {name}", list(_attempts(base, files, work / kind, count, rng)))
            )
    return rows
