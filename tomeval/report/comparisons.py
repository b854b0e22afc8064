"""Lay out comparisons as the rows that `tomeval.report.tables.render` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tomeval.comparing.comparison import Comparison
from tomeval.comparing.correlation import Correlation
from tomeval.comparing.decomposition import Decomposition
from tomeval.comparing.profiles import Aggregates, Profiles
from tomeval.core.numbers import MISSING, fixed, interval, p_text
from tomeval.runs.columns import heading
from tomeval.runs.measures import Measure

READ = ("text", "markdown", "latex")
"""Formats for reading; the others carry every column at full precision."""


RAW = {
    **{"pairs": "pairs", "level": "level_mean", "baseline": "baseline_mean"},
    **{"difference": "difference", "p": "p_permutation", "p (Holm)": "p_holm"},
    **{"effect (g)": "effect_size", "P(better)": "improvement"},
    **{"margin": "margin", "p (equivalent)": "p_equivalence"},
}
"""Columns of numbers as they are read, and the columns of `Comparison.rows` that they show."""


def comparison_rows(
    found: Comparison, form: str, ends: str = "t", by_task: bool = False
) -> list[dict[str, Any]]:
    """Return one row per scope, metric and level.

    Formats for reading leave out constant columns and give p to three digits; `ends` says whether
    the interval of the difference is Student's or the bootstrap's.
    """
    scopes = range(len(found.scopes)) if by_task else [0]
    rows = found.rows(list(scopes))
    if form not in READ:
        return rows
    margins = bool(np.isfinite(found.margin).any())
    measures = {measure.name: measure for measure in found.measures}
    return [_read(row, measures[row["metric"]], found.by, ends, margins) for row in rows]


def _read(
    row: dict[str, Any], measure: Measure, by: str, ends: str, margins: bool
) -> dict[str, Any]:
    """Return the columns of one comparison for reading."""
    digits = measure.digits
    names = ("bca_low", "bca_high") if ends == "bca" else ("difference_low", "difference_high")
    low, high = (row[name] for name in names)
    better = (row["improvement"], row["improvement_low"], row["improvement_high"])
    shown = {
        "scope": row["scope"],
        "metric": measure.heading,
        by: row[by],
        "pairs": row["pairs"],
        "level": fixed(row["level_mean"], digits),
        "baseline": fixed(row["baseline_mean"], digits),
        "difference": interval(row["difference"], low, high, digits, symmetric=ends == "t"),
        "p": p_text(row["p_permutation"]),
        "p (Holm)": p_text(row["p_holm"]),
        "effect (g)": fixed(row["effect_size"], 2),
        "P(better)": interval(*better, 2),
    }
    if margins:
        shown["margin"] = MISSING if np.isnan(row["margin"]) else f"{row['margin']:g}"
        shown["p (equivalent)"] = p_text(row["p_equivalence"])
    return shown | {"verdict": verdict_text(row)}


def verdict_text(row: Mapping[str, Any]) -> str:
    """Return the verdict of a row of `Comparison.rows`; of too few pairs, how many could do.

    Examples
    --------
    >>> verdict_text({"verdict": "too few", "pairs_enough": 9, "pairs": 6})
    'too few: 6 of 9'
    """
    enough = row.get("pairs_enough")
    if row["verdict"] != "too few" or enough is None:
        return str(row["verdict"])
    return f"too few: {min(row['pairs'], row.get('differing', row['pairs']))} of {enough}"


def power_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `tomeval.comparing.power.episodes_needed` for reading."""
    by = list(row)[1]

    def number(name: str) -> str:
        return MISSING if np.isnan(row[name]) else f"{row[name]:.3g}"

    def upto(least: str, most: str) -> str:
        ends = [MISSING if row[name] is None else f"{row[name]:,}" for name in (least, most)]
        return ends[0] if ends[0] == ends[1] else f"{ends[0]} (up to {ends[1]})"

    return {
        "scope": row["scope"],
        by: row[by],
        "pairs": row["pairs"],
        "SD": number("sd"),
        "power now": MISSING if np.isnan(row["power"]) else f"{100 * row['power']:.0f} %",
        "found now": number("smallest_difference"),
        "pairs needed": upto("pairs_needed", "pairs_safe"),
        "episodes a cell": upto("episodes", "episodes_safe"),
        "why": row["reason"],
    }


def aggregate_rows(found: Aggregates, by: str, form: str) -> list[dict[str, Any]]:
    """Return one row per level with its interquartile mean."""
    rows = []
    for i, level in enumerate(found.levels):
        value, low, high = (float(x[i]) for x in (found.value, found.low, found.high))
        row: dict[str, Any] = {by: level}
        if form in READ:
            row["interquartile mean"] = interval(value, low, high, 3)
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
                row["share of episodes"] = interval(value, low, high, 3)
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
        digits = found.whole.digits
        ends = (found.functional[c], found.functional_low[c], found.functional_high[c])
        row[found.whole.heading] = interval(*ends, digits, symmetric=True)
        for k, part in enumerate(found.parts):
            ends = (found.part[c, k], found.part_low[c, k], found.part_high[c, k])
            row[part] = interval(*ends, digits, symmetric=True)
        for k, part in enumerate(found.parts):
            shares = (found.share, found.share_low, found.share_high)
            value, low, high = (100 * share[c, k] for share in shares)
            row[f"{part} %"] = interval(value, low, high, 1)
        rows.append(row)
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key, "") for key in keys} for row in rows]


def correlation_rows(
    found: Sequence[Correlation], form: str, measures: Mapping[str, Measure]
) -> list[dict[str, Any]]:
    """Return one row per pair of metrics."""
    rows = []
    for one in found:
        row: dict[str, Any] = {"literal": one.literal, "functional": one.functional}
        if form in READ:
            row = {key: heading(name, measures) for key, name in row.items()}
        row["cells"] = one.cells
        for name in ("pearson", "spearman"):
            value, low, high = (getattr(one, name + end) for end in ("", "_low", "_high"))
            if form in READ:
                row[name] = interval(value, low, high, 3)
            else:
                row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        rows.append(row | {"reason": one.reason})
    return rows
