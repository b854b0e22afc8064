"""The commands that make files of a run: figures, a report, exports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tomeval.cli.options import (
    RunFolder,
    RunFolders,
    WhereOption,
)
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show, tell
from tomeval.core.text import in_line


def plot(
    folders: RunFolders,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Draw this figure, such as forest. Repeatable. Default: the most informative few.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Draw every figure that the run's data supports.")
    ] = False,
    where: WhereOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="Measure of forest, such as regret or 'ToM %'. Repeatable.",
        ),
    ] = None,
    column: Annotated[
        str,
        typer.Option(
            "--column",
            help="Width: screen (110 mm, readable on a telephone), or a single (85 mm) or double "
            "(175 mm) column of a page.",
        ),
    ] = "screen",
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="png, svg or pdf. Repeatable. Default: png."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="What regret and tom lay over each other: strategy, model or labels, for example.",
        ),
    ] = None,
    window: Annotated[
        int,
        typer.Option("--window", help="For regret and tom: steps in the moving window; 1: none."),
    ] = 5,
) -> None:
    """Draw the figures that say most of a run, or those named.

    Several runs of one domain are drawn as one.
    """
    from tomeval.comparing.sides import opened
    from tomeval.plots import Options, figures_of, plot_run
    from tomeval.runs.results import joined
    from tomeval.runs.selection import choose_measures, first_part

    with opened(folders, where or ()) as runs:
        run = joined(runs)
        metrics = tuple(choose_measures(run.measures, metric or ()))
        options = Options(column, by=by, metrics=metrics, window=window)
        files = plot_run(
            run, out, options, only=only or (), every=every, formats=formats or ("png",)
        )
        for path in files:
            show(path)
        if left_out := first_part(run)[1]:
            tell(f"note: {in_line(left_out)}")
        left = [n for n in figures_of(run) if not any(one.stem.startswith(n) for one in files)]
        if left and not only:
            why = "its data supports none" if every else "--all, or --only NAME"
            tell(f"note: not drawn: {', '.join(left)} ({why})")


def report(
    folder: RunFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    by: Annotated[
        str | None, typer.Option("--by", help="What to compare, such as strategy or model.")
    ] = None,
    games: Annotated[bool, typer.Option(help="Show a few games, with prompts and replies.")] = True,
    figures: Annotated[bool, typer.Option(help="Draw the run's first figures.")] = True,
    where: WhereOption = None,
) -> None:
    """Write one HTML file: tables, figures, comparisons, games."""
    from tomeval.report.page import write_report
    from tomeval.runs.results import Run
    from tomeval.runs.selection import first_part

    if out.suffix.lower() not in ("", ".html", ".htm"):
        raise TomevalError(f"-o {out}: a report is one HTML file: {out.with_suffix('.html')}")
    with Run(folder, where or ()) as opened:
        written = write_report(opened, out, by=by, games=games, figures=figures)
        left_out = first_part(opened)[1]
    show(written)
    if left_out:
        tell(f"note: {in_line(left_out)}")


def export(
    folder: RunFolder,
    what: Annotated[
        str | None,
        typer.Option(
            "--what",
            metavar="steps|episodes|answers|cells",
            help="Which table; answers: the outcome of every question. Default: steps.",
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv, jsonl; or a format of the whole run, such as hub.",
        ),
    ] = "csv",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write (default: standard output), or a folder."),
    ] = None,
) -> None:
    """Export a table of a run, or the whole run."""
    from tomeval.report.exporting import export as export_any
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        for path in export_any(opened, form, what, out):
            show(path)
