"""Examples are short, and do what their page says."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest
from support import ROOT

from tomeval.runs.results import Run

SHORT = (
    *("experiments/ablation.py", "examples/slurm/shards.sbatch", "docs/examples/people.csv"),
    "examples/game/matrix/example_name.toml",
)


def test_examples_are_short() -> None:
    assert [n for n in SHORT if len((ROOT / n).read_text("utf-8").splitlines()) > 40] == []
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert len(json.loads(path.read_text(encoding="utf-8"))["cells"]) <= 25, path


def test_people_are_imported_as_the_page_says(tomeval, tmp_path, monkeypatch) -> None:
    """Of 26 points that tit for tat leaves in three rounds, Ann takes all, then 24."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").symlink_to(ROOT / "docs" / "examples" / "people.csv")
    page = (ROOT / "docs" / "recorded.md").read_text(encoding="utf-8")
    command = page.partition("    tomeval import people.csv")[2].partition("    tomeval table")[0]
    assert tomeval("import", "people.csv", *shlex.split(command.replace("\\\n", "")))[0] == 0
    with Run("runs/people") as run:
        rows = {(row["subject"], row["condition"]): row for row in run.rows()}
    assert rows["ann", "alone"]["delta_functional_per_step"] == 0
    assert rows["ann", "advised"]["delta_functional_per_step"] == pytest.approx(2 / 3)
    assert rows["cleo", "alone"]["episodes"] == 0  # a timeout ends her match


def test_a_task_of_the_array_plays_its_part(tmp_path) -> None:
    text = 'name = "grid"\ngames = "RPS"\nsubjects = "rmax"\nepisodes = 2\n'
    text += f"horizon = {list(range(1, 33))}\n"
    (tmp_path / "grid.toml").write_text(text)
    (tmp_path / "tomeval").write_text(f'#!/bin/sh\nexec {sys.executable} -m tomeval "$@"\n')
    (tmp_path / "tomeval").chmod(0o755)
    here = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    here |= {"SLURM_ARRAY_TASK_ID": "3", "SLURM_SUBMIT_DIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", ROOT / "examples" / "slurm" / "shards.sbatch"],
        env=os.environ | here,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with Run(tmp_path / "runs" / "grid") as run:
        assert sum(row["episodes"] for row in run.rows()) == 4  # two of 32 cells
