"""The command that compares players."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tomeval.cli.options import (
    ReferenceOption,
    TableFormat,
    WhereOption,
    pairs,
    show_table,
)
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show_wrapped
from tomeval.core.text import in_line

USUAL = {"scale": "payoff"}


def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="One or more run folders.", metavar="RUN...")
    ],
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="What to compare, such as strategy, its parts context, advice and answer, model, "
            "in matrix games subject or labels, or run. Default: the usual one of the runs' game.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="What to compare with. Default: the first in the runs."),
    ] = None,
    what: Annotated[
        str,
        typer.Option(
            "--what",
            help="differences, power, regression or memory.",
        ),
    ] = "differences",
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="A metric, by its name, its heading or the beginning of either, such as regret or "
            "'ToM %'. Repeatable. Default: all.",
        ),
    ] = None,
    where: WhereOption = None,
    by_task: Annotated[
        bool,
        typer.Option("--by-task", help="Also compare within each task (differences)."),
    ] = False,
    margin: Annotated[
        list[str] | None,
        typer.Option("--margin", help="METRIC=VALUE: test equivalence within ± VALUE. Repeatable."),
    ] = None,
    scale: Annotated[
        Literal["payoff", "attainable"],
        typer.Option(
            "--scale",
            help="attainable: divide payoffs by the difference between the best and the worst "
            "response to the partners.",
        ),
    ] = "payoff",
    formula: Annotated[
        str | None,
        typer.Option(
            "--formula",
            help="For regression: columns of the step table, such as "
            '"regret ~ subject * log(step)".',
        ),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            "--difference",
            help="For power: the true difference in --metric to be found; the runs are the pilot.",
        ),
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples")] = 9_999,
    reference: ReferenceOption = None,
    form: TableFormat = "text",
) -> None:
    """Compare players with a baseline, paired by task and episode."""
    from tomeval.cli.progress import working
    from tomeval.comparing.sides import check_by, opened
    from tomeval.report.comparisons import SPARE, table_named
    from tomeval.runs.notes import copies_notes, looked_notes, stop_notes, stopped_when

    options: dict[str, Any] = {
        **{"by": by, "baseline": baseline, "metric": metrics, "by_task": by_task},
        **{"margin": margin, "scale": scale},
        **{"formula": formula, "difference": difference},
    }
    given = [n for n, v in options.items() if v not in (None, False, "", [], USUAL.get(n))]
    table = table_named(what, [f"--{name.replace('_', '-')}" for name in given])
    margins = pairs("--margin", margin, "METRIC=VALUE")
    options |= {"metrics": metrics, "margins": {name: _number(v) for name, v in margins.items()}}
    options |= {"reference": reference, "form": form, "resamples": resamples}
    with opened(folders, where or ()) as runs, working("comparing"):
        rows, above, below = table(runs, options | {"by": check_by(runs, by)})
        measures = runs[0].measures
        notes = [*below, *chain(*map(stop_notes, runs))]
        stops = [stopped_when(run) for run in runs if run.until]
        if what != "differences":
            notes += [*chain(*map(copies_notes, runs)), *chain(*map(looked_notes, runs))]
    is_text = form == "text"
    for line in above if is_text else ():
        show_wrapped(in_line(line))
    show_table(rows, form, measures, above=() if is_text else stops, spare=SPARE)
    for note in notes if is_text else ():
        show_wrapped(in_line(f"note: {note}"))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TomevalError(f"--margin {text!r}: write METRIC=VALUE, with a number") from None
