"""The tables of ``tomeval compare``: rows, lines above and notes below, by name.

Formats for reading leave out constant columns and round; the others have full precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from tomeval.comparing.comparison import Comparison, compare
from tomeval.comparing.result import ALPHA
from tomeval.comparing.sides import Incomparable, left_out, metric_names
from tomeval.core.errors import TomevalError
from tomeval.core.numbers import fixed, interval, p_text
from tomeval.core.parts import Compared, find, parts
from tomeval.report.rows import grid_of
from tomeval.report.tables import DATA, Grid
from tomeval.runs.measures import Measure
from tomeval.runs.notes import first_names
from tomeval.runs.results import Run
from tomeval.strategies.parts import KINDS, advice_part, shown

LARGEST = 10
"""Effect sizes beyond ± this say only that the differences hardly vary."""

Row = dict[str, Any]
Table = tuple[list[Row], list[str], list[str]]


MOST = 24
"""Rows on a screen; of tasks the smallest effects are left out."""

MARKS = {"higher": " *", "lower": " *", "equivalent": " =", "identical": " ="}
"""What follows a difference of which a test says something."""


def overview(found: Comparison, effects: Sequence[Row] = (), most: int | None = None) -> Table:
    """Return a row per scope and level with its difference in every metric, for reading.

    All tasks come first, then the main `effects`, then tasks, the largest effects first, as many as
    fit in `most` rows. Of one metric alone there is more. What is untested is named in a note.
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
            mark = MARKS.get(row["verdict"], "") if len(rows) > 1 else ""
            shown[measure.heading] = _difference(row, measure) + mark
        shown |= _details(rows[0]) if len(rows) == 1 else {}
        ranked.append((max(map(_strength, rows)), shown))
    ranked.sort(key=lambda one: one[0], reverse=True)
    first = [row for _, row in ranked if row["scope"] == found.scopes[0]] + [*effects]
    tasks = [row for _, row in ranked if row["scope"] != found.scopes[0]]
    shown_tasks = tasks[: None if most is None else max(0, most - len(first))]
    over, test = "paired episodes", "sign-flip permutation test"
    if found.apart.any():  # which levels: a note says it
        over, test = f"{over} or independent groups", f"{test} (of groups: exchange of units)"
    above = [
        f"difference: {found.by} - {found.baseline!r}, over {over}, with Student's 95 % intervals",
        f"* p < 0.05, {test} with Holm's correction over the levels of a metric and scope; "
        "one --metric shows p, effect size and verdict",
    ]
    cut = len(tasks) - len(shown_tasks)
    notes = [f"{cut} rows of tasks with smaller effects: --by-task"] * bool(cut)
    if untested:
        notes.append(f"untested, with fewer than two pairs or no value: {first_names(untested)}")
    return first + shown_tasks, above, [*notes, *found.notes]


def _details(row: Row) -> Row:
    """Return what tests say of one difference."""
    verdict = row["verdict"]
    if verdict == "too few" and row["pairs_enough"] is not None:
        verdict = f"too few: {min(row['pairs'], row['differing'])} of {row['pairs_enough']}"
    return {
        "p": p_text(row["p_permutation"]),
        "p (Holm)": p_text(row["p_holm"]),
        "effect (g)": _effect(row["effect_size"]),
        **({} if math.isnan(row["margin"]) else {"p (equivalent)": p_text(row["p_equivalence"])}),
        "verdict": verdict,
    }


def _effect(size: float) -> str:
    """Return an effect size for reading, at most `LARGEST`."""
    if abs(size) > LARGEST:
        return f"> {LARGEST}" if size > 0 else f"< -{LARGEST}"
    return fixed(size, 2)


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
        baseline = _part(found.baseline)
        rows += [
            {name: row[name] for name in row if name != kind}
            | {"scope": f"{kind} alone", "strategy": f"{_part(row[kind])} - {baseline}"}
            for row in overview(found)[0]
            if row["scope"] == found.scopes[0]
        ]
    return rows


def _part(key: str) -> str:
    """Return the name of a part of strategies in tables, as the names of strategies have it."""
    part = advice_part(key)
    return part.shown or key if part else shown().get(key, key)


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
    metrics, how = options["metrics"] or list(options["margins"]), {n: options[n] for n in names}
    if options["form"] in DATA:
        found = compare(runs, metrics=metrics or None, **how)
        return found.rows(None if options["by_task"] else [0]), [], list(found.notes)
    known = metric_names(runs)
    metrics = metrics or [n for n in runs[0].scores or runs[0].headline if n in known]
    most = None if options["by_task"] else MOST
    return _overview(runs, how | {"metrics": metrics or None}, most)


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
        f"to detect a true difference of {abs(difference):g} in "
        f"{measure.heading} from {rows[0]['baseline']!r} with probability {POWER:g}",
        f"test: paired sign flip as in compare, at {100 * ALPHA:g} % in a Holm family of "
        f"{said or 0}, for normal differences with the pilot's SD; as Student's with a pair less",
        f"pairs: of {unit}, summed over the tasks of a scope; now: with the pilot's pairs",
    ]
    if options["form"] not in DATA:
        rows = [
            {k: float(f"{v:.3g}") if isinstance(v, float) else v for k, v in row.items()}
            for row in rows
        ]
    return rows, above, left_out(runs, options["by"])


TABLES: dict[str, Compared] = {
    "differences": Compared(
        _differences, ("--by", "--baseline", "--metric", "--by-task", "--margin")
    ),
    "power": Compared(_power, ("--by", "--baseline", "--metric", "--difference")),
}
"""By the name that ``--what`` takes; extensions bring others.

All take `--reference`, `--format` and `--resamples`, whether or not they resample.
"""


def table_named(what: str, given: Collection[str]) -> Callable[..., Table]:
    """Return the function that makes a table; `given` are the options that it must read.

    Raises
    ------
    TomevalError
        An unknown name, or an option that the table does not read.
    """
    chosen = find("comparisons", what, "comparison", "--what", TABLES)
    for name in given:
        if name not in chosen.options:
            known = TABLES | parts("comparisons")
            readers = ", ".join(other for other, one in known.items() if name in one.options)
            raise TomevalError(f"{name} has no effect with --what {what}; it applies to: {readers}")
    made: Callable[..., Table] = chosen.table
    return made
