"""The tests under every supported Python, and with the lowest versions that pyproject.toml names.

uv (`pip install uv`) makes each environment afresh, from the index and the links that pip uses.
What cannot be tested here is reported as not tested, with the reason, and never as passed. Exit
code 1 if a test failed.

    python benchmarks/versions.py                # all of them
    python benchmarks/versions.py lowest 3.13 --tests tests/core
    python benchmarks/versions.py --without torch accelerate    # where they are several gigabytes
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
LOWEST = "lowest"


def environment(name: str, folder: Path, without: list[str]) -> Path:
    """Make an environment in a folder; return its interpreter.

    Raises
    ------
    subprocess.CalledProcessError
        There is no such Python, or its packages cannot be had.
    """
    python, overrides = folder / "bin/python", folder.with_suffix(".txt")
    version = PYTHONS[0] if name == LOWEST else name
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    own = sorted(map(str, homes.glob(f"{version}.*/bin/python")))
    named = own[-1] if own else version
    _uv("venv", "--python-preference", "only-system", "--python", named, folder)
    overrides.write_text("".join(f"{one}; python_version < '3'\n" for one in without))
    wanted = ["--resolution", "lowest-direct"] if name == LOWEST else ["-c", "constraints.txt"]
    links = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.find-links"],
        capture_output=True,
        text=True,
        check=False,
    )
    for link in links.stdout.split():  # uv does not read what pip is told
        wanted += ["--find-links", link]
    _uv("pip", "install", "--python", python, "--override", overrides, *wanted, "-e", ".[dev]")
    return python


def _uv(*words: object) -> None:
    command = ["uv", *map(str, words), "--quiet"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)


def tested(python: Path, tests: list[str]) -> tuple[str, bool]:
    """Return the last line of pytest in an environment, and whether a test failed."""
    command = [str(python), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "not slow", *tests],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    print(*(line for line in done.stdout.splitlines() if line.startswith("FAILED")), sep="\n")
    return (done.stdout + done.stderr).strip().splitlines()[-1], done.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="|".join((*PYTHONS, LOWEST)))
    parser.add_argument("--tests", nargs="+", default=[], help="paths; all tests by default")
    parser.add_argument("--without", nargs="+", default=[], help="packages to do without")
    options = parser.parse_args()
    wrong = False
    with tempfile.TemporaryDirectory(prefix="versions-") as work:
        for name in options.names or (*PYTHONS, LOWEST):
            try:
                python = environment(name, Path(work) / name, options.without)
            except subprocess.CalledProcessError as error:
                said = " ".join(error.stderr.split())[:300]
                print(f"{name}: not tested: {said}", flush=True)
                continue
            said, failed = tested(python, options.tests)
            print(f"{name}: {said}", flush=True)
            wrong |= failed
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
