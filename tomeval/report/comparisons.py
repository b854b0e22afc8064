"""Lay out comparisons as the rows that `tomeval.report.tables.render` prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tomeval.comparing.comparison import Comparison
from tomeval.comparing.decomposition import PARTS, Correlation, Decomposition
from tomeval.comparing.profiles import Aggregates, Profiles
from tomeval.report.tables import HEADINGS

READ = ("text", "markdown", "latex")
"""Formats for reading; the others carry every column at full precision."""


def comparison_rows(
    found: Comparison, form: str, interval: str = "t", by_task: bool = False
) -> list[dict[str, Any]]:
    """Return one row per scope, metric and level.

    Formats for reading leave out constant columns and give p to three digits; the interval of the
    difference is Student's or the bootstrap's.
    """
    scopes = range(len(found.scopes)) if by_task else [0]
    rows = found.rows(list(scopes))
    if form not in READ:
        return rows
    margins = bool(np.isfinite(found.margin).any())
    return [_read(row, found.by, interval, margins) for row in rows]


def _read(row: dict[str, Any], by: str, interval: str, margins: bool) -> dict[str, Any]:
    """Return what a reader wants of one comparison."""
    digits = 2 if row["metric"].endswith("percent") else 3
    low, high = ("difference_low", "difference_high")
    if interval == "bca":
        low, high = "bca_low", "bca_high"
    shown = {
        "scope": row["scope"],
        "metric": HEADINGS.get(row["metric"], row["metric"]),
        by: row[by],
        "pairs": row["pairs"],
        "level": _number(row["level_mean"], digits),
        "baseline": _number(row["baseline_mean"], digits),
        "difference": between((row["difference"], row[low], row[high]), digits, interval == "t"),
        "p": p_text(row["p_permutation"]),
        "p (Holm)": p_text(row["p_holm"]),
        "effect (g)": _number(row["effect_size"], 2),
        "P(better)": between(
            (row["improvement"], row["improvement_low"], row["improvement_high"]), 2, False
        ),
    }
    if margins:
        shown["margin"] = "–" if math.isnan(row["margin"]) else f"{row['margin']:g}"
        shown["p (equivalent)"] = p_text(row["p_equivalence"])
    return shown | {"verdict": row["verdict"]}


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def between(ends: Iterable[float], digits: int, symmetric: bool) -> str:
    """Return a value with its interval, given as (value, low, high)."""
    value, low, high = map(float, ends)
    if math.isnan(value):
        return "–"
    if math.isnan(low) or math.isnan(high):
        return f"{value:.{digits}f}"
    if symmetric:
        return f"{value:.{digits}f} ± {(high - low) / 2:.{digits}f}"
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def p_text(value: float) -> str:
    """Return p with as many digits as a reader can use, never rounded to 0."""
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1g}"


def aggregate_rows(found: Aggregates, by: str, form: str) -> list[dict[str, Any]]:
    """Return one row per level with its interquartile mean."""
    rows = []
    for i, level in enumerate(found.levels):
        value, low, high = (float(x[i]) for x in (found.value, found.low, found.high))
        row: dict[str, Any] = {by: level}
        if form in READ:
            row["interquartile mean"] = between((value, low, high), 3, False)
        else:
            row |= {"interquartile_mean": value, "low": low, "high": high}
        rows.append(row | {"episodes": int(found.episodes[i]), "tasks": int(found.tasks[i])})
    return rows


def profile_rows(found: Profiles, by: str, form: str) -> list[dict[str, Any]]:
    """Return one row per level and threshold."""
    rows = []
    for i, level in enumerate(found.levels):
        for j, threshold in enumerate(found.thresholds.tolist()):
            value, low, high = (float(x[i, j]) for x in (found.share, found.low, found.high))
            row: dict[str, Any] = {by: level, "score above": f"{threshold:g}"}
            if form in READ:
                row["share of episodes"] = between((value, low, high), 3, False)
            else:
                row = {by: level, "threshold": threshold, "share": value, "low": low, "high": high}
            rows.append(row)
    return rows


def share_rows(found: Decomposition, form: str) -> list[dict[str, Any]]:
    """Return one row per cell or level with the parts of its regret and their shares."""
    if form not in READ:
        return found.rows()
    rows = []
    for c, label in enumerate(found.labels):
        row = {k: v for k, v in label.items() if v not in ("", None)}
        ends = (found.functional[c], found.functional_low[c], found.functional_high[c])
        row["ΔFunctional/T"] = between(ends, 3, True)
        for k, part in enumerate(PARTS):
            ends = (found.part[c, k], found.part_low[c, k], found.part_high[c, k])
            row[part] = between(ends, 3, True)
        for k, part in enumerate(PARTS):
            ends = (found.share[c, k], found.share_low[c, k], found.share_high[c, k])
            row[f"{part} %"] = between((100 * end for end in ends), 1, False)
        rows.append(row)
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key, "") for key in keys} for row in rows]


def correlation_rows(found: Sequence[Correlation], form: str) -> list[dict[str, Any]]:
    """Return one row per pair of metrics."""
    rows = []
    for one in found:
        row: dict[str, Any] = {"literal": one.literal, "functional": one.functional}
        if form in READ:
            row = {key: HEADINGS.get(name, name) for key, name in row.items()}
        row["cells"] = one.cells
        for name in ("pearson", "spearman"):
            ends = [getattr(one, name + end) for end in ("", "_low", "_high")]
            if form in READ:
                row[name] = between(ends, 3, False)
            else:
                row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        rows.append(row | {"reason": one.reason})
    return rows
