"""Shards on the command line: run, status, import, and the batch scripts of the manual."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, dump

SMALL = """
name = "small"
games = ["RPS", "IPD"]
subjects = ["rmax", "random"]
partners = "tit_for_tat"
horizon = 5
episodes = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def play(tomeval, *shards: str) -> None:
    for shard in shards:
        assert tomeval("run", "small.toml", "--shard", shard)[0] == 0


def test_shards_are_played_seen_and_joined(tomeval, here) -> None:
    code, out, errors = tomeval("run", "small.toml", "--shard", "2/3")
    assert (code, out) == (0, "")
    assert "shard 2/3: its share is 3 episodes in 1 of 4 cells\n" in errors
    assert errors.endswith("next, once all shards are played: tomeval import runs/small-*-of-3\n")
    play(tomeval, "3/3")
    code, out, _ = tomeval("status", "runs")
    assert code == 0
    assert re.search(r"^total +6 of 12 +6 missing$", out, re.MULTILINE)
    code, out, errors = tomeval("import", "runs/small-*-of-3", "--out", "some")
    assert (code, out) == (1, "some\n")
    assert "6 not played" in errors
    play(tomeval, "1/3")
    assert tomeval("import", "runs/small-*-of-3")[:2] == (0, "runs/small\n")
    tomeval("run", "small.toml", "--out", "whole")
    assert dump(here / "whole") == dump(here / "runs" / "small")
    code, out, _ = tomeval("status", "runs", "--format", "json")
    rows = json.loads(out)
    assert [row["part"] for row in rows] == ["", *(f"shard {n}/3" for n in (1, 2, 3)), ""]
    assert [row["complete"] for row in rows] == [12, 6, 3, 3, 12]
    assert rows[-1]["folder"] == "total"
    assert (rows[-1]["wanted"], rows[-1]["state"]) == (12, "finished")


def test_an_empty_shard_says_so_and_does_not_fail(tomeval, here) -> None:
    code, _, errors = tomeval("run", "small.toml", "--shard", "9/9")
    assert code == 0
    assert "shard 9/9 is empty: the experiment has no episodes for it" in " ".join(errors.split())
    play(tomeval, *(f"{n}/9" for n in range(1, 5)))
    code, out, _ = tomeval("status", "runs")
    assert re.search(r"9/9 +0 +empty", out)
    assert tomeval("import", "runs", "--out", "whole")[0] == 0


def test_bad_input_is_one_line(tomeval, here) -> None:
    play(tomeval, "1/2")

    def refused(*words: object) -> str:
        code, out, errors = tomeval(*words)
        assert (code, out) == (2, "")
        assert errors.count("\n") == 1
        return errors

    assert "shard '17/16': " in refused("run", "small.toml", "--shard", "17/16")
    assert "--out is empty" in refused("run", "small.toml", "--out", "")
    assert "no folder matches" in refused("import", "other-*", "--out", "c")
    assert "not a run folder" in refused("status", "runs/small-1-of-2", "nowhere")
    (here / "other.toml").write_text(SMALL.replace("horizon = 5", "horizon = 6"))
    assert tomeval("run", "other.toml", "--shard", "2/2")[0] == 0
    both = ("runs/small-1-of-2", "runs/small-2-of-2")
    for words in (("status", *both), ("import", *both, "--out", "c")):
        assert "cells[0].horizon is 5 there, 6 here" in refused(*words)
    assert not (here / "c").exists()


# --- the scripts of the manual --------------------------------------------------------------------


def blocks() -> list[str]:
    """Return the batch scripts in the section on shards."""
    text = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    section = text.partition("\n## Without Ray: shards\n")[2].partition("\n## ")[0]
    return re.findall(r"^```bash\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE)


def test_scripts_are_bash() -> None:
    assert len(blocks()) == 3
    for script in blocks():
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")
    array, join, _ = blocks()
    assert "#SBATCH --array=1-16\n" in array
    assert '--shard "$SLURM_ARRAY_TASK_ID/16"' in array
    assert "grid-*-of-16" in join


def on_the_path(here: Path, programs: dict[str, str]) -> dict[str, str]:
    """Return an environment in which these programs, made of bash, are found first."""
    (here / "bin").mkdir()
    for name, text in programs.items():
        (here / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (here / "bin" / name).chmod(0o755)
    return {**os.environ, "PATH": f"{here / 'bin'}:{os.environ['PATH']}"}


@pytest.mark.slow
def test_an_array_and_its_import_make_the_whole_run(tomeval, here) -> None:
    (here / "grid.toml").write_text(SMALL.replace("small", "grid"))
    programs = {
        "tomeval": f'exec {sys.executable} -m tomeval "$@"',
        # runs each task of an array, three in place of sixteen, and prints a number of the job
        "sbatch": """
for word in "$@"; do case "$word" in *.sbatch) script=$word;; esac; done
sed 's/16/3/g' "$script" > "$script.sh"
tasks=$(sed -n 's/^#SBATCH --array=1-//p' "$script.sh")
for task in $(seq 1 "${tasks:-1}"); do
  export SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$task
  bash "$script.sh" >> log 2>&1 || echo "did not work: $task" >> log
done
echo 7
""",
    }
    array, join, submit = blocks()
    (here / "shards.sbatch").write_text(array)
    (here / "join.sbatch").write_text(join)
    done = subprocess.run(
        ["bash", "-e"], input=submit, text=True, env=on_the_path(here, programs), cwd=here
    )
    assert done.returncode == 0
    log = (here / "log").read_text()
    assert "did not work" not in log
    assert sorted(p.name for p in (here / "runs").iterdir()) == [
        "grid",
        *(f"grid-{n}-of-3" for n in (1, 2, 3)),
    ]
    assert tomeval("run", "grid.toml", "--out", "alone")[0] == 0
    assert dump(here / "runs" / "grid") == dump(here / "alone")


@pytest.mark.slow
def test_a_task_whose_time_is_over_is_queued_again(here) -> None:
    array, *_ = blocks()
    programs = {
        "tomeval": 'trap "exit 143" TERM; touch started; while :; do sleep 0.1; done',
        "scontrol": 'echo "$@" > requeued',
    }
    job_of = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}
    environment = on_the_path(here, programs) | job_of
    with subprocess.Popen(["bash", "-c", array], env=environment, cwd=here) as job:
        while not (here / "started").exists():
            assert job.poll() is None
        job.terminate()
        assert job.wait(30) == 143
    assert (here / "requeued").read_text() == "requeue 7_3\n"
