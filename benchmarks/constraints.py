"""Whether every extra can be installed with the versions of constraints.txt.

pip resolves each extra by itself and installs nothing. Exit code 1 if one does not resolve.

    python benchmarks/constraints.py             # all of them
    python benchmarks/constraints.py inspect hub
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def extras() -> list[str]:
    """Return the names of the extras in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"])


def fault(extra: str) -> str:
    """Return why pip cannot resolve an extra; empty if it can."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
    command += ["--disable-pip-version-check", "-c", "constraints.txt", f".[{extra}]"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return "" if done.returncode == 0 else "\n".join(errors) or f"exit code {done.returncode}"


def main() -> int:
    faults = 0
    for extra in sys.argv[1:] or extras():
        why = fault(extra)
        faults += bool(why)
        print(f"{extra}: {why or 'resolves'}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
