"""The command that prints the tables of a run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tomeval.cli.options import (
    Format,
    IntervalOption,
    ReferenceOption,
    RunFolders,
    WhereOption,
    show_grids,
    tell_notes,
)
from tomeval.core.errors import TomevalError
from tomeval.core.files import check_ending
from tomeval.core.printing import show, show_data

if TYPE_CHECKING:
    from tomeval.report.tables import Grid
    from tomeval.report.views import Asked, View
    from tomeval.runs.results import Run

Rows = list[dict[str, Any]]
CELLS = "cells"  # the table that every run has

SUFFIXES: dict[str, Format] = {"csv": "csv", "json": "json", "md": "markdown", "tex": "latex"}


def table(
    folders: RunFolders,
    what: Annotated[
        str | None,
        typer.Option(
            "--what",
            help="cells: the measures of every cell with 95 % intervals; or a table of the run's "
            "domain. Default: cells.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="Show this measure: its name, its heading or the beginning of its name, such as "
            "tom or regret. Repeatable. Default: the functional one.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", help="Show only these columns, separated by commas. Repeatable."),
    ] = None,
    where: WhereOption = None,
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            help="Sort by this column, measures within their task and best first; -COLUMN: "
            "reversed; none: in the order of the experiment. Default: by the measure shown.",
        ),
    ] = "",
    pivot: Annotated[
        str,
        typer.Option(
            "--pivot",
            help="Columns whose values become columns of the table, separated by commas; none: a "
            "row per cell. Default: the tasks, if one measure is shown and they are few.",
        ),
    ] = "",
    whole: Annotated[bool, typer.Option("--all", help="Show every measure and column.")] = False,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Split the rows of a domain's table by this column. Repeatable."),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How to print the table. csv and json have all columns unless some are named; "
            "spreadsheet: csv in which no text is read as a formula. Default: text, or by the "
            "ending of -o.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the table to this file instead.")
    ] = None,
    caption: Annotated[
        str | None, typer.Option("--caption", hidden=True, help="With --format latex: the caption.")
    ] = None,
    label: Annotated[
        str, typer.Option("--label", hidden=True, help="With --format latex: the label for \\ref.")
    ] = "",
    interval: IntervalOption = "auto",
    reference: ReferenceOption = None,
    predict: Annotated[
        Literal["argmax", "drawn"] | None,
        typer.Option(
            "--predict",
            hidden=True,
            help="Read predictions of scored labels as the most probable one, or drawn from their "
            "stored probabilities. Default: as recorded.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            help="Show published results or facts beside the run's: a CSV, or a name from tomeval "
            "list results.",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="In the form of the paper's tables: its three measures, its names of rows and "
            "their order.",
        ),
    ] = False,
    as_model: Annotated[
        str | None,
        typer.Option(
            "--as-model", hidden=True, help="With --against: which published model to show."
        ),
    ] = None,
    best: Annotated[
        list[str] | None,
        typer.Option(
            "--best-of",
            hidden=True,
            help="One row for the best of several players in every task, by the first measure: the "
            "beginning of their names, such as Reflexion, or a pattern with *. Repeatable. "
            "--against does this by itself where the published row is a best-of row.",
        ),
    ] = None,
) -> None:
    """Print a table of a run, or of several; of matrix games, whether each uses what it knows."""
    from tomeval.report.published import beside, plain_view, published_rows
    from tomeval.report.tables import DATA, WORDS, data
    from tomeval.report.views import Asked, View, cells_notes, cells_view, chosen_rows, needed
    from tomeval.runs.notes import few_notes, lacks_interval
    from tomeval.runs.results import Run, joined
    from tomeval.runs.selection import split

    ending = out.suffix[1:].lower() if out else ""
    if out is not None:
        said = "csv" if form == "spreadsheet" else form or ""
        check_ending(out, said, {**SUFFIXES, "txt": said or "text"})
    form = form or SUFFIXES.get(ending, "text")
    if form != "latex" and (caption is not None or label):
        raise TomevalError("--caption and --label need --format latex")
    named = tuple(part for text in columns or () for part in split(text))
    to_read = form == "text" and out is None
    asked = Asked(tuple(metric or ()), named, sort, pivot, whole, interval, reference, to_read)
    _check(asked, against, best, published)
    with ExitStack() as stack:
        runs = [stack.enter_context(Run(one, where or (), predict or "")) for one in folders]
        if len(runs) > 1:
            if what not in (None, CELLS) or by or against or best:
                raise TomevalError(
                    "several runs share only the table of cells: leave out --what, --by, --against "
                    "and --best-of"
                )
            what = CELLS
        opened = joined(runs)
        of_cells = bool(against or best or published or reference or interval != "auto" or pivot)
        what = _which_table(opened, what, by, of_cells)
        if against is not None:
            rows, notes = beside(opened, against, as_model, interval, reference)
        elif published:
            rows, asked, notes = published_rows(runs, asked, best or ())
        elif what == CELLS:
            names = needed(opened, asked, data=form in DATA)
            rows, notes = _of_cells(runs, names, best, interval, reference)
        else:
            table = opened.table_of(what)
            rows, notes = table.rows(opened, by or []), table.notes(opened)
        answers = to_read and what == CELLS and not (whole or named or against)
        if answers and not any(row["episodes"] for row in rows):
            from tomeval.runs.closing import nothing_measured

            show(nothing_measured(runs))
            return
        if form in DATA:
            view = View([], [])
            _put(data(chosen_rows(rows, opened.measures, asked), form), form, out)
        else:
            plain = against is not None or what != CELLS
            view = (plain_view if plain else cells_view)(opened, rows, asked, WORDS[form])
            _put_grids(view.grids, form, out, caption, label)
            notes += [view.rule] if view.rule else []
        if form == "text" and sys.stdout.isatty():
            notes += _more(opened, rows, view) if what == CELLS else []
        if what in (CELLS, opened.domain.show.first_table):
            for one in runs:
                notes += cells_notes(one, view.shown, asked.interval, data=form in DATA)
            notes = list(dict.fromkeys(notes))
        elif form not in DATA and lacks_interval(rows):
            notes += few_notes(opened)
    tell_notes(notes)


def _check(asked: Asked, against: Path | None, best: list[str] | None, published: bool) -> None:
    """Raise if what is asked for cannot be had together."""
    if asked.whole and (asked.metrics or asked.columns or asked.pivot):
        raise TomevalError("--all shows everything: leave out --metric, --columns and --pivot")
    if asked.columns and asked.pivot:
        raise TomevalError("--columns needs a table with a row per cell: leave out --pivot")
    if published and (asked.whole or asked.columns or against is not None):
        raise TomevalError(
            "--published has columns of its own: leave out --all, --columns, --against"
        )
    if against is not None and best:
        raise TomevalError(
            "--against chooses the best where the published row does: leave out --best-of"
        )
    if against is not None and asked.pivot:
        raise TomevalError("--against has a row per cell: leave out --pivot")


def _which_table(run: Run, what: str | None, by: list[str] | None, asked_of_cells: bool) -> str:
    """Return which table is asked for."""
    first = run.domain.show.first_table or next(iter(run.tables), CELLS)
    what = what or (first if by and not asked_of_cells else CELLS)
    if what != CELLS:
        run.table_of(what)
        if asked_of_cells:
            raise TomevalError(
                "--interval, --reference, --best-of, --against, --published and --pivot need "
                "--what cells"
            )
    elif by:
        own = ", ".join(run.tables) or "none"
        raise TomevalError(f"--by needs one of the domain's own tables (here: {own})")
    return what


def _of_cells(
    runs: Sequence[Run],
    names: list[str] | None,
    best: list[str] | None,
    interval: str,
    reference: str | None,
) -> tuple[Rows, list[str]]:
    """Return the rows of the cells, or of the best of several players, and notes."""
    from tomeval.runs.best_of import best_of
    from tomeval.runs.results import joined_rows

    # A bootstrap takes all measures together.
    rows = joined_rows(runs, None if best or interval == "bca" else names, interval, reference)
    return best_of(runs[0], rows, best) if best else (rows, [])


def _put_grids(
    grids: Sequence[Grid], form: Format, out: Path | None, caption: str | None, label: str
) -> None:
    """Print tables for reading, or write them to a file."""
    from tomeval.report.tables import set_grid

    if form == "text" and out is None and grids:
        show_grids(grids, form)
    else:
        texts = [set_grid(grid, form, caption=caption, label=label) for grid in grids]
        _put("\n\n".join(texts) or "nothing to show", form, out)


def _put(text: str, form: Format, out: Path | None) -> None:
    """Print the text of a table, or write it to a file."""
    from tomeval.core.files import write_text
    from tomeval.report.tables import DATA

    if out is not None:
        show(write_text(out, f"{text}\n"))
    elif form in DATA:
        show_data(text)
    else:
        show(text)


def _more(run: Run, rows: Rows, view: View) -> list[str]:
    """Say what else there is to see."""
    from tomeval.report.views import further

    notes = []
    if left := view.left_out + further(run, rows):
        metrics = "metric" if left == 1 else "metrics"
        notes.append(f"{left} more {metrics}: --all, or --metric NAME")
    return notes + ([f"other tables: --what {', '.join(run.tables)}"] if run.tables else [])
