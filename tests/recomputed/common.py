"""What the programs share: tables of CSV, and how far two columns are apart."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

NAN = math.nan
Row = dict[str, str]

csv.field_size_limit(10**9)


def table_of(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text: str | None) -> float:
    return float(text) if text else NAN


def mean(values: Iterable[float]) -> float:
    """Return the mean of all values that are known."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else NAN


def apart(mine: float, theirs: float) -> float:
    """Return the difference, relative to sizes above 1; infinite where one alone is missing."""
    if math.isnan(mine) or math.isnan(theirs):
        return 0.0 if math.isnan(mine) == math.isnan(theirs) else math.inf
    return abs(mine - theirs) / max(1.0, abs(theirs))


def episodes_of(steps: list[Row]) -> dict[str, list[list[Row]]]:
    """Return the steps by cell and episode."""
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in steps:
        found[row["cell"]][row["episode"]].append(row)
    return {cell: list(episodes.values()) for cell, episodes in found.items()}


def report(mine: list[dict[str, float]], shown: list[Row]) -> None:
    """Print the largest difference of every column, and of how many numbers."""
    for name in mine[0]:
        # A column that no row has a value of is left out.
        theirs = [number(like.get(name, "")) for like in shown]
        pairs = [(row[name], like) for row, like in zip(mine, theirs, strict=True)]
        count = sum(not math.isnan(value) for value, _ in pairs)
        print(f"{name}: {max(apart(*pair) for pair in pairs):.2g} of {count}")
