"""The commands that read a run, and the lists of what experiments can name."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tomeval.cli.options import IntervalOption, ReferenceOption, RunFolder, TableFormat, show_table
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.printing import show, tell
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.results import Run

CELLS = "cells"  # the table that every run has


def status(folder: RunFolder, form: TableFormat = "text") -> None:
    """Show how many episodes of each cell are on disk, and what is missing.

    The exit code is 0 whatever is missing: the run could be read.
    """
    from tomeval.runs.closing import closing
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        show_table(opened.status(), form)
        if form == "text":
            show("\n".join(["", *closing(opened).lines]))


def table(
    folder: RunFolder,
    what: Annotated[
        str | None,
        typer.Option(
            "--what",
            help="cells: one row per cell, every measure with its 95 % interval; or a table of "
            "the run's domain. Default: the first of the domain's tables, else cells.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Tell rows of a domain's table apart by this. Repeatable."),
    ] = None,
    form: TableFormat = "text",
    interval: IntervalOption = "auto",
    reference: ReferenceOption = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="Show published results beside the run's, from this CSV."),
    ] = None,
    as_model: Annotated[
        str | None,
        typer.Option("--as-model", help="With --against: which published model to show."),
    ] = None,
    best: Annotated[
        list[str] | None,
        typer.Option(
            "--best-of",
            help="One row for the best of several players in every task, by the first measure: the "
            "beginning of their names, such as Reflexion, or a pattern with *. Repeatable. "
            "--against does so by itself where the published row is such a best one.",
        ),
    ] = None,
) -> None:
    """Print a table of a run; by default one row per cell, or the first table of its domain."""
    from tomeval.report.tables import DATA
    from tomeval.runs.best_of import best_of
    from tomeval.runs.copies import copies_notes
    from tomeval.runs.draws import weight_notes
    from tomeval.runs.intervals import alike_notes
    from tomeval.runs.results import Run

    notes: list[str] = []
    with Run(folder) as opened:
        tables = opened.domain.tables
        asked_of_cells = bool(against or best or reference or interval != "auto")
        first = opened.domain.first_table or next(iter(tables), CELLS)
        what = _which_table(tables, what, by, asked_of_cells, first)
        if against and best:
            raise TomevalError(
                "--against takes the best where the published row is one: leave out --best-of"
            )
        if against is not None:
            interval = "normal" if interval == "auto" else interval  # as published
            rows, notes = _beside(opened, against, as_model, interval, reference)
        elif what == CELLS:
            rows = opened.rows(interval, reference)
            if best:
                rows, notes = best_of(opened, rows, best)
        else:
            rows = tables[what](opened, by or [])
            rows = rows if form in DATA else _with_numbers(rows)
        task = (*opened.domain.task, "seed") if what == CELLS and not against else None
        if what in (CELLS, opened.domain.first_table):  # rows of cells
            notes += [*copies_notes(opened), *weight_notes(opened, interval)]
            notes += alike_notes(opened) if form not in DATA else []
            notes += opened.domain.table_notes(opened)
        show_table(rows, form, opened.measures, task, opened.domain.aside)
    for note in notes:
        tell(f"note: {in_line(note)}")


def _which_table(
    tables: Collection[str],
    what: str | None,
    by: list[str] | None,
    asked_of_cells: bool,
    first: str,
) -> str:
    """Return which table is asked for, given those of the run's domain and the first of them."""
    what = what or (CELLS if asked_of_cells else first)
    if what != CELLS and what not in tables:
        raise unknown("table", what, [CELLS, *tables])
    if what != CELLS and asked_of_cells:
        raise TomevalError("--interval, --reference, --best-of and --against go with --what cells")
    if what == CELLS and by:
        own = ", ".join(tables) or "none"
        raise TomevalError(f"--by goes with the domain's own tables (here: {own})")
    return what


def _beside(
    run: Run, against: Path, as_model: str | None, interval: str, reference: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a run's rows beside published ones, which are of matrix games."""
    from tomeval.domains.matrix.domain import MATRIX
    from tomeval.domains.matrix.published import beside

    if run.domain is not MATRIX:
        raise TomevalError(f"--against is for matrix games, {run.folder} is of {run.domain.name!r}")
    return beside(run, against, model=as_model, interval=interval, reference=reference)


def _with_numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the columns that have no number in any row."""
    from tomeval.runs.columns import is_interval

    gone: set[str] = set()
    measure = ""
    for column in rows[0] if rows else ():
        measure = measure if is_interval(column) else column
        values = [row[column] for row in rows]
        if measure in gone or all(isinstance(v, float) and math.isnan(v) for v in values):
            gone.add(column)
    return [{name: value for name, value in row.items() if name not in gone} for row in rows]


def plot(
    folder: RunFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder for the pictures.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Draw this figure: forest, differences or profiles, or one of the run's domain, "
            "in matrix games regret, tom, scatter, decomposition and label_bias. Repeatable. "
            "Default: all that the run supports.",
        ),
    ] = None,
    column: Annotated[
        str, typer.Option("--column", help="Width: a double or a single column of a page.")
    ] = "double",
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="png, svg or pdf. Repeatable. Default: png and svg."),
    ] = None,
    interval: IntervalOption = "auto",
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="What to lay over each other in one panel, or to compare: in matrix games "
            "strategy, subject, model or labels. For regret, tom, differences and profiles.",
        ),
    ] = None,
) -> None:
    """Draw all figures that a run's data supports, or those named."""
    from tomeval.plots import figures_by, figures_of, plot_run
    from tomeval.runs.draws import weight_notes
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        for path in plot_run(
            opened,
            out,
            interval,
            only=only or (),
            column=column,
            formats=formats or ("png", "svg"),
            by=by,
        ):
            show(path)
        for note in weight_notes(opened, interval):
            tell(f"note: {in_line(note)}")
        left = [name for name in figures_of(opened) if name not in figures_by(opened)]
        if by is not None and not only and left:
            tell(f"note: --by {by} does not apply to {', '.join(left)}, which were not drawn")


def transcript(
    folder: RunFolder,
    episode: Annotated[int, typer.Option("--episode", help="Which episode, from 0.")] = 0,
    cell: Annotated[int, typer.Option("--cell", help="Which cell, from 0.")] = 0,
    cells: Annotated[bool, typer.Option("--cells", help="List the cells instead.")] = False,
    calls: Annotated[bool, typer.Option(help="Show what models read and wrote.")] = True,
) -> None:
    """Print an episode as a reader wants it: moves, and what was asked and said."""
    from tomeval.runs.results import Run
    from tomeval.runs.transcripts import cell_lines, transcript_lines

    with Run(folder) as opened:
        lines = cell_lines(opened) if cells else transcript_lines(opened, cell, episode, calls)
        for line in lines:
            for part in _folded(line):
                show(part)


def _folded(line: str) -> list[str]:
    """Return a line of a transcript in parts that fit a terminal; whole if a program reads it.

    Prompts stay as they are.
    """
    if not sys.stdout.isatty() or line.startswith("   > "):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 3)
    columns = max(40, shutil.get_terminal_size().columns)
    folded = textwrap.wrap(line, columns, subsequent_indent=indent, break_on_hyphens=False)
    return folded or [line]


COMMANDS = (status, table, plot, transcript)
