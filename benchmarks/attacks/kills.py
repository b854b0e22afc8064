"""Runs that are killed again and again, and resumed until they are finished.

`tomeval run` is killed at a random moment between its first 20 milliseconds and its end, `status`
and `table` read the folder as it was left, and the same command resumes it, until it is finished.
Shards are three such processes in one folder, killed together. Survived: no traceback, the folder
could be read or said that nothing was played yet, and the episodes of the finished run and their
calls equal those of an uninterrupted one. The server counts what it has answered: a reply that it
sent more than a quarter of a second before KILL, or at any time before TERM or Ctrl-C, must not be
asked for again. Told after: until the process had ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

from voice_server import VoiceServer

from attacks.base import Row, contents, judged, scaled
from attacks.commands import call

FULL = 1000
"""Kills at full size."""

EARLY = 0.25
"""A reply that was sent so many seconds before a kill had time to be stored."""

PATIENCE = 60.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

GAMES: dict[str, Any] = {
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "tit_for_tat"],
    "labels": ["neutral"],
}
TABULAR = {**GAMES, "subjects": ["rmax", "fictitious_play"], "horizon": 40, "episodes": 100}
SERVED = {
    **GAMES,
    "subjects": [{"strategy": ["QA", "CoT", "Reflexion 1", "S2A", "LM"]}],
    "horizon": 4,
    "episodes": 3,
}
EVERYTHING = ("",)
SHARDS = tuple(f"{number}/3" for number in (1, 2, 3))


class Kind(NamedTuple):
    """A kind of run: its experiment, options of the command, and the shards it is played in."""

    data: dict[str, Any]
    options: Sequence[str] = ()
    shards: Sequence[str] = EVERYTHING


KINDS: dict[str, Kind] = {
    "local": Kind(TABULAR),
    "two workers": Kind(TABULAR, ["--workers", "2"]),
    "local, three shards in one folder": Kind(TABULAR, [], SHARDS),
    "served": Kind(SERVED, ["--concurrency", "8"]),
    "served, three shards in one folder": Kind(SERVED, ["--concurrency", "4"], SHARDS),
}


class SlowServer(VoiceServer):
    """A server that takes its time, and notes what it has answered, and when."""

    def __init__(self) -> None:
        super().__init__("terse")
        self.sent: list[tuple[str, float]] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Start, without a word about clients that were killed."""
        super().__enter__()
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]
        return self

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer after 5 to 60 ms, the same time for the same request."""
        text = json.dumps(body, sort_keys=True)
        digest = hashlib.sha256(text.encode()).digest()
        answer = super().chat(body)
        time.sleep(0.005 + 0.055 * digest[0] / 255)
        with self._lock:
            if " game" not in text:  # what a session asks of the server itself
                return answer
            self.sent.append((digest.hex(), time.monotonic()))
        return answer


class Command:
    """A `tomeval run` in a process of its own."""

    def __init__(self, file: Path, folder: Path, options: Sequence[str]) -> None:
        words = [sys.executable, "-m", "tomeval", "run", str(file), "--out", str(folder)]
        self.process = subprocess.Popen(
            [*words, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENAI_API_KEY": "none", "OMP_NUM_THREADS": "1"},
        )

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def end(self, seconds: float) -> tuple[int, str]:
        """Wait for it; return its exit code and what it said on standard error."""
        try:
            _, said = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return 99, f"it did not end within {seconds} s: {self.process.communicate()[1]}"
        return self.process.returncode, said


@dataclass
class _Tally:
    """What became of the kills of one kind by one signal."""

    kills: int = 0
    runs: int = 0
    asked_again: int = 0
    told: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Killer:
    """Plays one kind of run: once whole, then with kills."""

    def __init__(self, name: str, server: SlowServer, work: Path) -> None:
        self.name, self._server, self._work = name, server, work
        self._file = write_experiment(KINDS[name].data, work / f"{len(name)}{name[:5]}.toml")
        self._truth: dict[tuple[int, int], str] = {}
        whole = work / "whole"
        start = time.monotonic()
        codes, errors = self._finish(whole)
        assert codes == {0}, errors
        self._seconds = time.monotonic() - start
        self._truth = contents(whole, calls=True)
        self._needed = Counter(body for body, _ in self._take())
        shutil.rmtree(whole)

    def kill(self, number: int, kills: int, rng: random.Random) -> _Tally:
        """Kill runs until there were so many kills; every run is finished and compared."""
        tally = _Tally()
        while tally.kills < kills:
            folder = self._work / "killed"
            self._one(folder, number, kills, tally, rng)
            shutil.rmtree(folder, ignore_errors=True)
            tally.runs += 1
        return tally

    def _one(
        self, folder: Path, number: int, kills: int, tally: _Tally, rng: random.Random
    ) -> None:
        """Kill and resume one run until it is finished, and compare it."""
        late: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        while tally.kills < kills:
            commands = self._start(folder)
            until = time.monotonic() + rng.uniform(0.02, self._seconds)
            while time.monotonic() < until and any(command.alive for command in commands):
                time.sleep(0.005)
            moment = time.monotonic()
            alive = [command for command in commands if command.alive]
            for command in alive:
                command.process.send_signal(number)
            ends = [command.end(PATIENCE) for command in commands]
            tally.kills += len(alive)
            tally.told = max(tally.told, time.monotonic() - moment)
            self._judge(ends, number, folder, tally)
            for body, when in self._take():
                answered[body] += 1
                late[body] += number == signal.SIGKILL and when > moment - EARLY
            if not alive:
                break
        codes, errors = self._finish(folder)
        answered.update(body for body, _ in self._take())
        if codes != {0}:
            tally.wrong.append(f"could not be resumed {codes}: {errors[-500:]}")
            return
        if contents(folder, calls=True) != self._truth:
            tally.wrong.append("rows differ")
        again = answered - self._needed
        tally.asked_again += again.total()
        if lost := (again - late).total():
            tally.wrong.append(f"{lost} replies that had arrived were asked for again")
        if left := [path.name for path in folder.glob("replies*")]:
            tally.wrong.append(f"{left} remain")

    def _judge(self, ends: list[tuple[int, str]], number: int, folder: Path, tally: _Tally) -> None:
        """Look at how processes ended, and whether their folder can be read as it is."""
        for code, errors in ends:
            if "Traceback" in errors and "tomeval/cli" in errors:  # not while Python starts
                tally.wrong.append(errors[-1500:])
            early = "Traceback" in errors and code == 1  # before there was a command
            if not early and code not in (0, -number, 128 + number):
                tally.wrong.append(f"exit code {code}: {errors[-500:]}")
        for command in ("status", "table"):
            called = call(command, folder)
            begun = "nothing was played yet" in called.errors or not any(folder.glob("*.json"))
            if called.crash or (called.code and not begun):
                tally.wrong.append(f"{command}: {called.code} {called.errors} {called.crash}")
            if "not what was written" in called.errors:
                tally.wrong.append(f"{command} finds damage: {called.errors}")

    def _take(self) -> list[tuple[str, float]]:
        """Return what the server has sent since the last look."""
        time.sleep(0.1)  # what a killed client asked for is still on its way
        sent, self._server.sent = self._server.sent, []
        return sent

    def _start(self, folder: Path) -> list[Command]:
        options = [*KINDS[self.name].options]
        options += [] if KINDS[self.name].data is TABULAR else ["--model", self._server.model]
        shards = KINDS[self.name].shards
        return [
            Command(self._file, folder, [*options, *(["--shard", one] if one else [])])
            for one in shards
        ]

    def _finish(self, folder: Path) -> tuple[set[int], str]:
        ends = [command.end(600) for command in self._start(folder)]
        return {code for code, _ in ends}, "".join(errors for _, errors in ends)


def write_experiment(data: dict[str, Any], path: Path) -> Path:
    """Write an experiment as a file."""
    lines = (f"{key} = {_toml(value)}\n" for key, value in {"name": "killed", **data}.items())
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _toml(value: Any) -> str:
    """Return a value as TOML, in which JSON's texts, numbers and lists are written alike."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(item)}" for name, item in value.items()) + "}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


def play(size: float, seed: int, work: Path) -> list[Row]:
    """Kill every kind of run by every signal, at moments drawn from a seed."""
    rng = random.Random(seed)
    rows = []
    with SlowServer() as server:
        for name in KINDS:
            killer = Killer(name, server, work)
            for number in SIGNALS:
                kills = scaled(FULL / len(KINDS) / len(SIGNALS), size)
                tally = killer.kill(number, kills, rng)
                lost = tally.wrong[: tally.kills]
                attempts = [*lost, *[""] * (tally.kills - len(lost))]
                note = f"{tally.runs} runs finished; {tally.asked_again} requests asked again"
                rows.append(judged(f"{name}: {number.name}", attempts, tally.told, note))
    return rows
