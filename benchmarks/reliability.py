"""What breaks under attack: kills, damage, faults of servers, and how often.

Every attack is a module of `attacks/`. Prints what came of each for its section of
docs/reliability.md, and a row for each kind. Exit code 1 if anything was lost.

    python benchmarks/reliability.py damage kills --count 60
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
from pathlib import Path

from attacks.base import Row

from tomeval.report.rows import grid_of
from tomeval.report.tables import set_grid

ATTACKS = ("caps", "damage", "disks", "faults", "kills")


def summary(rows: list[Row]) -> str:
    """Return what came of all cases, in a line."""
    tried, survived, lost = (
        sum(getattr(row, what) for row in rows) for what in ("tried", "survived", "lost")
    )
    waits = [row.told for row in rows if row.told is not None]
    told = f" Told after {max(waits):.1f} s at most." if waits else ""
    return f"**{len(rows)} kinds, tried {tried:,}, survived {survived:,}, lost {lost:,}.**{told}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("attacks", nargs="+", choices=ATTACKS)
    parser.add_argument("--size", type=float, default=0.05, help="share of full size")
    parser.add_argument("--count", type=int, help="attempts of kills and damage, in place of that")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lost = 0
    for name in options.attacks:
        with tempfile.TemporaryDirectory(prefix=f"{name}-") as work:
            attack = importlib.import_module(f"attacks.{name}")
            full = getattr(attack, "FULL", None)
            size = options.count / full if options.count and full else options.size
            rows = attack.play(size, options.seed, Path(work))
        table = set_grid(grid_of([row.shown() for row in rows]), "markdown")
        print(f"{name}: {summary(rows)}\n\n{table}\n", flush=True)
        lost += sum(row.lost for row in rows)
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
