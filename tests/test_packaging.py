from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest
from support import ROOT

from tomeval.core.resources import shipped
from tomeval.domains.matrix.partner_files import partner_names


def test_the_wheel_carries_its_data(tmp_path) -> None:
    pytest.importorskip("hatchling")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for folder in ("partners", "experiments", "prompts", "examples"):
        for path in _files(ROOT / folder):
            assert f"tomeval/_data/{path.relative_to(ROOT)}" in names
    for path in _files(ROOT / "tomeval"):
        assert str(path.relative_to(ROOT)) in names
    assert not [name for name in names if "__pycache__" in name]
    assert not [name for name in names if name.startswith(("tests/", "docs/"))]

    # what is in the wheel works without the source tree
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import tomeval\n"
        "from tomeval.core.resources import shipped\n"
        "assert tomeval.__file__.startswith(sys.argv[1]), tomeval.__file__\n"
        "assert str(shipped('partners')).startswith(sys.argv[1])\n"
        "print(tomeval.get_partner('grim_trigger', tomeval.get_game('IPD')).title)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(unpacked)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("Grim trigger"), done.stderr

    # ... and so do commands that name what ships, away from any source tree
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def command(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "tomeval", *arguments],
            cwd=elsewhere,
            env={**os.environ, "PYTHONPATH": str(unpacked)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert command("audit", "reported_results").returncode == 1  # one row cannot be true
    done = command("plan", "known_players", "--set", "horizon=0")
    assert done.stderr.startswith("tomeval: known_players: horizon: "), done.stderr
    assert "site-packages" not in done.stderr
    assert command("init", "experiment", "mine").returncode == 0
    done = command("run", "mine.toml", "--set", "episodes=2")
    assert done.returncode == 0, done.stderr
    done = command("table", "runs/mine", "--against", "reported_results", "--format", "csv")
    assert done.returncode == 0, done.stderr


def _files(folder):
    return [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def test_source_tree_finds_its_data() -> None:
    assert shipped("partners").is_dir()
    assert len(partner_names()) >= 14
