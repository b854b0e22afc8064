"""Tables as text, CSV, JSON, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tomeval.core.errors import unknown
from tomeval.report.latex import latex_table
from tomeval.runs.directions import DIRECTIONS

FORMATS = ("text", "csv", "json", "markdown", "latex")

HEADINGS = {
    "horizon": "T",
    "invalid_rate": "invalid %",
    "tom_percent": "ToM %",
    "delta_functional_per_step": "ΔFunctional/T",
    "delta_tom_best_response_per_step": "ΔToM/T (best response)",
    "delta_tom_misprediction_per_step": "ΔToM/T (misprediction)",
    "stepwise_regret_per_step": "stepwise regret",
    "response_gap_per_step": "response",
    "foresight_gap_per_step": "foresight",
    "self_consistency_percent": "self-consistent %",
    "reward_per_step": "reward/step",
    "delta_tom_planned_per_step": "ΔToM/T (planned)",
    "reaction_accuracy_percent": "reactions right %",
}
"""What people read in place of a column's name."""


def render(rows: Sequence[Mapping[str, Any]], form: str = "text") -> str:
    """Render rows of equal keys as a table.

    Parameters
    ----------
    rows : sequence of mapping
        Numbers may be NaN: shown as a dash, an empty CSV field, JSON null.
    form : {"text", "csv", "json", "markdown", "latex"}
        CSV and JSON carry every column at full precision. The others are for reading: a metric and
        its ``_ci95`` share a column, and columns in which all rows agree stand once above the table
        (text and Markdown) or in the caption (LaTeX). Markdown and LaTeX print the best mean of
        each metric among rows of the same task bold, ties included; intervals are not looked at.

    Examples
    --------
    >>> print(render([{"game": "RPS", "tom_percent": 97.41, "tom_percent_ci95": 0.4}]))
    game  ToM %
    RPS   97.41 ± 0.40
    """
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if form == "json":
        return json.dumps([{k: _plain(v) for k, v in row.items()} for row in rows], indent=1)
    if form == "csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        if rows:
            writer.writerow(rows[0])
            for row in rows:
                values = [_plain(value) for value in row.values()]
                writer.writerow(["" if value is None else value for value in values])
        return buffer.getvalue().rstrip("\n")
    if not rows:
        return "nothing to show"
    shared, columns = _columns(rows)
    body = [[_cell(row, column) for column in columns] for row in rows]
    heads = [HEADINGS.get(column, column.replace("_", " ")) for column in columns]
    if form == "text":
        return _text(shared, heads, body)
    best = _best(rows, columns)
    if best:
        shared = [*shared, BEST]
    if form == "markdown":
        return _markdown(shared, heads, body, best)
    return latex_table("; ".join(shared), heads, body, best)


TASK = ("game", "labels", "partners", "horizon", "seed", "reference", "on_invalid")
"""Columns in which rows agree that are compared for the best mean."""
BEST = "bold: best mean of its task"


def _best(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> set[tuple[int, int]]:
    """Return row and column of the best mean of each metric among rows of one task."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(tuple(row.get(name) for name in TASK), []).append(number)
    found = set()
    for index, name in enumerate(columns):
        side = DIRECTIONS.get(name, 0)
        if side == 0 or f"{name}_ci95" not in rows[0]:
            continue
        for group in groups.values():
            values = {n: side * rows[n][name] for n in group if _is_number(rows[n][name])}
            if len(values) > 1:
                most = max(values.values())
                slack = 1e-12 * max(1.0, abs(most))
                found |= {(n, index) for n, value in values.items() if value >= most - slack}
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _plain(value: Any) -> Any:
    """Return a JSON-ready value; NaN and infinity become None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _columns(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return what all rows share, as words, and the columns that are left."""
    drop = {name for name in rows[0] if name.endswith(("_ci95", "_ci95_low", "_ci95_high"))}
    if all(row.get("subject") == row.get("strategy") for row in rows):
        drop.add("strategy")  # a language model's subject is named by its strategy
    drop |= {name for name in rows[0] if all(row[name] in ("", None) for row in rows)}
    shared = []
    if len(rows) > 1 and drop:
        for name in rows[0]:
            values = {row[name] for row in rows}
            if name not in drop and f"{name}_ci95" not in rows[0] and len(values) == 1:
                drop.add(name)
                if rows[0][name] not in ("", None):
                    shared.append(f"{HEADINGS.get(name, name)} {_cell(rows[0], name)}")
    return shared, [name for name in rows[0] if name not in drop]


def _cell(row: Mapping[str, Any], column: str) -> str:
    """Return one cell for reading."""
    value = row[column]
    if column == "invalid_rate" and isinstance(value, float):
        return "–" if math.isnan(value) else f"{100 * value:.1f}"
    if f"{column}_ci95" in row:
        if value is None or math.isnan(value):
            return "–"
        digits = 2 if column.endswith("percent") else 3
        half = row[f"{column}_ci95"]
        low, high = row.get(f"{column}_ci95_low"), row.get(f"{column}_ci95_high")
        if half is None or math.isnan(half):
            return f"{value:.{digits}f}"
        if low is not None and high is not None:
            return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
        return f"{value:.{digits}f} ± {half:.{digits}f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else str(value)


def _text(shared: list[str], heads: list[str], body: list[list[str]]) -> str:
    """Return aligned columns."""
    widths = [max(len(row[i]) for row in [heads, *body]) for i in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in [heads, *body]
    ]
    return "\n".join([*(["; ".join(shared)] if shared else []), *lines])


def _markdown(
    shared: list[str], heads: list[str], body: list[list[str]], best: set[tuple[int, int]]
) -> str:
    """Return a Markdown table."""

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    marked = [
        [f"**{cell}**" if (n, i) in best else cell for i, cell in enumerate(row)]
        for n, row in enumerate(body)
    ]
    above = [f"{'; '.join(shared)}\n"] if shared else []
    return "\n".join([*above, line(heads), line(["---"] * len(heads)), *map(line, marked)])
