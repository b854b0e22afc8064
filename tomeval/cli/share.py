"""The commands that make a run readable by others: a report, exports, a dataset on the Hub."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

from tomeval.cli import completing
from tomeval.cli.options import IntervalOption, ReferenceOption, RunFolder, WhereOption, pairs
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show, tell
from tomeval.core.text import in_line


def report(
    folder: RunFolder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    interval: IntervalOption = "auto",
    reference: ReferenceOption = None,
    by: Annotated[
        str | None, typer.Option("--by", help="What to compare, such as strategy or model.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="What the others are compared with.")
    ] = None,
    transcripts: Annotated[
        str,
        typer.Option(
            "--transcripts",
            help="For how many episodes per cell to include prompts and replies: a number, none, "
            "all, or auto (up to 100,000 model calls).",
        ),
    ] = "auto",
    figures: Annotated[bool, typer.Option(help="Draw figures.")] = True,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="Draw this figure only, by its name for tomeval plot. Repeatable."
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Draw every figure that the run supports: many, with many tasks."
        ),
    ] = False,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="A measure of the tables, by name or heading, such as regret or 'ToM %'. "
            "Repeatable. Default: the headline measures. The others open on demand.",
        ),
    ] = None,
    where: WhereOption = None,
    workers: Annotated[
        int, typer.Option("--workers", help="Processes that draw a large run's figures.")
    ] = 2,
) -> None:
    """Write a report: one HTML file with tables, figures, comparisons and every game."""
    from tomeval.cli.progress import working
    from tomeval.report import ReportOptions, write_report
    from tomeval.runs.results import Run
    from tomeval.runs.selection import first_part

    if (only or everything) and not figures:
        raise TomevalError("--only and --all draw figures: leave out --no-figures")
    options = ReportOptions(
        interval=interval,
        reference=reference,
        by=by,
        baseline=baseline,
        transcripts=_count(transcripts),
        figures=figures,
        only=tuple(only or ()),
        all_figures=everything,
        metrics=tuple(metrics or ()),
        workers=workers,
    )
    with Run(folder, where or ()) as opened:
        opened.check_reference(reference)
        with working("writing the report"):
            written = write_report(opened, out, options)
        show(written)
        if left_out := first_part(opened)[1]:
            tell(f"note: {in_line(left_out)}")


def _count(text: str) -> int | None:
    """Read the option --transcripts."""
    if text == "auto":
        return None
    if text in ("all", "none"):
        return sys.maxsize if text == "all" else 0
    if text.isascii() and text.isdigit():
        return int(text)
    raise TomevalError(f"--transcripts must be a number, none, all or auto, is {text!r}")


def export(
    folder: RunFolder,
    what: Annotated[
        Literal["steps", "episodes", "answers", "cells", "origins"] | None,
        typer.Option(
            "--what",
            help="Which table; answers: what became of every question; origins: where episodes "
            "were played. Default: steps.",
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv, jsonl, parquet; spreadsheet: csv in which no text is taken for a "
            "formula; or the whole run for another program: tomeval list formats.",
            autocompletion=completing.formats,
        ),
    ] = "csv",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write (default: standard output), or a folder."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="What a format of the whole run is told, such as repo=OWNER/NAME. Repeatable.",
        ),
    ] = None,
) -> None:
    """Export a table of a run, or the whole run, for other programs."""
    from tomeval.cli.progress import working
    from tomeval.report.exporting import export as export_any
    from tomeval.runs.results import Run

    given = pairs("--set", settings, "KEY=VALUE")
    with Run(folder) as opened:
        # Data on standard output is not to be mixed with anything.
        with working("exporting") if out is not None else nullcontext():
            written = export_any(opened, form, what, out, given)
        for path in written:
            show(path)
