"""The commands that compare subjects: compare and power."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tomeval.cli.options import Format, ReferenceOption, TableFormat
from tomeval.core.errors import TomevalError

if TYPE_CHECKING:
    from tomeval.runs.results import Run


class Kind(StrEnum):
    """What to show."""

    differences = "differences"
    mixed = "mixed"
    iqm = "iqm"
    profiles = "profiles"
    shares = "shares"
    correlation = "correlation"


class Ends(StrEnum):
    """How the interval of a difference is made."""

    t = "t"
    bca = "bca"


class Scale(StrEnum):
    """Unit of metrics in payoffs."""

    payoff = "payoff"
    range = "range"


class Family(StrEnum):
    """What Holm's correction covers."""

    metric = "metric"
    scope = "scope"
    all = "all"


Folders = Annotated[list[Path], typer.Argument(help="Run folders, joined.", metavar="RUN...")]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="What to compare: a column of the cells, or run. Default: the domain's first choice, "
        "such as strategy.",
        show_default=False,
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", help="What to compare with. Default: the first in the runs."),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", help="A metric. Repeatable. Default: all.")
]


def compare(
    folders: Folders,
    by: ByOption = None,
    baseline: Baseline = None,
    what: Annotated[Kind, typer.Option("--what", help="What to show.")] = Kind.differences,
    metrics: Metrics = None,
    by_task: Annotated[
        bool,
        typer.Option("--by-task", help="Also each task and model apart (differences, shares)."),
    ] = False,
    interval: Annotated[
        Ends, typer.Option("--interval", help="Of a difference. t: Student; bca: bootstrap.")
    ] = Ends.t,
    margin: Annotated[
        list[str] | None,
        typer.Option("--margin", help="METRIC=VALUE: test equivalence within it. Repeatable."),
    ] = None,
    scale: Annotated[
        Scale,
        typer.Option("--scale", help="range: divide payoffs by the game's range of payoffs."),
    ] = Scale.payoff,
    family: Annotated[
        Family,
        typer.Option(
            "--family",
            help="Holm's correction covers the comparisons of one metric, of "
            "all metrics in one scope, or all.",
        ),
    ] = Family.metric,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            help="For iqm and profiles: attained (default) or tom in matrix games.",
            show_default=False,
        ),
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option("--resamples", help="Default: 9999; 2000 for iqm and profiles."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the resamples.")] = 0,
    reference: ReferenceOption = None,
    form: TableFormat = Format.text,
) -> None:
    """Compare strategies with a baseline, paired by task, seed and episode."""
    from tomeval.comparing.sides import check_by, opened

    with opened(folders) as runs:
        table = _TABLES[what](
            runs,
            {
                "by": check_by(runs, by),
                "baseline": baseline,
                "metrics": metrics,
                "by_task": by_task,
                "interval": interval.value,
                "margins": _margins(margin or []),
                "scale": scale.value,
                "family": family.value,
                "score": score,
                "resamples": resamples,
                "seed": seed,
                "reference": reference.value if reference else None,
                "form": form.value,
            },
        )
    _show(table, form)


def power(
    folders: Folders,
    metric: Annotated[str, typer.Option("--metric", help="The metric.")],
    difference: Annotated[float, typer.Option("--difference", help="The difference to tell.")],
    by: ByOption = None,
    baseline: Baseline = None,
    chance: Annotated[float, typer.Option("--power", help="Probability of telling it.")] = 0.8,
    alpha: Annotated[float, typer.Option("--alpha", help="Two-sided level of the test.")] = 0.05,
    reference: ReferenceOption = None,
    form: TableFormat = Format.text,
) -> None:
    """Say how many paired episodes it takes to tell a difference, with a run as the pilot."""
    from tomeval.comparing.power import episodes_needed
    from tomeval.report.tables import render

    rows = episodes_needed(
        folders,
        metric,
        difference,
        by,
        baseline,
        power=chance,
        alpha=alpha,
        reference=reference.value if reference else None,
    )
    print(render(rows, form))


def _margins(texts: Sequence[str]) -> dict[str, float]:
    """Read METRIC=VALUE."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise TomevalError(f"--margin {text!r} cannot be read; write METRIC=VALUE")
    return found


_Table = tuple[list[dict[str, Any]], list[str], list[str]]  # rows, lines above, notes below


def _show(table: _Table, form: Format) -> None:
    """Print a table; as text with the lines above it and the notes below."""
    from tomeval.report.tables import render

    rows, above, below = table
    if form is Format.text:
        for line in above:
            print(line)
    print(render(rows, form))
    if form is Format.text:
        for line in below:
            print(f"note: {line}")


def _differences(runs: Sequence[Run], options: dict[str, Any]) -> _Table:
    from tomeval.comparing.comparison import compare as compare_runs
    from tomeval.report.comparisons import comparison_rows
    from tomeval.statistics import RESAMPLES

    names = ("by", "baseline", "metrics", "reference", "scale", "margins", "family", "seed")
    found = compare_runs(
        runs, resamples=options["resamples"] or RESAMPLES, **{name: options[name] for name in names}
    )
    method = "Student t" if options["interval"] == "t" else "BCa bootstrap"
    above = [
        f"{found.by} against {found.baseline!r}; difference = {found.by} - baseline over paired "
        f"episodes, 95 % interval: {method}",
        f"p: sign-flip permutation test; {found.family}; {found.resamples} resamples, seed "
        f"{found.seed}",
    ]
    rows = comparison_rows(found, options["form"], options["interval"], options["by_task"])
    return rows, above, list(found.notes)


def _mixed(runs: Sequence[Run], options: dict[str, Any]) -> _Table:
    from tomeval.comparing.mixed import mixed_model
    from tomeval.core.numbers import interval, p_text
    from tomeval.report.comparisons import READ

    if not options["metrics"]:
        raise TomevalError("a mixed model is of one metric: give --metric")
    rows: list[dict[str, Any]] = []
    above, notes = [], []
    for metric in options["metrics"]:
        names = ("by", "baseline", "reference", "scale")
        fit = mixed_model(runs, metric, **{name: options[name] for name in names})
        spread = ", ".join(f"{f.name} {f.sd:.3g} ({f.count} levels)" for f in fit.random)
        above.append(
            f"{metric}: {fit.by} against {fit.baseline!r}; {fit.observations} means; standard "
            f"deviations: {spread}, residual {fit.residual_sd:.3g}; "
            f"{fit.freedom} degrees of freedom"
        )
        notes += [f"{metric}: {note}" for note in fit.notes]
        for row in fit.rows():
            if options["form"] in READ:
                ends = (row["difference"], row["difference_low"], row["difference_high"])
                shown = {key: row[key] for key in ("metric", fit.by)}
                row = {
                    **shown,
                    "difference": interval(*ends, 3, symmetric=True),
                    "p": p_text(row["p"]),
                }
            rows.append(row)
    return rows, above, notes


def _scored(runs: Sequence[Run], options: dict[str, Any]) -> Any:
    from tomeval.comparing.profiles import collect_scores

    return collect_scores(runs, options["by"], options["score"], options["reference"])


def _words(runs: Sequence[Run], options: dict[str, Any]) -> str:
    """Return what the score is."""
    scores = runs[0].domain.scores
    return scores[options["score"] or next(iter(scores))].words


def _iqm(runs: Sequence[Run], options: dict[str, Any]) -> _Table:
    from tomeval.comparing.profiles import RESAMPLES, interquartile_means
    from tomeval.report.comparisons import aggregate_rows

    found = interquartile_means(
        _scored(runs, options), resamples=options["resamples"] or RESAMPLES, seed=options["seed"]
    )
    above = [f"interquartile mean of {_words(runs, options)}, 95 % bootstrap interval"]
    return aggregate_rows(found, options["by"], options["form"]), above, []


def _profiles(runs: Sequence[Run], options: dict[str, Any]) -> _Table:
    from tomeval.comparing.profiles import MANY, RESAMPLES, performance_profiles
    from tomeval.report.comparisons import profile_rows

    thresholds = [i / 10 for i in range(10)] if options["form"] not in ("csv", "json") else None
    scores = _scored(runs, options)
    found = performance_profiles(
        scores,
        thresholds,
        resamples=options["resamples"] or RESAMPLES,
        seed=options["seed"],
    )
    above = [f"share of episodes with {_words(runs, options)} above a threshold, 95 % bands"]
    least = min((len(part) for level in scores.levels for part in scores.played(level)), default=0)
    notes = [f"fewer than {MANY} episodes in some task: the bands are too narrow"]
    return profile_rows(found, options["by"], options["form"]), above, notes * (least < MANY)


def _shares(runs: Sequence[Run], options: dict[str, Any]) -> _Table:
    from tomeval.comparing.decomposition import decompose
    from tomeval.report.comparisons import share_rows

    found = decompose(runs, None if options["by_task"] else options["by"], options["reference"])
    notes = [f"{n}: {why}" for n, why in zip(found.names, found.reason, strict=True) if why]
    above = [
        f"parts of {found.whole.heading} (95 % Student intervals) and their shares (Fieller "
        "intervals)"
    ]
    return share_rows(found, options["form"]), above, notes


def _correlation(runs: Sequence[Run], options: dict[str, Any]) -> _Table:
    from tomeval.comparing.correlation import correlate
    from tomeval.report.comparisons import correlation_rows

    literal = options["metrics"] or runs[0].domain.headline[1:]
    found = [correlate(runs, name, reference=options["reference"]) for name in literal]
    above = ["correlation over cells, 95 % intervals (Fisher's z)"]
    return correlation_rows(found, options["form"], runs[0].measures), above, []


_TABLES = {
    Kind.differences: _differences,
    Kind.mixed: _mixed,
    Kind.iqm: _iqm,
    Kind.profiles: _profiles,
    Kind.shares: _shares,
    Kind.correlation: _correlation,
}


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(compare)
    app.command()(power)
