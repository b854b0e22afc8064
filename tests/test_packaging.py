from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
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

    assert wheel.stat().st_size <= 12e6

    # In an environment of its own, away from any source tree; what it needs comes from this one.
    home, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    venv.create(home)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "needs.pth").write_text(sysconfig.get_path("purelib"))  # behind what is installed here
    install = [sys.executable, "-m", "pip", "--python", home, "install", "--no-deps", "--no-index"]
    subprocess.run([*install, wheel], capture_output=True, timeout=100, check=True)

    def command(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [home / "bin" / "tomeval", *arguments],
            cwd=elsewhere,
            env={name: os.environ[name] for name in os.environ if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    assert command("--version").stdout == f"tomeval {tomeval.__version__}\n"
    if importlib.util.find_spec("torch"):
        done = command("run", "quickstart", "--set", "episodes=1", "--set", "horizon=2")
        assert done.returncode == 0, done.stderr
        assert (elsewhere / "runs" / "quickstart").is_dir()
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
    assert cited["version"] == tomeval.__version__ == "0.3.0"
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
