"""Damaged run folders: bits, blocks, ends cut off, lines and files of other times and other runs.

Copies of four run folders (matrix games with models, the same in three shards, one that was killed
in the middle, Decrypto with models) in which one to three things were changed in one file. Every
copy was read by `status`, `table`, `transcript` and `export`, line by line as the store gives it,
and then played on by the same command. Survived: an episode that is there is the one that was
played; where a line is not what was written, a warning or the one error names its file and line;
what is missing counts as not played; no command ended in a traceback; and the run that went on is
whole, or was refused by name. Lost: anything else.
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
DECRYPTO: dict[str, Any] = {
    "domain": "decrypto",
    "name": "attacked",
    "players": {
        "llm": {"kind": "llm", "model": f"scripted:{SCRIPT}"},
        "dice": {"kind": "random"},
    },
    "pairings": [
        {"encoder": "llm", "decoder": "dice", "interceptor": "dice"},
        {"encoder": "dice", "decoder": "llm", "interceptor": "dice"},
    ],
    "episodes": 3,
    "rules": {"turns": 3},
    "seed": 4,
}
KINDS = ("matrix", "matrix, shards", "matrix, killed", "Decrypto")

Contents = dict[tuple[int, int], str]


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


class Base(NamedTuple):
    """A run that is damaged.

    Attributes
    ----------
    data : dict
        Its experiment.
    folder, other : Path
        As it was left, and a run of the same name with another seed.
    whole : Contents
        What it holds once it is played to its end.
    """

    data: dict[str, Any]
    folder: Path
    other: Path
    whole: Contents

    def play(self, folder: Path) -> None:
        """Play what is missing, as the run did: whole, or shard by shard."""
        shards = [Shard(k, SHARDS) for k in range(1, SHARDS + 1)]
        sharded = any(self.folder.glob("*-of-*"))
        for shard in shards if sharded else [None]:
            run_experiment(make_experiment(self.data), folder, shard=shard)


def _base(kind: str, work: Path) -> Base:
    """Play a run that is to be damaged: a whole one, or one as a kill leaves it."""
    data = DECRYPTO if kind == "Decrypto" else MATRIX
    played, left, other = (work / name for name in ("played", "left", "other"))
    run_experiment(make_experiment({**data, "seed": 9}), other)

    def on_steps(done: int, _: int) -> None:
        if kind.endswith("killed") and done >= 6 * 30 and not left.exists():
            shutil.copytree(played, left)

    run_experiment(make_experiment(data), played, concurrency=3, progress=on_steps)
    whole = contents(played)
    if kind.endswith("shards"):
        for k in range(1, SHARDS + 1):
            run_experiment(make_experiment(data), left, shard=Shard(k, SHARDS))
    elif not kind.endswith("killed"):
        shutil.copytree(played, left)
    return Base(data, left, other, whole)


class _Attempt:
    """One damaged copy."""

    def __init__(self, base: Base, folder: Path, file: Path, how: list[str]) -> None:
        self.base, self.folder, self.file, self.how = base, folder, file, how
        self.wrong: list[str] = []

    def judge(self) -> str:
        """Read and play on; return what went wrong, empty if nothing did."""
        there = self._there()
        for command in self._commands():
            self._read(command, there)
        if self.wrong:
            return self._said()
        self._play_on()
        return self._said()

    def _said(self) -> str:
        what = f"{self.base.folder.parent.name}: {self.file.name}: {', '.join(self.how)}"
        return f"{what}: {'; '.join(self.wrong)}" if self.wrong else ""

    def _there(self) -> Contents | None:
        """Return what a store gives; None if it says that the folder is damaged."""
        try:
            there = contents(self.folder)
        except TomevalError as error:
            if str(self.folder) not in str(error):
                self.wrong.append(f"the error names no file: {error}")
            return None
        for key, record in there.items():
            if record != self.base.whole.get(key):
                self.wrong.append(f"episode {key} is another one")
        return there

    def _commands(self) -> list[list[str]]:
        folder = str(self.folder)
        return [
            ["status", folder],
            ["table", folder, "--what", "cells", "--format", "csv"],
            ["export", folder, "--what", "steps"],
            ["transcript", folder, "--cell", "0", "--episode", "2"],
        ]

    def _read(self, command: list[str], there: Contents | None) -> None:
        """Look at what a command says of the folder."""
        called = call(*command)
        if called.crash:
            self.wrong.append(f"{command[0]}: {called.crash[-1500:]}")
        elif there is None and not called.is_one_error:
            self.wrong.append(f"{command[0]}: no error: {called.code} {called.errors[-300:]}")
        elif called.code not in (0, 1, 2):
            self.wrong.append(f"{command[0]}: {called.code}")
        elif there and command[0] == "status":
            done = re.search(r"episodes: ([\d,]+) complete", called.out)
            if done is None or int(done[1].replace(",", "")) != len(there):
                self.wrong.append(f"status counts {done and done[1]} of {len(there)}")
            if self.file.name.startswith("episodes"):
                self._told(called.errors)

    def _told(self, errors: str) -> None:
        """Check that a warning names the file and its first wrong line, if it has any."""
        wrong = wrong_lines(self.file.read_bytes())
        told = re.search(rf"{re.escape(str(self.file))}: .* line (\d+)", errors)
        if wrong[:1] != ([int(told[1])] if told else []):
            self.wrong.append(f"wrong are the lines {wrong}, told {errors[-300:]!r}")

    def _play_on(self) -> None:
        try:
            with mock.patch("tomeval.runs.lines.SYNC", 1e9):
                self.base.play(self.folder)
        except TomevalError as error:
            if str(self.folder) not in str(error):
                self.wrong.append(f"refused without a name: {error}")
            return
        there = contents(self.folder)
        if there != self.base.whole:
            self.wrong.append(f"played on, {len(there)} of {len(self.base.whole)}, or others")
        left = call("status", self.folder)
        if left.code or "not what was written" in left.errors:
            self.wrong.append(f"played on, and still damaged: {left.errors[-300:]}")


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
        yield _Attempt(base, folder, file, how).judge()


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Damage copies of four runs, read them with commands, and play them on."""
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
