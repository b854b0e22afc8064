"""Published results: a number per row with what it is of, and what its models are called."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.resources import csv_rows, read_text, shipped, shown_path

COLUMNS = ("table", "model", "prompting", "game", "partner", "metric", "mean", "ci95")
CELL = COLUMNS[:5]
"""What a row shares with the other metrics of its cell."""
FUNCTIONAL, TOM, LITERAL = "delta_functional_per_step", "delta_tom_per_step", "tom_percent"


def read_results(path: Path) -> list[dict[str, str]]:
    """Read and check a CSV with the columns `COLUMNS`; ``line`` is added to every row."""
    rows: list[dict[str, str]] = []
    lines: dict[tuple[str, ...], int] = {}  # with two ToM %, a cell's ΔToM could belong to either
    for line, row in csv_rows(path, COLUMNS):
        where = f"{shown_path(path)}, line {line}"
        for name in ("mean", "ci95"):
            if not _is_number(row[name]) and (name, row[name]) != ("ci95", ""):
                raise TomevalError(f"{where}: {name} {row[name]!r} is not a number")
        first = lines.setdefault(tuple(row[name] for name in COLUMNS[:6]), line)
        if first != line:
            raise TomevalError(f"{where}: the same cell and metric as line {first}")
        rows.append({**row, "line": str(line)})
    return rows


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def published_name(model: str, names: Iterable[str]) -> str:
    """Return which of the published models a model is, by its name on the Hub; empty: none."""
    own = _short(model)
    return next((n for n in names if own in (n.lower(), *hub_names().get(n, ()))), "")


@cache
def hub_names() -> dict[str, tuple[str, ...]]:
    """Return how published models are called on the Hub, without their owner."""
    lines = read_text(shipped("experiments") / "reported_models.csv").splitlines()
    names: dict[str, tuple[str, ...]] = {}
    for row in csv.DictReader(lines):
        names[row["reported"]] = (*names.get(row["reported"], ()), _short(row["model"]))
    return names


def _short(model: str) -> str:
    """Return a model's name without backend, owner, revision and address."""
    name = model.partition(":")[2] or model
    return name.partition("@")[0].rstrip("/").rpartition("/")[2].lower()
