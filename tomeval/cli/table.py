"""The commands that print the tables of runs: of their cells, and of comparisons."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.cli.options import (
    Format,
    IntervalOption,
    ReferenceOption,
    RunFolders,
    TableFormat,
    WhereOption,
    pairs,
    show_table,
    tell_notes,
)
from tomeval.core.errors import TomevalError
from tomeval.core.files import check_ending, write_text
from tomeval.core.printing import show, show_data
from tomeval.core.text import in_line

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
            "tom or regret. Repeatable. Default: the headline measures.",
        ),
    ] = None,
    where: WhereOption = None,
    whole: Annotated[bool, typer.Option("--all", help="Show every measure and column.")] = False,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Split the rows of a domain's table by this column. Repeatable."),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How to print the table; csv and json have all columns. Default: text, or by the "
            "ending of -o.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the table to this file instead.")
    ] = None,
    interval: IntervalOption = "auto",
    reference: ReferenceOption = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            help="Show published results beside ours: a CSV, or one that ships, such as "
            "reported_results.",
        ),
    ] = None,
    as_model: Annotated[
        str | None,
        typer.Option("--as-model", help="With --against: which published model to show."),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="In the form of the paper's tables: its three measures, its names of rows and "
            "their order.",
        ),
    ] = False,
) -> None:
    """Print the table of a run: whether players use what they know."""
    from tomeval.api.showing import table_text
    from tomeval.comparing.sides import opened
    from tomeval.play.closing import nothing_measured
    from tomeval.report import views
    from tomeval.report.tables import DATA, WORDS, data
    from tomeval.runs.notes import copies_notes, few_notes, lacks_interval, void_notes
    from tomeval.runs.results import joined

    form = _format(form, out)
    to_read, as_data = form == "text" and out is None, form in DATA
    of_cells = bool(against or published or reference or interval != "auto")
    asked = views.Asked(
        tuple(metric or ()),
        *(whole, interval, reference, published, against, as_model, to_read),
    )
    with opened(folders, where or ()) as runs:
        run = joined(runs)
        what = _which_table(run, what, by, of_cells, several=len(runs) > 1)
        answers = to_read and what == CELLS and not (whole or against)
        if answers and not any(len(cell.episodes) for cell in run.cells):
            show(nothing_measured(runs))
            return
        if what == CELLS and not as_data:
            view = views.cells_view(runs, asked, WORDS[form])
            grids, notes = view.grids, view.notes
        else:
            if what == CELLS:
                rows, asked, notes = views.rows_of(runs, asked, data=True)
            else:
                chosen = run.table_of(what)
                rows, notes = chosen.rows(run, by or []), chosen.notes(run)
            brief = run.table_of(what).brief if what != CELLS else ()
            grid = None if as_data else views.table_grid(run, rows, asked, WORDS[form], brief)
            grids = [grid] if grid else []
            if grid and brief and not whole:
                notes = [*notes, "more columns: --all"]
            if what in (CELLS, next(iter(run.domain.tables), CELLS)):
                for one in runs:
                    notes += views.cells_notes(one, (), asked.interval, data=as_data)
            elif not as_data:
                lacks = (copies_notes, few_notes) if lacks_interval(rows) else ()
                notes += [note for make in (void_notes, *lacks) for note in make(run)]
        if as_data:
            text = data(views.chosen_rows(rows, run.measures, asked), form)
        else:
            text = table_text([], grids, [], form, fit=to_read)
        if out is not None:
            show(write_text(out, f"{text}\n"))
        elif as_data:
            show_data(text)
        else:
            show(text)
        if to_read and sys.stdout.isatty() and what == CELLS:
            notes += ["more metrics: --all, or --metric NAME"] if not whole else []
            notes += [f"other tables: --what {', '.join(run.tables)}"] if run.tables else []
    tell_notes(dict.fromkeys(notes))


def _format(form: Format | None, out: Path | None) -> Format:
    """Return the format, which the ending of a file may say."""
    if out is None:
        return form or "text"
    said = form or ""
    check_ending(out, said, {**SUFFIXES, "txt": said or "text"})
    return form or SUFFIXES.get(out.suffix[1:].lower(), "text")


def _which_table(
    run: Any, what: str | None, by: list[str] | None, of_cells: bool, several: bool
) -> str:
    """Return which table is asked for."""
    if several and (what not in (None, CELLS) or by):
        raise TomevalError("several runs share only the table of cells: leave out --what and --by")
    first = next(iter(run.domain.tables), CELLS)
    what = what or (first if by and not of_cells else CELLS)
    if what != CELLS:
        run.table_of(what)
        if of_cells:
            raise TomevalError(
                "--interval, --reference, --against and --published need --what cells"
            )
    elif by:
        own = ", ".join(run.tables) or "none"
        raise TomevalError(f"--by needs one of the domain's own tables (here: {own})")
    return what


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
    from tomeval.api.showing import table_text
    from tomeval.comparing.sides import check_by, opened
    from tomeval.report.comparisons import table_named
    from tomeval.report.rows import grid_of
    from tomeval.runs.notes import copies_notes, looked_notes, stop_notes, stopped_when

    options: dict[str, Any] = {
        **{"by": by, "baseline": baseline, "metric": metrics, "by_task": by_task},
        **{"margin": margin, "formula": formula, "difference": difference},
    }
    given = [n for n, v in options.items() if v not in (None, False, "", [])]
    table = table_named(what, [f"--{name.replace('_', '-')}" for name in given])
    margins = pairs("--margin", margin, "METRIC=VALUE")
    options |= {"metrics": metrics, "margins": {name: _number(v) for name, v in margins.items()}}
    options |= {"reference": reference, "form": form, "resamples": resamples}
    with opened(folders, where or ()) as runs:
        rows, above, below = table(runs, options | {"by": check_by(runs, by)})
        measures = runs[0].measures
        notes = [*below, *chain(*map(stop_notes, runs))]
        stops = [stopped_when(run) for run in runs if run.until]
        if what != "differences":
            notes += [*chain(*map(copies_notes, runs)), *chain(*map(looked_notes, runs))]
    if form == "text":
        grids = [grid_of(rows, measures, words=in_line)] if rows else []
        show(table_text(above, grids, notes))
    else:
        show_table(rows, form, measures, above=stops)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TomevalError(f"--margin {text!r}: write METRIC=VALUE, with a number") from None
