"""The tests under every supported Python, and with the lowest versions that pyproject.toml names.

Each environment is made afresh from the index that pip uses, in a folder of its own. What cannot be
tested here is reported as not tested, with the reason, and never as passed: an interpreter that is
missing, and PyTorch where only builds for CUDA are to be had (several gigabytes). Exit code 1 if a
test failed.

    python benchmarks/versions.py                # all of them
    python benchmarks/versions.py lowest 3.13 --tests tests/core
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
LOWEST = "lowest"
HEADINGS = ("environment", "Python", "numpy", "PyTorch", "passed", "failed", "skipped", "note")

_NOT_ASKED = "not asked for"
_NAMED = 5  # failed tests that a row names
_CUDA = re.compile(r"(nvidia|cuda|triton)\b")
_NEED_TORCH = re.compile(r"(torch|accelerate)\b")


@dataclass
class Outcome:
    """What became of one environment; without `python` nothing was tested."""

    name: str
    python: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""

    def cells(self) -> list[str]:
        """Return the row of the table."""
        if not self.python:
            return [self.name, "not tested", "", "", "", "", "", self.note]
        counts = [f"{count:,}" for count in (self.passed, self.failed, self.skipped)]
        packages = [self.versions.get(name, "none") for name in ("numpy", "torch")]
        return [self.name, self.python, *packages, *counts, self.note]


def interpreter(version: str) -> str | None:
    """Return the newest interpreter of a version: on the path, or one of pyenv."""
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    own = [str(path) for path in sorted(homes.glob(f"{version}.*/bin/python"))[::-1]]
    named = shutil.which(f"python{version}")
    for path in [sys.executable, *([named] if named else []), *own]:
        code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return path
    return None


class Maker:
    """Makes environments in a folder, with uv, which is installed there too."""

    def __init__(self, work: Path) -> None:
        self.work = work
        _run([sys.executable, "-m", "venv", str(work / "uv")])
        _run([str(work / "uv/bin/python"), "-m", "pip", "install", "--quiet", "uv"])
        self._uv = str(work / "uv/bin/uv")
        # uv does not read what pip is told.
        asked = [sys.executable, "-m", "pip", "config", "get", "global.find-links"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        self._links = [part for link in said.split() for part in ("--find-links", link)]

    def make(self, name: str, python: str) -> tuple[Path, dict[str, str], str]:
        """Make an environment; return its interpreter, its packages and a note on what it lacks."""
        version = PYTHONS[0] if name == LOWEST else name
        wanted = ["--resolution", "lowest-direct"] if name == LOWEST else ["-c", "constraints.txt"]
        packages, note = self._resolve(version, wanted)
        lines = self.work / f"{name}.txt"
        lines.write_text("".join(f"{k}=={v}\n" for k, v in packages.items()))
        home = self.work / name
        _run([python, "-m", "venv", str(home)])
        install = [self._uv, "pip", "install", "--quiet", "--python", str(home / "bin/python")]
        _run([*install, *self._links, "--no-deps", "-r", str(lines)])
        _run([*install, "--no-deps", "-e", str(ROOT)])
        return home / "bin/python", packages, note

    def _resolve(self, version: str, wanted: list[str]) -> tuple[dict[str, str], str]:
        found = self._compile(version, wanted)
        if not any(map(_CUDA.match, found)):
            return found, ""
        kept = {k: v for k, v in found.items() if not (_CUDA.match(k) or _NEED_TORCH.match(k))}
        return kept, "no PyTorch, whose build is for CUDA: tests that need it are skipped"

    def _compile(self, version: str, wanted: list[str]) -> dict[str, str]:
        command = [self._uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
        command += ["pyproject.toml", "--extra", "dev", "--python-version", version]
        said = _run([*command, *self._links, *wanted])
        pins = (line.partition(" ")[0] for line in said.splitlines() if "==" in line)
        return {name: version for name, _, version in (pin.partition("==") for pin in pins)}


def _run(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def play(name: str, maker: Maker, tests: list[str], processes: int) -> Outcome:
    """Test one environment."""
    version = PYTHONS[0] if name == LOWEST else name
    python = interpreter(version)
    if python is None:
        return Outcome(name, note=f"no Python {version} on the path or in pyenv")
    inside, packages, note = maker.make(name, python)
    report = maker.work / f"{name}.xml"
    command = [str(inside), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    command += ["-n", str(processes)] if processes > 1 else []
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["OMP_NUM_THREADS"] = "1"
    log = maker.work / f"{name}.log"
    with log.open("w") as out:
        subprocess.run(
            [*command, f"--junitxml={report}", *tests],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=out,
            check=False,
        )
    said = subprocess.run([str(inside), "-V"], capture_output=True, text=True, check=True).stdout
    if not report.exists():
        return Outcome(name, said.split()[1], packages, failed=1, note=f"no report, see {log}")
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    total, errors, failures, skipped = (
        int(suite.get(key, 0)) for key in ("tests", "errors", "failures", "skipped")
    )
    failed = errors + failures
    passed = total - failed - skipped
    names = [f"`{case.get('name')}`" for case in suite if case.find("failure") is not None]
    if names:
        note = "; ".join([*([note] if note else []), f"failed: {', '.join(names[:_NAMED])}"])
    return Outcome(name, said.split()[1], packages, passed, failed, skipped, note)


def table(outcomes: list[Outcome]) -> str:
    """Return a row for each environment, as Markdown."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(outcome.cells() for outcome in outcomes)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    known = (*PYTHONS, LOWEST)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(known)}; all by default")
    parser.add_argument("--tests", nargs="+", default=[], help="paths; all tests by default")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--work", type=Path, help="a folder to keep environments and logs in")
    options = parser.parse_args()
    if wrong := [name for name in options.names if name not in known]:
        parser.error(f"{wrong[0]!r} is none of {', '.join(known)}")
    start = time.monotonic()
    work = options.work or Path(tempfile.mkdtemp(prefix="versions-"))
    work.mkdir(parents=True, exist_ok=True)
    maker = Maker(work.resolve())
    outcomes = []
    for name in options.names or known:
        outcomes.append(play(name, maker, options.tests, options.processes))
        print(" | ".join(outcomes[-1].cells()), flush=True)
    outcomes += [
        Outcome(name, note=_NOT_ASKED) for name in known if name not in (options.names or known)
    ]
    print(f"{table(outcomes)}\n{(time.monotonic() - start) / 60:.0f} min")
    print(f"logs: {work}")
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
