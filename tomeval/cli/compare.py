"""The command that compares players."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tomeval.cli.options import (
    ReferenceOption,
    TableFormat,
    WhereOption,
    completing,
    folded,
    show_table,
)
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show

if TYPE_CHECKING:
    from tomeval.runs.measures import Measure

Folders = Annotated[
    list[Path],
    typer.Argument(help="One or more run folders.", metavar="RUN..."),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="What to compare, such as strategy, subject, model or labels in matrix games, or run. "
        "Default: the usual one of the runs' kind of game.",
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", help="What to compare with. Default: the first in the runs."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="A metric, by its name, its heading or the beginning of either, such as regret or "
        "'ToM %'. Repeatable. Default: all.",
    ),
]
ByTask = Annotated[
    bool,
    typer.Option(
        "--by-task",
        help="Also compare within each task, such as a game and partner set (differences, shares).",
    ),
]
EndsOption = Annotated[
    Literal["t", "bca"],
    typer.Option("--interval", help="Interval of a difference. t: Student's t; bca: bootstrap."),
]
Margins = Annotated[
    list[str] | None,
    typer.Option(
        "--margin", hidden=True, help="METRIC=VALUE: test equivalence within ± VALUE. Repeatable."
    ),
]
ScaleOption = Annotated[
    Literal["payoff", "range", "attainable"],
    typer.Option(
        "--scale",
        hidden=True,
        help="range: divide payoffs by the game's range of payoffs; attainable: by the difference "
        "between the best and the worst response to the partners.",
    ),
]
FamilyOption = Annotated[
    Literal["metric", "scope", "all"],
    typer.Option(
        "--family",
        hidden=True,
        help="Holm's correction covers the comparisons of one metric, of "
        "all metrics in one scope, or all.",
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        hidden=True,
        help="For iqm and profiles: in matrix games attained, the share of the attainable reward, "
        "or tom, ToM %. Default: the first of the runs' kind of game.",
    ),
]
Formula = Annotated[
    str | None,
    typer.Option(
        "--formula",
        hidden=True,
        help='For regression: columns of the step table, such as "regret ~ subject * log(step) + '
        '(1|episode)".',
    ),
]
Resamples = Annotated[
    int | None,
    typer.Option("--resamples", hidden=True, help="Default: 9999; 2000 for iqm and profiles."),
]


def compare(
    folders: Folders,
    by: ByOption = None,
    baseline: Baseline = None,
    what: Annotated[
        str,
        typer.Option(
            "--what",
            help="differences, iqm, profiles, shares, correlation or power; of extensions "
            "regression, sensitivity and others.",
            autocompletion=completing("comparisons"),
        ),
    ] = "differences",
    metrics: Metrics = None,
    where: WhereOption = None,
    by_task: ByTask = False,
    interval: EndsOption = "t",
    margin: Margins = None,
    scale: ScaleOption = "payoff",
    family: FamilyOption = "metric",
    score: Score = None,
    formula: Formula = None,
    difference: Annotated[
        float | None,
        typer.Option(
            "--difference",
            help="For power: the true difference in --metric to be found; the runs are the pilot.",
        ),
    ] = None,
    power: Annotated[
        float, typer.Option("--power", hidden=True, help="For power: probability of finding it.")
    ] = 0.8,
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            hidden=True,
            help="For power: two-sided level of all tests that are corrected together.",
        ),
    ] = 0.05,
    resamples: Resamples = None,
    seed: Annotated[int, typer.Option("--seed", hidden=True, help="Seed of the resamples.")] = 0,
    reference: ReferenceOption = None,
    form: TableFormat = "text",
) -> None:
    """Compare players, such as strategies, with a baseline: paired by task, seed and episode."""
    from tomeval.cli.progress import working
    from tomeval.comparing.sides import check_by, opened
    from tomeval.report.comparisons import table_named
    from tomeval.runs.notes import looked_notes, sampled_notes, stop_notes, stopped_when

    options: dict[str, Any] = {
        "by": by,
        "baseline": baseline,
        "metrics": metrics,
        "by_task": by_task,
        "interval": interval,
        "margins": margin,
        "scale": scale,
        "family": family,
        "score": score,
        "formula": formula,
        "difference": difference,
        "power": power,
        "alpha": alpha,
    }
    usual = {"interval": "t", "scale": "payoff", "family": "metric", "power": 0.8, "alpha": 0.05}
    named = {"metrics": "--metric", "by_task": "--by-task", "margins": "--margin"}
    given = [name for name, v in options.items() if v not in (None, False, "", [], usual.get(name))]
    table = table_named(what, [named.get(name, f"--{name}") for name in given])
    options |= {"margins": _margins(margin or []), "resamples": resamples, "seed": seed}
    options |= {"reference": reference, "form": form}
    with opened(folders, where or ()) as runs, working("comparing"):
        rows, above, below = table(runs, options | {"by": check_by(runs, by)})
        measures = runs[0].measures
        below = [*below, *chain(*map(stop_notes, runs))]
        stops = [stopped_when(run) for run in runs if run.until]
        if what != "differences":
            below = [*below, *sampled_notes(runs), *chain(*map(looked_notes, runs))]
    _print(rows, above, below, form, measures, stops)


def _print(
    rows: list[dict[str, Any]],
    above: list[str],
    below: list[str],
    form: str,
    measures: Mapping[str, Measure],
    stops: Sequence[str] = (),
) -> None:
    """Print a table, as text with the lines above it and the notes below; elsewhere its `stops`."""
    from tomeval.report.comparisons import SPARE

    for line in above if form == "text" else ():
        show(folded(line, sys.stdout))
    show_table(rows, form, measures, above=() if form == "text" else stops, spare=SPARE)
    for line in below if form == "text" else ():
        show(folded(f"note: {line}", sys.stdout))


def _margins(texts: Sequence[str]) -> dict[str, float]:
    """Read METRIC=VALUE."""
    margins = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            margins[name.strip()] = float(value)
        except ValueError:
            raise TomevalError(f"--margin {text!r}: write METRIC=VALUE") from None
    return margins
