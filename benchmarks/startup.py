"""Time to start: ``tomeval --help``, ``import tomeval``, and what the import pulls in.

Every figure is the median of fresh processes. Prints plain tables.

    python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from tomeval.report.tables import render

TIMES = 9
HEAVY = ("torch", "transformers", "matplotlib", "pandas", "scipy", "pydantic")
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import tomeval": ["-c", "import tomeval"],
    "import numpy": ["-c", "import numpy"],
    "tomeval --help": ["-m", "tomeval", "--help"],
    "tomeval list games": ["-m", "tomeval", "list", "games"],
}


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one fresh Python process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    rows = []
    for name, arguments in COMMANDS.items():
        seconds(arguments)  # fill the file cache
        times = [seconds(arguments) for _ in range(TIMES)]
        rows.append(
            {
                "command": name,
                "median, s": f"{statistics.median(times):.3f}",
                "fastest, s": f"{min(times):.3f}",
            }
        )
    print(render(rows))
    code = f"import sys, tomeval; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    print(f"\nof {', '.join(HEAVY)}, 'import tomeval' pulls in: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
