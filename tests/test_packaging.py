from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import ROOT

import tomeval


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
    assert "tomeval/py.typed" in names  # else types reach nobody who uses the package
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


def test_the_version_is_said_once_and_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "tomeval/__init__.py"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == tomeval.__version__ == "0.2.0"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.findall(r"^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", changes, re.MULTILINE)
    assert dated[:1] in ([], [tomeval.__version__])  # none before the first release


BASE_MEGABYTES = 500


def test_the_base_install_is_light() -> None:
    """Every file of tomeval and of all that it needs without an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting, sizes = list(project["dependencies"]), {}
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        if name in sizes or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        found = importlib.metadata.distribution(name)
        files = [Path(str(found.locate_file(path))) for path in found.files or ()]
        sizes[name] = sum(p.stat().st_size for p in files if p.is_file() and p.suffix != ".pyc")
        waiting += found.requires or []
    sizes["tomeval"] = sum(path.stat().st_size for path in _files(ROOT / "tomeval"))
    sizes["data"] = sum(
        path.stat().st_size
        for name in ("partners", "experiments", "prompts", "examples")
        for path in _files(ROOT / name)
    )
    assert {"numpy", "pandas", "matplotlib", "statsmodels"} < set(sizes)
    assert not {"torch", "transformers", "huggingface-hub"} & set(sizes)
    assert sum(sizes.values()) / 1e6 < BASE_MEGABYTES, sizes
