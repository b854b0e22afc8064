"""The tables of ``tomeval compare``: rows, lines above and notes below, by what is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tomeval.comparing import profiles, wording_rows
from tomeval.comparing.comparison import compare
from tomeval.comparing.correlation import correlate
from tomeval.comparing.decomposition import decompose
from tomeval.comparing.mixed import mixed_model
from tomeval.comparing.rank_stability import rank_stability
from tomeval.comparing.sensitivity import sensitivity
from tomeval.comparing.wording_gap import wording_gap
from tomeval.core.errors import TomevalError
from tomeval.core.numbers import interval, p_text
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


def _mixed(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    if not options["metrics"]:
        raise TomevalError("a mixed model is of one metric: give --metric")
    rows: list[dict[str, Any]] = []
    above: list[str] = []
    told: dict[str, list[str]] = {}
    for metric in options["metrics"]:
        names = ("by", "baseline", "reference", "scale", "over")
        fit = mixed_model(runs, metric, **{name: options[name] for name in names})
        spread = ", ".join(f"{f.name} {f.sd:.3g} ({f.count} levels)" for f in fit.random)
        above.append(
            f"{metric}: {fit.by} against {fit.baseline!r}; 95 % interval: Student t over levels of "
            f"{fit.over}; {fit.observations} means"
        )
        above.append(
            f"{metric}: standard deviations (REML, all levels together): {spread}, residual "
            f"{fit.residual_sd:.3g}"
        )
        for note in fit.notes:
            told.setdefault(note, []).append(metric)
        for row in fit.rows():
            if options["form"] in READ:
                ends = (row["difference"], row["difference_low"], row["difference_high"])
                shown = {key: row[key] for key in ("metric", fit.by)}
                difference = interval(*ends, 3, symmetric=True)
                size = {f"levels of {fit.over}": row["units"]}
                row = {**shown, **size, "difference": difference, "p": p_text(row["p"])}
            rows.append(row)
    return rows, above, [f"{', '.join(names)}: {note}" for note, names in told.items()]


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


def _sensitivity(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    found, notes = sensitivity(
        runs, options["metrics"] or None, options["reference"], options["seed"]
    )
    above = [
        "variance by crossed random effects of one player's wording: sd, and share of one "
        f"{runs[0].domain.compare.unit}'s variance, with generalised 95 % intervals; range of the "
        "swept values' means"
    ]
    return wording_rows.variation_rows(found, runs[0].measures), above, notes


def _wording_gap(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    found, notes = wording_gap(runs, options["reference"])
    above = [
        "gap: functional regret less what acting on one's predictions would have cost; explained: "
        "the share of it that disappears under the best wording, which is chosen without the "
        f"{runs[0].domain.compare.unit} in which it is evaluated"
    ]
    return wording_rows.gap_rows(found, runs[0].domain.compare.by[0]), above, notes


def _rank_stability(runs: Sequence[Run], options: dict[str, Any]) -> Table:
    found, notes = rank_stability(
        runs, options["metrics"] or None, options["reference"], options["seed"]
    )
    above = [
        "agreement of ranks over wordings: Kendall's W, mean tau-b of pairs, share of wordings in "
        "which the best over all is first; noise alone: if wordings moved all alike"
    ]
    return wording_rows.rank_rows(found, runs[0].measures), above, notes


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


TABLES: dict[str, Callable[[Sequence[Run], dict[str, Any]], Table]] = {
    "differences": _differences,
    "mixed": _mixed,
    "iqm": _iqm,
    "profiles": _profiles,
    "shares": _shares,
    "correlation": _correlation,
    "sensitivity": _sensitivity,
    "wording_gap": _wording_gap,
    "rank_stability": _rank_stability,
}
"""The function that makes each table, by the name that `--what` takes."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "differences": (
        *("--by", "--baseline", "--metric", "--by-task", "--interval", "--margin", "--scale"),
        "--family",
    ),
    "mixed": ("--by", "--baseline", "--metric", "--scale", "--over"),
    "iqm": ("--by", "--score"),
    "profiles": ("--by", "--score"),
    "shares": ("--by", "--by-task"),
    "correlation": ("--metric",),
    "sensitivity": ("--metric",),
    "wording_gap": (),
    "rank_stability": ("--metric",),
}
"""The options that each table reads.

All take `--reference`, `--format`, `--resamples` and `--seed`, whether or not they resample.
"""


def check_options(what: str, given: Collection[str]) -> None:
    """Raise if an option was given that the table does not read."""
    for name in given:
        if name not in OPTIONS[what]:
            readers = ", ".join(other for other, options in OPTIONS.items() if name in options)
            raise TomevalError(f"{name} does nothing with --what {what}; it is for: {readers}")
