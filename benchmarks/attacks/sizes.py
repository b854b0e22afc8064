"""Runs of thousands of cells, and whether every command that reads them stays fast and small.

Each command runs in a fresh process. Seconds are of CPU time, user and system together, those of
its own processes included: wall time depends on what else the machine does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attacks.base import Attack, Row, scaled

SECONDS, MIB = 10.0, 500.0
"""What a command may take: CPU seconds, and the most memory that it holds at a time."""

_METRIC = "delta_functional_per_step"
_SUBJECTS = """[
  "rmax", "fictitious_play", "random",
  { kind = "simulated", p = 0.7, q = 0.5 }, { kind = "simulated", p = 0.9, q = 0.9 },
]"""


class Used(NamedTuple):
    """What a command took: CPU seconds and MiB, its exit code, and what it said of errors."""

    seconds: float
    mib: float
    code: int
    errors: str


_BETWEEN = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, spent = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([spent.ru_utime + spent.ru_stime, spent.ru_maxrss, process.returncode]))
"""


def used(arguments: list[str]) -> Used:
    """Run a command of tomeval in a fresh process; what it prints is thrown away.

    A small process stands between: Linux counts what the process that starts another one holds into
    the peak of the new one.
    """
    command = [sys.executable, "-m", "tomeval", *arguments]
    between = subprocess.run(
        [sys.executable, "-S", "-c", _BETWEEN, *command],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    )
    seconds, most, code = json.loads(between.stdout)
    mib = most / (2**20 if sys.platform == "darwin" else 2**10)
    return Used(seconds, mib, code, between.stderr.strip())


def matrix_run(work: Path, games: int, horizon: int, episodes: int, seed: int) -> Path:
    """Play five subjects in random games against two sets of partners; return the run folder."""
    work.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    names = []
    for number in range(games):
        payoffs = rng.integers(-20, 21, size=(2, 2, 2)).tolist()
        text = f'name = "game_{number:04}"\npayoffs = {payoffs}\n[labels]\nletters = ["A", "B"]\n'
        (work / f"{number:04}.toml").write_text(text, encoding="utf-8")
        names.append(f"{number:04}.toml")
    keys = f'games = {names}\npartners = ["single_action", "tit_for_tat"]\nsubjects = {_SUBJECTS}\n'
    return _run(work, f"{keys}horizon = {horizon}\nepisodes = {episodes}\nseed = {seed}\n")


def decrypto_run(work: Path, seeds: int, episodes: int, seed: int) -> Path:
    """Play two players in every seat, eight cells for each of some seeds; return the run folder."""
    work.mkdir(parents=True)
    players = "".join(
        f'[players.{name}]\nembedding = "{name}"\nmatching = "greedy"\n'
        for name in ("minilm", "wordnet")
    )
    pairings = '[[pairings]]\nencoder = "all"\ndecoder = "all"\ninterceptor = "all"\n'
    keys = f'domain = "decrypto"\nepisodes = {episodes}\nseed = {list(range(seed, seed + seeds))}\n'
    return _run(work, keys + players + pairings)


def _run(work: Path, text: str) -> Path:
    (work / "sizes.toml").write_text(f'name = "sizes"\n{text}', encoding="utf-8")
    played = used(["run", str(work / "sizes.toml"), "--out", str(work / "run")])
    if played.code:
        raise RuntimeError(f"the run could not be played: {played.errors}")
    return work / "run"


def commands(run: Path, by: str, metric: str = _METRIC) -> dict[str, list[str]]:
    """Return the commands that read a run, by what the page calls them."""
    folder, page = str(run), str(run.parent / "report.html")
    compared = ["compare", folder, "--by", by]
    return {
        "status": ["status", folder],
        "table": ["table", folder, "--what", "cells"],
        "compare": compared,
        "compare --what mixed": [*compared, "--what", "mixed", "--metric", metric],
        "power": ["power", folder, "--by", by, "--metric", metric, "--difference", "1"],
        "report --no-figures": ["report", folder, "--no-figures", "-o", page],
        "export --what episodes": ["export", folder, "--what", "episodes"],
    }


def matrix_commands(run: Path) -> dict[str, list[str]]:
    """Return those of `commands`, and those that need scores, parts or many games."""
    folder = str(run)
    compared = ["compare", folder, "--by", "subject"]
    page = str(run.parent / "report.html")
    return {
        **commands(run, "subject"),
        "compare --what iqm": [*compared, "--what", "iqm", "--score", "tom"],
        "compare --what profiles": [*compared, "--what", "profiles", "--score", "tom"],
        "compare --what shares": [*compared, "--what", "shares"],
        "compare --what correlation": ["compare", folder, "--what", "correlation"],
        "report --only profiles": ["report", folder, "--only", "profiles", "-o", page],
    }


def judged(case: str, reads: dict[str, list[str]]) -> Row:
    """Run commands one after the other and count those within both limits."""
    found = {name: used(arguments) for name, arguments in reads.items()}
    good = [name for name, one in found.items() if _within(one)]
    slowest = max(found, key=lambda name: found[name].seconds)
    largest = max(found, key=lambda name: found[name].mib)
    failed = [f"{name}: {one.errors[-200:]}" for name, one in found.items() if one.code]
    over = [
        f"{name} {found[name].seconds:.1f} s, {found[name].mib:.0f} MiB"
        for name in found
        if name not in good and not found[name].code
    ]
    told, memory = found[slowest].seconds, f"{found[largest].mib:.0f} MiB"
    if len(found) > 1:
        memory = f"slowest: {slowest}; most memory: {memory} ({largest})"
    note = "; ".join([memory, *(f"over: {text}" for text in over), *failed])
    return Row(case, len(found), len(good), len(found) - len(good), told, note)


def _within(one: Used) -> bool:
    return one.code == 0 and one.seconds < SECONDS and one.mib < MIB


def _play(size: float, seed: int, work: Path) -> list[Row]:
    games = scaled(500, size)
    many = matrix_run(work / "many", games, 5, 2, seed)
    rows = [
        judged(f"matrix, {10 * games:,} cells × 2 episodes: {name}", {name: arguments})
        for name, arguments in matrix_commands(many).items()
    ]
    games = scaled(20, size)
    long = matrix_run(work / "long", games, 10, scaled(500, size), seed)
    case = f"matrix, {10 * games:,} cells × {scaled(500, size):,} episodes: all of these"
    rows.append(judged(case, matrix_commands(long)))
    seeds = scaled(125, size)
    spoken = decrypto_run(work / "decrypto", seeds, 2, seed)
    reads = commands(spoken, "encoder", "interception_percent")
    rows.append(judged(f"Decrypto, {8 * seeds:,} cells × 2 games: commands of any domain", reads))
    return rows


ATTACK = Attack(
    "Size",
    "Runs of thousands of cells: random games, two sets of partners, five subjects that need no "
    "model; Decrypto with two embedding players in every seat. Every command runs in a fresh "
    f"process. Survived: below {SECONDS:g} CPU seconds (user and system, in the column of seconds) "
    f"and below {MIB:g} MiB at its peak. Playing the runs is not counted.",
    _play,
)
