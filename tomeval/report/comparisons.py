"""The tables of ``tomeval compare``: rows, lines above and notes below, by name.

Formats for reading leave out constant columns and round; the others have full precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from tomeval.comparing.comparison import Comparison, compare
from tomeval.comparing.result import ALPHA
from tomeval.comparing.sides import Incomparable, left_out
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.numbers import MISSING, fixed, interval, p_text
from tomeval.core.parts import Compared, named, part, parts
from tomeval.report.rows import grid_of
from tomeval.report.tables import DATA, Grid
from tomeval.runs.measures import Measure
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run
from tomeval.strategies.parts import KINDS

LARGEST = 10
"""Effect sizes beyond ± this say only that the differences hardly vary."""

SPARE = ("p", "baseline", "level")
"""Columns that a narrow terminal leaves out, the first one first."""

Row = dict[str, Any]
Table = tuple[list[Row], list[str], list[str]]


def comparison_rows(found: Comparison, form: str, by_task: bool = False) -> list[Row]:
    """Return one row per metric and level over all tasks, or with `by_task` per scope."""
    rows = found.rows(None if by_task else [0])
    if form in DATA:
        return rows
    measures = {measure.name: measure for measure in found.measures}
    margins = not all(math.isnan(margin) for margin in found.margin)
    return [_read(row, measures[row["metric"]], found.by, margins) for row in rows]


def comparison_above(found: Comparison) -> list[str]:
    """Return the lines above the table of a comparison."""
    over, test = "paired episodes", "sign-flip permutation test"
    if found.apart.any():  # which levels: a note says it
        over, test = f"{over} or independent groups", f"{test} (of groups: exchange of units)"
    return [
        f"{found.by} against {found.baseline!r}; difference = {found.by} - baseline over {over}, "
        "each with its own 95 % interval",
        f"p comes from a {test}, the interval from Student's t; near 0.05 they can "
        "disagree; p (Holm) is corrected for all levels compared in one metric and scope; "
        f"{found.resamples} resamples",
    ]


MOST = 24
"""Rows of an overview on a screen; of tasks the smallest effects are left out."""


def overview(found: Comparison, effects: Sequence[Row] = (), most: int | None = None) -> Table:
    """Return a row per scope and level with its difference in every metric.

    All tasks come first, then the main `effects`, then tasks, the largest effects first, as many as
    fit in `most` rows. What is untested is named in a note.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in found.rows():
        groups.setdefault((row["scope"], row[found.by]), []).append(row)
    ranked, untested = list[tuple[float, Row]](), list[str]()
    for (scope, level), rows in groups.items():
        if all(row["verdict"] == "untested" for row in rows):
            untested.append(f"{level} in {scope}")
            continue
        shown = {"scope": scope, found.by: level, "pairs": rows[0]["pairs"]}
        for row, measure in zip(rows, found.measures, strict=True):
            mark = " *" if row["verdict"] in ("higher", "lower") else ""
            shown[measure.heading] = _difference(row, measure) + mark
        ranked.append((max(map(_strength, rows)), shown))
    ranked.sort(key=lambda one: one[0], reverse=True)
    first = [row for _, row in ranked if row["scope"] == found.scopes[0]] + [*effects]
    tasks = [row for _, row in ranked if row["scope"] != found.scopes[0]]
    shown_tasks = tasks[: None if most is None else max(0, most - len(first))]
    over, *_ = comparison_above(found)
    test = (
        "* p < 0.05, sign-flip permutation test with Holm's correction over the levels of a metric "
        "and scope; --metric shows p, effect size and verdict"
    )
    cut = len(tasks) - len(shown_tasks)
    notes = [f"{cut} rows of tasks with smaller effects: --by-task"] * bool(cut)
    if untested:
        notes.append(f"untested, with fewer than two pairs or no value: {first_names(untested)}")
    return first + shown_tasks, [over, test], [*notes, *found.notes]


def _difference(row: Row, measure: Measure) -> str:
    mean, low, high = (row[f"difference{end}"] for end in ("", "_low", "_high"))
    return interval(mean, low, high, measure.digits, symmetric=True)


def _strength(row: Row) -> float:
    """Return how large an effect is; equal differences have no finite one."""
    size = abs(row["effect_size"])
    return (math.inf if row["difference"] else 0.0) if math.isnan(size) else size


def _main_effects(runs: Sequence[Run], how: Row) -> list[Row]:
    """Return a row for each level of each part of strategies, all else being equal."""
    rows: list[Row] = []
    for kind in KINDS:
        if len({cell.prompted[kind] for run in runs for cell in run.cells} - {""}) < 2:
            continue
        try:
            found = compare(runs, **how | {"by": kind, "baseline": None})
        except Incomparable:  # strategies differ in other parts too
            continue
        rows += [
            {name: row[name] for name in row if name != kind}
            | {"scope": f"{kind} alone", "strategy": f"{row[kind]} - {found.baseline}"}
            for row in overview(found)[0]
            if row["scope"] == found.scopes[0]
        ]
    return rows


def _read(row: Row, measure: Measure, by: str, margins: bool) -> Row:
    """Return the columns of one comparison for reading."""
    digits = measure.digits
    shown = {
        "scope": row["scope"],
        "metric": measure.heading,
        by: row[by],
        "pairs": row["pairs"],
        "level": fixed(row["level_mean"], digits),
        "baseline": fixed(row["baseline_mean"], digits),
        "difference": _difference(row, measure),
        "p": p_text(row["p_permutation"]),
        "p (Holm)": p_text(row["p_holm"]),
        "effect (g)": _effect(row["effect_size"]),
    }
    if margins:
        shown["margin"] = MISSING if math.isnan(row["margin"]) else f"{row['margin']:g}"
        shown["p (equivalent)"] = p_text(row["p_equivalence"])
    verdict = row["verdict"]
    if verdict == "too few" and row["pairs_enough"] is not None:
        verdict = f"too few: {min(row['pairs'], row['differing'])} of {row['pairs_enough']}"
    return shown | {"verdict": verdict}


def _effect(size: float) -> str:
    """Return an effect size for reading, at most `LARGEST`."""
    if abs(size) > LARGEST:
        return f"> {LARGEST}" if size > 0 else f"< -{LARGEST}"
    return fixed(size, 2)


def shown_first(runs: Sequence[Run]) -> list[str] | None:
    """Return the measures of a comparison for reading: the scores that all runs have; None: all."""
    return [name for name in runs[0].scores if all(name in run.scores for run in runs)] or None


class Section(NamedTuple):
    """A table of a report: sentences above and below it, or the reason why there is none."""

    title: str
    reason: str
    caption: str = ""
    table: Grid | None = None
    notes: Sequence[str] = ()


def compared(run: Run, by: str | None, metrics: Sequence[str]) -> Section:
    """Compare players in some measures as ``tomeval compare`` does.

    Raises
    ------
    TomevalError
        They cannot be compared by the column asked for.
    """
    try:
        rows, above, notes = _overview([run], {"by": by, "metrics": metrics})
    except TomevalError as error:
        if by is not None:
            raise
        return Section("", f"No comparison: {error}.")
    caption = ". ".join([*above, ""]).strip()
    return Section("", "", caption, grid_of(rows), [f"{note}." for note in notes])


def _differences(runs: Sequence[Run], options: Row) -> Table:
    names = ("by", "baseline", "reference", "margins", "resamples")
    metrics, how = options["metrics"], {name: options[name] for name in names}
    if metrics is None and options["form"] not in DATA and not options["margins"]:
        metrics = shown_first(runs)
        if metrics and not options["by_task"]:
            return _overview(runs, how | {"metrics": metrics}, MOST)
    comparison = compare(runs, metrics=metrics, **how)
    rows = comparison_rows(comparison, options["form"], options["by_task"])
    return rows, comparison_above(comparison), list(comparison.notes)


def _overview(runs: Sequence[Run], how: Row, most: int | None = None) -> Table:
    """Return an overview, of strategies with the effects of their parts."""
    found = compare(runs, **how)
    effects = _main_effects(runs, how) if found.by == "strategy" else []
    return overview(found, effects, most)


def _power(runs: Sequence[Run], options: Row) -> Table:
    from tomeval.comparing.power import POWER, episodes_needed

    asked, difference = options["metrics"] or [], options["difference"]
    if len(asked) != 1 or difference is None:
        raise TomevalError("--what power: give one --metric and the --difference to detect")
    names = ("by", "baseline", "reference", "resamples")
    how = {name: options[name] for name in names}
    rows = episodes_needed(runs, asked[0], difference, **how)
    measure = runs[0].measures[rows[0]["metric"]]
    unit, tests = rows[0]["unit"], sorted({row["tests"] for row in rows} - {0})
    said = " or ".join(map(str, tests))
    above = [
        f"to detect a true difference of {abs(difference):g} {_difference_unit(measure)} in "
        f"{measure.heading} from {rows[0]['baseline']!r} with probability {POWER:g}",
        f"test: paired sign flip as in compare, at {100 * ALPHA:g} % in a Holm family of "
        f"{said or 0}, for normal differences with the pilot's SD; as Student's with a pair less",
        f"pairs: of {unit}, summed over the tasks of a scope; now: with the pilot's pairs",
    ]
    shown = [_power_read(row) for row in rows] if options["form"] not in DATA else rows
    return shown, above, left_out(runs, options["by"])


def _difference_unit(measure: Measure) -> str:
    """Return what a difference of two means of a measure is counted in."""
    own = {"payoff": "payoff units", "%": "percentage points"}
    return own.get(measure.unit, measure.unit)


def _power_read(row: Row) -> Row:
    by = list(row)[1]

    def number(name: str) -> str:
        return MISSING if math.isnan(row[name]) else f"{row[name]:.3g}"

    def count(name: str) -> str:
        return MISSING if row[name] is None else f"{row[name]:,}"

    return {
        "scope": row["scope"],
        by: row[by],
        "pairs": row["pairs"],
        "SD": number("sd"),
        "power now": MISSING if math.isnan(row["power"]) else f"{100 * row['power']:.0f} %",
        "detectable now": number("smallest_difference"),
        "pairs needed": count("pairs_needed"),
        "episodes per cell": count("episodes"),
        "note": row["reason"],
    }


TABLES: dict[str, Compared] = {
    "differences": Compared(
        _differences, ("--by", "--baseline", "--metric", "--by-task", "--margin")
    ),
    "power": Compared(_power, ("--by", "--baseline", "--metric", "--difference")),
}
"""By the name that ``--what`` takes; extensions bring others.

All take `--reference`, `--format` and `--resamples`, whether or not they resample.
"""


def table_names() -> list[str]:
    """Return what ``--what`` takes."""
    return [*TABLES, *named("comparisons")]


def table_named(what: str, given: Collection[str]) -> Callable[..., Table]:
    """Return the function that makes a table; `given` are the options that it must read.

    Raises
    ------
    TomevalError
        An unknown name, or an option that the table does not read.
    """
    chosen = TABLES.get(what) or part("comparisons", what)
    if chosen is None:
        raise unknown("comparison", what, table_names(), "--what")
    for name in given:
        if name not in chosen.options:
            known = TABLES | parts("comparisons")
            readers = ", ".join(other for other, one in known.items() if name in one.options)
            raise TomevalError(f"{name} has no effect with --what {what}; it applies to: {readers}")
    made: Callable[..., Table] = chosen.table
    return made
