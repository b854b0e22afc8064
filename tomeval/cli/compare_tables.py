"""The tables of ``tomeval compare``: rows, lines above and notes below, by what is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tomeval.comparing import profiles
from tomeval.comparing.comparison import compare
from tomeval.comparing.correlation import correlate
from tomeval.comparing.decomposition import decompose
from tomeval.core import extensions
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extensions import Compared
from tomeval.report import comparisons
from tomeval.report.comparisons import READ
from tomeval.runs.results import Run
from tomeval.statistics import RESAMPLES

Table = tuple[list[dict[str, Any]], list[str], list[str]]


def _differences(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    names = (
        "by",
        "baseline",
        "metrics",
        "reference",
        "scale",
        "margins",
        "family",
        "seed",
        "by_task",
    )
    found = compare(
        runs, resamples=options["resamples"] or RESAMPLES, **{name: options[name] for name in names}
    )
    method = "Student t" if options["interval"] == "t" else "BCa bootstrap"
    over, test = "paired episodes", "sign-flip permutation test"
    if found.apart.any():  # which levels: a note says it
        over, test = f"{over} or groups", f"{test} or exchange of units between groups"
    above = [
        f"{found.by} against {found.baseline!r}; difference = {found.by} - baseline over {over}, "
        f"with the 95 % interval of each alone: {method}",
        f"p and verdict: {test}, not of the interval's kind; {found.family}; "
        f"{found.resamples} resamples, seed {found.seed}",
    ]
    rows = comparisons.comparison_rows(
        found, options["form"], options["interval"], options["by_task"]
    )
    return rows, above, list(found.notes)


def _scored(runs: Sequence[Run], options: dict[str, Any]) -> tuple[profiles.Scores, str]:
    """Return the scores of all episodes, and what they are in words."""
    found = profiles.collect_scores(runs, options["by"], options["score"], options["reference"])
    return found, runs[0].domain.compare.scores[found.score].words


def _iqm(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    scores, words = _scored(runs, options)
    found = profiles.interquartile_means(
        scores, resamples=options["resamples"] or profiles.RESAMPLES, seed=options["seed"]
    )
    above = [f"interquartile mean over episodes, 95 % bootstrap interval; score: {words}"]
    rows = comparisons.aggregate_rows(found, options["by"], options["form"])
    return rows, above, list(scores.notes)


def _profiles(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    thresholds = [i / 10 for i in range(10)] if options["form"] not in ("csv", "json") else None
    scores, words = _scored(runs, options)
    found = profiles.performance_profiles(
        scores,
        thresholds,
        resamples=options["resamples"] or profiles.RESAMPLES,
        seed=options["seed"],
    )
    above = [f"share of episodes whose score is above a threshold, 95 % bands; score: {words}"]
    least = min((len(part) for level in scores.levels for part in scores.played(level)), default=0)
    notes = [f"fewer than {profiles.MANY} episodes in some task: the bands are too narrow"]
    return (
        comparisons.profile_rows(found, options["by"], options["form"]),
        above,
        [*scores.notes, *notes * (least < profiles.MANY)],
    )


def _shares(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    found = decompose(runs, None if options["by_task"] else options["by"], options["reference"])
    notes = [f"{n}: {why}" for n, why in zip(found.names, found.reason, strict=True) if why]
    whole = found.whole.heading
    above = [f"parts of {whole} (95 % Student intervals) and their shares (Fieller intervals)"]
    return comparisons.share_rows(found, options["form"]), above, notes


def _correlation(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    literal = options["metrics"] or runs[0].domain.show.headline[1:]
    if not literal:
        raise TomevalError("a correlation is of one metric with the functional one: give --metric")
    found = [correlate(runs, name, reference=options["reference"]) for name in literal]
    above = ["correlation over cells, 95 % intervals (Fisher's z)"]
    rows = comparisons.correlation_rows(found, options["form"], runs[0].measures)
    return rows, above, list(dict.fromkeys(note for one in found for note in one.notes))


def power_table(
    runs: Sequence[Run],
    metric: str,
    difference: float,
    by: str | None,
    baseline: str | None,
    how: dict[str, Any],
    form: str,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of ``tomeval power`` and the lines above it."""
    from tomeval.comparing.power import episodes_needed

    rows = episodes_needed(runs, metric, difference, by, baseline, **how)
    measure = runs[0].measures[rows[0]["metric"]]
    unit, tests = rows[0]["unit"], sorted({row["tests"] for row in rows} - {0})
    said = " or ".join(map(str, tests))
    above = [
        f"a true difference of {abs(difference):g} in {measure.heading} from "
        f"{rows[0]['baseline']!r}, to be found with probability {how['power']:g}",
        f"test: that of compare, the paired sign flip at {100 * how['alpha']:g} % over {said or 0} "
        f"tests (Holm), for normal differences with the pilot's SD",
        f"pairs: of {unit}, of all tasks of a scope together; up to: with the upper 80 % bound of "
        "the SD; now: with the pairs of the pilot",
    ]
    if form in READ:
        rows = [comparisons.power_row(row) for row in rows]
    return rows, above


TABLES: dict[str, Compared] = {
    "differences": Compared(
        _differences,
        (
            *("--by", "--baseline", "--metric", "--by-task", "--interval", "--margin"),
            *("--scale", "--family"),
        ),
    ),
    "iqm": Compared(_iqm, ("--by", "--score")),
    "profiles": Compared(_profiles, ("--by", "--score")),
    "shares": Compared(_shares, ("--by", "--by-task")),
    "correlation": Compared(_correlation, ("--metric",)),
}
"""By the name that ``--what`` takes; extensions bring others.

All take `--reference`, `--format`, `--resamples` and `--seed`, whether or not they resample.
"""


def table_names() -> list[str]:
    """Return what ``--what`` takes."""
    return [*TABLES, *extensions.named("comparisons")]


def table_named(what: str, given: Collection[str]) -> Callable[..., Table]:
    """Return the function that makes a table; `given` are the options that it must read.

    Raises
    ------
    TomevalError
        An unknown name, or an option that the table does not read.
    """
    chosen = TABLES.get(what) or extensions.part("comparisons", what)
    if chosen is None:
        raise unknown("comparison", what, table_names(), "--what")
    for name in given:
        if name not in chosen.options:
            brought = extensions.parts("comparisons").items()
            known = {**TABLES, **{one: extensions.resolved(made) for one, made in brought}}
            readers = ", ".join(other for other, one in known.items() if name in one.options)
            raise TomevalError(f"{name} does nothing with --what {what}; it is for: {readers}")
    made: Callable[..., Table] = chosen.table
    return made
