"""Runs that are killed again and again, and resumed until they are finished.

`tomeval run` is killed at a random moment between its first 20 milliseconds and its end, `status`
and `table` read the folder as it was left, and the same command resumes it, until it is finished.
Survived: no traceback, the folder could be read or said that nothing was played yet, and the rows
of the finished run equal those of an uninterrupted one. The server counts what it has answered: a
reply that it sent more than a quarter of a second before KILL, or at any time before TERM or
Ctrl-C, must not be asked for again. Told after: until the process had ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tomeval.runs.schema import unpack
from voice_server import VoiceServer

from attacks.base import Row, judged, scaled
from attacks.damage import read

KILLS = 28
"""Of every kind and signal, at full size."""

EARLY = 0.25
"""A reply that was sent so many seconds before a kill had time to be stored."""

PATIENCE = 60.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

GAMES: dict[str, Any] = {
    "games": ["RPS", "IPD"],
    "partners": ["single_action", "tit_for_tat"],
    "labels": ["neutral"],
}
KINDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "tabular, two workers": (
        {**GAMES, "subjects": ["rmax", "fictitious_play"], "horizon": 60, "episodes": 300},
        ["--workers", "2"],
    ),
    "served": (
        {
            **GAMES,
            "subjects": [{"strategy": ["QA", "CoT", "Reflexion 1", "S2A"]}],
            "horizon": 4,
            "episodes": 3,
        },
        ["--concurrency", "8"],
    ),
    "served, answers scored": (
        {**GAMES, "subjects": [{"strategy": "LM"}], "horizon": 8, "episodes": 8},
        ["--concurrency", "8"],
    ),
    "served, asides and both seats": (
        {
            **GAMES,
            "subjects": [{"strategy": ["Belief 50% (own) + CoT", "QA"], "draws": 3}],
            "partners": ["tit_for_tat", {"strategy": "CoT", "draws": 2}],
            "horizon": 3,
            "episodes": 3,
        },
        ["--concurrency", "8"],
    ),
    "Decrypto, embeddings": (
        {
            "domain": "decrypto",
            "players": {"mini": {"embedding": "minilm"}, "dice": {"kind": "random"}},
            "pairings": [{"encoder": "mini", "decoder": ["mini", "dice"], "interceptor": "mini"}],
            "episodes": 30,
        },
        [],
    ),
    "Decrypto, models": (
        {
            "domain": "decrypto",
            "players": {"llm": {"kind": "llm"}, "mini": {"embedding": "minilm"}},
            "pairings": [
                {"encoder": "mini", "decoder": "llm", "interceptor": "llm"},
                {"encoder": "llm", "decoder": "llm", "interceptor": "mini"},
            ],
            "rules": {"turns": 4},
            "episodes": 6,
        },
        ["--concurrency", "4"],
    ),
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


@dataclass
class _Tally:
    """What became of the kills of one kind by one signal."""

    kills: int = 0
    runs: int = 0
    asked_again: int = 0
    told: float = 0.0
    wrong: list[str] = field(default_factory=list)


def rows_of(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of a run's tables, without checksums and latencies."""
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        names = {
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
        tables = {
            name: sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in names - {"marks", "sums"}
        }
    tables["calls"] = [(*row[:-1], _timeless(unpack(row[-1]))) for row in tables["calls"]]
    return tables


def _timeless(record: str) -> str:
    call = json.loads(record)
    for part in ("reply", "scores"):
        call.get(part, {}).pop("latency", None)
    return json.dumps(call)


class Killer:
    """Plays one kind of run: once whole, then with kills."""

    def __init__(self, name: str, server: SlowServer, work: Path) -> None:
        data, options = KINDS[name]
        played = {*data.get("players", {}), *filter(_is_name, data.get("subjects", []))}
        model = [] if played & {"dice", "rmax"} else ["--model", server.model]
        self.name, self._server, self._work = name, server, work
        self._file = write_experiment(name, work)
        self._options = [*options, *model]
        whole = work / "whole"
        start = time.monotonic()
        done, errors = self._finish(whole)
        assert done == 0, errors
        self._seconds = time.monotonic() - start
        self._truth = rows_of(whole)
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
            process = self._start(folder)
            try:
                process.communicate(timeout=rng.uniform(0.02, self._seconds))
                break
            except subprocess.TimeoutExpired:
                moment = time.monotonic()
                process.send_signal(number)
            _, errors = process.communicate(timeout=PATIENCE)
            tally.kills += 1
            tally.told = max(tally.told, time.monotonic() - moment)
            self._judge(process.returncode, number, errors, folder, tally)
            for body, when in self._take():
                answered[body] += 1
                late[body] += number == signal.SIGKILL and when > moment - EARLY
        code, errors = self._finish(folder)
        answered.update(body for body, _ in self._take())
        if code:
            tally.wrong.append(f"could not be resumed ({code}): {errors[-500:]}")
            return
        if rows_of(folder) != self._truth:
            tally.wrong.append("rows differ")
        again = answered - self._needed
        tally.asked_again += again.total()
        if lost := (again - late).total():
            tally.wrong.append(f"{lost} replies that had arrived were asked for again")
        if read(["status", str(folder)])[0] != 0:
            tally.wrong.append("status finds damage")

    def _judge(self, code: int, number: int, errors: str, folder: Path, tally: _Tally) -> None:
        """Look at how a process ended, and whether its folder can be read as it is."""
        if "Traceback" in errors and "tomeval" in errors:
            tally.wrong.append(errors[-1500:])
        if code not in (0, -number, 128 + number):
            tally.wrong.append(f"exit code {code}: {errors[-500:]}")
        for command in ("status", "table"):
            found, _, said = read([command, str(folder)])
            begun = "nothing was played yet" in said or not any(folder.glob("*"))
            if found != 0 and not begun:
                tally.wrong.append(f"{command}: {found} {said}")

    def _take(self) -> list[tuple[str, float]]:
        """Return what the server has sent since the last look."""
        time.sleep(0.1)  # what a killed client asked for is still on its way
        sent, self._server.sent = self._server.sent, []
        return sent

    def _start(self, folder: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tomeval", "run", str(self._file)]
        return subprocess.Popen(
            [*command, "--out", str(folder), *self._options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENAI_API_KEY": "none"},
        )

    def _finish(self, folder: Path) -> tuple[int, str]:
        process = self._start(folder)
        _, errors = process.communicate(timeout=600)
        return process.returncode, errors


def _is_name(subject: Any) -> bool:
    return isinstance(subject, str)


def write_experiment(name: str, work: Path) -> Path:
    """Write one of `KINDS` as an experiment file."""
    path = work / f"{name.replace(',', '').replace(' ', '_')}.toml"
    data = {"name": "killed", "seed": 7, **KINDS[name][0]}
    lines = (f"{key} = {_toml(value)}\n" for key, value in data.items())
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
                tally = killer.kill(number, scaled(KILLS, size), rng)
                lost = tally.wrong[: tally.kills]
                attempts = [*lost, *[""] * (tally.kills - len(lost))]
                note = f"{tally.runs} runs finished; {tally.asked_again} requests asked again"
                rows.append(judged(f"{name}: {number.name}", attempts, tally.told, note))
    return rows
