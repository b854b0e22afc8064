"""Small runs of every game against programs that share no code with them; see the package."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from known import drawn
from support import ROOT, scripts

import tomeval
from tomeval.report.exporting import export
from tomeval.report.tables import data

CLOSE = 1e-9
MATRIX = {
    "tabular": {
        "games": ["RPS", "IBS", "IPD", "chicken", "stag_hunt"],
        "partners": [
            *("single_action", "tit_for_tat", "uniform_random", "win_stay_lose_shift"),
            "noisy_tit_for_tat",
        ],
        "subjects": [
            *("rmax", "random", "fictitious_play"),
            {"kind": "simulated", "p": 0.8, "q": 0.6},
        ],
    },
    "models": {
        "games": "IPD",
        "partners": ["grim_trigger", "noisy_tit_for_tat"],
        "subjects": [{"strategy": ["QA", "LM"], "max_attempts": 2}, "random"],
        "model": "scripted:drawn",
    },
}
GREEDY = {"embedding": "minilm", "matching": "greedy"}
DECRYPTO = {
    "domain": "decrypto",
    "players": {"s": {"model": "scripted:decrypto"}, "minilm": GREEDY},
    "pairings": [
        {"encoder": ["s", "minilm"], "decoder": "minilm", "interceptor": "minilm"},
        {"encoder": "s", "decoder": "s", "interceptor": "s"},
    ],
    "best_turn": True,
    "probes": dict.fromkeys(("eve", "eve_reminded", "bob", "beliefs", "beliefs_in_view"), True),
    "episodes": 8,
}
FEW = {0: 18, 1: 6, 2: 1, 3: 24}  # games of the arena's line-ups, so that all tables have numbers
WITHOUT = {"delta_tom_planned_per_step"}


def guesses(request) -> str:
    """Predict and decide at random, so that acts follow what was stated now and then."""
    rng, text = np.random.default_rng(request.seed), request.prompt.messages[-1].content
    key = re.findall(r'\{"(\w+)": \[', text)[-1]
    moves = [str(rng.choice(["cooperate", "defect"])) for _ in range(2)]
    items = {
        "message": ["Hello."],
        "moves": moves,
        "move": moves[:1],
        "answer": [str(rng.choice(["yes", "no"]))],
        "allocation": [[8, 8, 4], [4, 8, 8], [7, 7, 6], [9, 2, 9]][rng.integers(4)],
    }[key]
    return f"Final answer: {json.dumps({key: items})}"


def written(run, folder: Path) -> Path:
    """Write exports and the table of all measures as the programs read them."""
    folder.mkdir()
    for what in ("steps", "episodes", "answers"):
        export(run, "csv", what, folder / f"{what}.csv")
    (folder / "all.csv").write_text(data(run.rows(), "csv"), encoding="utf-8")
    shutil.copy(run.folder / "experiment.json", folder)
    return folder


def differences(program: str, folder: Path) -> dict[str, tuple[float, int]]:
    """Run a program where tomeval cannot be imported; return differences and counts by name."""
    code = (
        "import runpy, sys; sys.modules['tomeval'] = None; sys.argv = sys.argv[1:]; "
        f"runpy.run_module('recomputed.{program}', run_name='__main__')"
    )
    command = [sys.executable, "-c", code, program, folder]
    done = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    found = [line.replace(": ", " of ").split(" of ") for line in done.stdout.splitlines()]
    return {name: (float(most), int(count)) for name, most, count in found}


def check(run, program: str, folder: Path, without=frozenset(), empty=()) -> None:
    """Compare all measures but some; but for the `empty` ones each must have numbers."""
    found = differences(program, folder)
    assert {name: one for name, one in found.items() if one[0] > CLOSE} == {}
    assert set(run.measures) - set(found) == without
    assert [name for name, (_, count) in found.items() if not count] == [*empty]


@pytest.mark.parametrize("name", MATRIX)
def test_matrix_games(tmp_path, name) -> None:
    experiment = {"horizon": 12, "episodes": 7, "on_invalid": "void", **MATRIX[name]}
    with scripts(drawn=drawn), tomeval.run(experiment, tmp_path / "run", go_on=True) as run:
        empty = ["uses_percent"] if name == "models" else []  # nothing to see in the dilemma
        check(run, "matrix", written(run, tmp_path / "export"), WITHOUT, empty)


@pytest.mark.parametrize(
    ("name", "episodes", "empty"),
    [("smollm2", 15, ()), ("smollm2_reasoning", 5, ("log_loss", "brier_score"))],
)
def test_the_shipped_runs_of_a_model_that_people_know(tmp_path, name, episodes, empty) -> None:
    with tomeval.Run(name) as run:
        check(run, "matrix", written(run, tmp_path / "export"), WITHOUT, empty)
        assert {row["episodes"] for row in run.rows()} == {episodes}


def test_decrypto(tmp_path) -> None:
    with tomeval.run(DECRYPTO, tmp_path / "run") as run:
        check(run, "decrypto", written(run, tmp_path / "export"))


@pytest.mark.parametrize(
    "few", [FEW, pytest.param({}, marks=pytest.mark.slow)], ids=["few games", "all games"]
)
def test_arena(tmp_path, few) -> None:
    experiment = tomllib.loads((ROOT / "experiments" / "arena_quickstart.toml").read_text("utf-8"))
    experiment["players"]["model"] = {"model": "scripted:guesses"}
    for place, lineup in enumerate(experiment["lineups"]):
        lineup["episodes"] = few.get(place, lineup.get("episodes", 60))
        lineup["subject"] += ["model"] * (lineup["game"] in ("dilemma", "blotto"))
    with scripts(guesses=guesses), tomeval.run(experiment, tmp_path / "run") as run:
        folder = written(run, tmp_path / "export")
        boards = []
        for cell in run.cells:
            if cell.columns["game"] == "codenames":
                for episode in cell.episodes.tolist():
                    boards.append(f"# {cell.number} {episode}")
                    boards += [line.text for line in cell.lines(episode)]
        (folder / "boards.txt").write_text("\n".join(boards), encoding="utf-8")
        for name in ("ratings", "errors"):
            rows = run.table_of(name).rows(run, ())
            (folder / f"{name}.csv").write_text(data(rows, "csv"), encoding="utf-8")
        check(run, "arena", folder, empty=["brier_score", "brier_above_observer"])


def test_programs_import_nothing_of_tomeval() -> None:
    for path in Path(__file__).parent.glob("*.py"):
        if not path.name.startswith("test_"):
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            imported = [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
            assert not [name for name in imported if name.startswith("tomeval")], path
            assert "import tomeval" not in path.read_text(encoding="utf-8"), path
