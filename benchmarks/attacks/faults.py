"""Faults of servers: now and then, from the start, and from the middle of a run on.

A server on this machine misbehaves in one way at a time: one request in three, the first time that
it is sent; every request from the start; and every request once 40 of some 75 are answered. A
server that restarts does so once, after 25, 40 or 55 answers, and the run must get through.
Survived means: the run that met single faults has the rows of an undisturbed one; the others said
within a minute what the server does, ended with the right exit code and without a traceback, and
had those rows after the same command on a server that was well again, with no answered question
asked twice. A run that still waits after a minute and a half is interrupted. *Told after* counts
from the first fault. An attempt has 34 seconds and a request 38, so that runs end by themselves (by
default 300 and 600: what is told, and when, does not depend on them).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attacks.base import Row, contents, judged, scaled
from attacks.fault_kinds import KINDS, SCORED, WRITTEN, Kind, changed, content
from attacks.fault_server import FaultServer

SOON = 60.0
"""Seconds within which the user must be told."""

_AT_ONCE = 20
_LONGEST = 240.0  # seconds for one run

_EXPERIMENT = """\
name = "faults"
partners = "tit_for_tat"
labels = "neutral"
seed = {seed}
# Shorter than usual, so that runs end by themselves; rows depend on the options, too.
model = {{ name = "{model}", timeout = 34, retry_budget = 38 }}
"""
_MORE = {
    WRITTEN: """\
games = "IPD"
horizon = 4
episodes = 8
subjects = [{ strategy = "QA" }]
""",
    # Episodes that would be copies are played once, so there are several games.
    SCORED: """\
games = ["IPD", "RPS", "IBS"]
horizon = 10
episodes = 1
subjects = [{ strategy = "LM" }]
""",
}


Measured = tuple[object, ...]


@dataclass
class Ended:
    """How a run went."""

    code: int
    text: str
    seconds: float  # until the line that was waited for, from the fault on; inf: never
    by_itself: bool = True


def run(server: FaultServer, folder: Path, kind: Kind, seed: int, told: str = "") -> Ended:
    """Run the command; if something is to be told, stop it some time after that."""
    file = folder.with_suffix(".toml")
    file.write_text(_EXPERIMENT.format(seed=seed, model=server.model) + _MORE[kind.answers])
    command = [sys.executable, "-m", "tomeval", "run", str(file), "--out", str(folder)]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    started, fault_at, by_itself = time.monotonic(), 0.0, True
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    lines: list[tuple[float, str]] = []

    def read() -> None:
        assert process.stderr is not None
        with process.stderr as said:
            lines.extend((time.monotonic(), line) for line in said)

    reader = threading.Thread(target=read)
    reader.start()
    while process.poll() is None:
        if not fault_at and server.first_fault.is_set():
            fault_at = time.monotonic()
        since = time.monotonic() - (fault_at or started)
        if by_itself and since > (1.5 * SOON if told else _LONGEST):
            by_itself = False
            process.send_signal(signal.SIGINT)
        if since > 2 * _LONGEST:
            process.kill()
        time.sleep(0.02)
    reader.join()
    begin = fault_at or started
    told_at = [at for at, line in lines if told and at > begin - 0.1 and re.search(told, line)]
    waits = [max(0.0, at - begin) for at in told_at]
    text = "".join(line for _, line in lines)
    return Ended(process.returncode, text, min(waits, default=float("inf")), by_itself)


def measured(folder: Path) -> list[Measured]:
    """Return what a run folder holds of answers and moves."""
    return list(contents(folder).items()) if (folder / "experiment.json").exists() else []


class Trial:
    """Tries one kind of fault in three ways on a server."""

    def __init__(
        self, kind: Kind, server: FaultServer, work: Path, seed: int, expected: list[Measured]
    ) -> None:
        self.kind, self.server, self.work, self.expected = kind, server, work, expected
        self._play = partial(run, server, kind=kind, seed=seed)

    def sometimes(self) -> str:
        """One request in three is faulty at first: the run must not show it."""
        folder = self.work / "sometimes"
        self.server.behave(self.kind.fault)
        ended = self._play(folder)
        if not self.server.first_fault.is_set():
            return "no fault was met"
        return self._judge(ended, (0,), measured(folder))

    def always(self, after: int) -> tuple[str, float]:
        """Every request is faulty from some time on: it is told, and the run goes on later."""
        folder = self.work / f"after-{after}"
        run = partial(self._play, folder)
        self.server.behave(self.kind.fault, after)
        if self.kind.away and not after:
            self.server.shut()
            self.server.first_fault.set()
        ended = run(told=self.kind.told)
        if not self.kind.told:  # does no harm
            return self._judge(ended, (0,), measured(folder)), 0.0
        if ended.seconds > SOON:
            return f"told after {ended.seconds:.0f} s: {ended.text[-300:]}", ended.seconds
        # An empty reply is an answer: an episode that had ended before makes the run a whole one.
        codes = (0, 1, 2) if self.kind.like else (1, 2)
        # The server may be given up just when the run is interrupted.
        if fault := self._judge(ended, codes if ended.by_itself else (2, 130), None):
            return fault, ended.seconds
        if self.kind.like or not (folder / "episodes.jsonl").exists():
            return "", ended.seconds  # an empty reply is an answer: nothing is played again
        before = self.server.answered.copy()
        self.server.fault = None
        self.server.open()
        again = run()
        now = self.server.answered
        twice = [key for key, count in before.items() if b"game" in key and now[key] > count]
        if twice and ended.by_itself:
            return f"{len(twice)} answered questions were asked again", ended.seconds
        return self._judge(again, (0,), measured(folder)), ended.seconds

    def _judge(self, ended: Ended, codes: tuple[int, ...], found: list[Measured] | None) -> str:
        """Say what is wrong with how a run ended; empty if nothing is."""
        if "Traceback" in ended.text:
            return f"traceback: {ended.text[-400:]}"
        if ended.code not in codes:
            return f"exit code {ended.code}: {ended.text[-400:]}"
        if found is not None and found != self.expected:
            return f"{len(set(found) ^ set(self.expected))} rows differ: {ended.text[-300:]}"
        return ""

    def play(self) -> Row:
        """Try everything."""
        self.work.mkdir(parents=True)
        faults = [self.sometimes()] if self.kind.rare else []
        told = []
        for after in self.kind.after:
            fault, seconds = self.always(after)
            faults.append(fault)
            told.append(seconds)
        said_nothing = "the model said nothing: an invalid answer, never a move"
        note = said_nothing if self.kind.like and not any(faults) else ""
        return judged(self.kind.case, faults, max(told) if self.kind.told else None, note)


def _expected(server: FaultServer, work: Path, seed: int) -> dict[tuple[str, str], list[Measured]]:
    """Return what undisturbed runs measure, and one whose model says nothing where it is hit.

    Rows depend on the model's name, so on the port.
    """
    found = {}
    for answers in (WRITTEN, SCORED):
        kind = next(kind for kind in KINDS if kind.answers == answers)
        server.behave()
        ended = run(server, work / f"whole-{answers}", kind, seed)
        assert ended.code == 0, ended.text
        found[answers, ""] = measured(work / f"whole-{answers}")
    server.behave(partial(changed, content("")))
    run(server, work / "empty", KINDS[0], seed)
    found[WRITTEN, "empty"] = measured(work / "empty")
    return found


def _try_all(kinds: Sequence[Kind], work: Path, seed: int) -> list[Row]:
    """Try some kinds of fault on one server."""
    work.mkdir()
    with FaultServer() as server:
        expected = _expected(server, work, seed)
        return [
            Trial(kind, server, work / str(n), seed, expected[kind.answers, kind.like]).play()
            for n, kind in enumerate(kinds)
        ]


def play(size: float, seed: int, work: Path, kinds: Sequence[Kind] = KINDS) -> list[Row]:
    """Try every kind of fault, or some of them, evenly chosen, at a smaller size."""
    chosen = [kinds[i * len(kinds) // n] for n in [scaled(len(kinds), size)] for i in range(n)]
    shares = [chosen[slot::_AT_ONCE] for slot in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done = pool.map(
            lambda slot: _try_all(shares[slot], work / str(slot), seed) if shares[slot] else [],
            range(_AT_ONCE),
        )
        rows = {row.case: row for share in done for row in share}
    return [rows[kind.case] for kind in chosen]
