"""Tables and ratings of ``arena_quickstart`` against a program that shares no code with them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT

import tomeval
from tomeval.games.arena.replaying import game_lines
from tomeval.games.arena.tables import result_rows
from tomeval.report.exporting import export_run
from tomeval.report.tables import render
from tomeval.runs.experiment import load_experiment

CLOSE = 1e-8

FEW = {0: 18, 1: 6, 2: 1, 3: 24}
"""Games of the line-ups of a first look: enough for every table to have numbers."""


def written(run, folder):
    """Write exports, boards and tables as the program reads them."""
    folder.mkdir()
    for what in ("steps", "episodes"):
        export_run(run, what, "csv", folder / f"{what}.csv")
    boards = []
    for cell in run.cells:
        if cell.columns["game"] == "codenames":
            for episode in cell.episodes.tolist():
                boards.append(f"# {cell.number} {episode}")
                boards += [line.text for line in game_lines(run, cell, episode)]
    (folder / "boards.txt").write_text("\n".join(boards), encoding="utf-8")
    tables = {"results": result_rows(run, ()), "all": run.rows()}
    tables |= {name: run.table_of(name).rows(run, ()) for name in ("ratings", "errors")}
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text(render(rows, "csv"), encoding="utf-8")


def differences(folder):
    """Run the program where tomeval cannot be imported."""
    code = (
        "import runpy, sys; sys.modules['tomeval'] = None; sys.argv = sys.argv[1:]; "
        "runpy.run_module('games.arena.recomputed', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "recomputed", folder],
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return {name: float(off) for name, off in (x.split(": ") for x in done.stdout.splitlines())}


@pytest.mark.parametrize(
    "few", [FEW, pytest.param({}, marks=pytest.mark.slow)], ids=["few games", "all games"]
)
def test_a_second_program_agrees(tmp_path, few):
    sets = [f"lineups.{place}.episodes={count}" for place, count in few.items()]
    with tomeval.run(load_experiment("arena_quickstart", sets), tmp_path / "run") as run:
        written(run, tmp_path / "export")
    found = differences(tmp_path / "export")
    assert set(found) == {"decisions", "all", "results", "ratings", "errors"}
    assert max(found.values()) < CLOSE, found
