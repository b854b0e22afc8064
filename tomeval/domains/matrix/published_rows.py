"""Read published results: a number per row, with what it is of."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

from tomeval.core.csv_files import csv_rows
from tomeval.core.errors import TomevalError
from tomeval.core.resources import shown_path

COLUMNS = ("table", "model", "prompting", "game", "partner", "metric", "mean", "ci95")
FUNCTIONAL, TOM, LITERAL = "delta_functional_per_step", "delta_tom_per_step", "tom_percent"


def cell_of(row: dict[str, str]) -> tuple[str, ...]:
    """Return what a row shares with the other metrics of its cell."""
    return tuple(row[name] for name in ("table", "model", "prompting", "game", "partner"))


def read_results(path: Path) -> list[dict[str, str]]:
    """Read and check a CSV with the columns `COLUMNS`; ``line`` is added to every row."""
    rows = []
    seen: dict[tuple[str, ...], int] = {}  # with two ToM %, a cell's ΔToM could belong to either
    for line, row in csv_rows(path, COLUMNS):
        where = f"{shown_path(path)}, line {line}"
        for name in ("mean", "ci95"):
            if not _is_number(row[name]) and not (name == "ci95" and row[name] == ""):
                raise TomevalError(f"{where}: {name} {row[name]!r} is not a number")
        first = seen.setdefault((*cell_of(row), row["metric"]), line)
        if first != line:
            raise TomevalError(f"{where}: the same cell and metric as line {first}")
        rows.append({**row, "line": str(line)})
    return rows


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(Decimal(text)) and np.isfinite(float(text))
    except (InvalidOperation, ValueError):
        return False
