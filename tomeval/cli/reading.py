"""The commands that read a run, and the lists of what experiments can name."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Annotated

import typer

from tomeval.cli.options import RunFolder, TableFormat, show_table
from tomeval.core.printing import show

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


def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="domains, experiments, measures, strategies or prompts; or a list of a domain, "
            "such as games, partners, subjects or labels of matrix games."
        ),
    ],
    form: TableFormat = "text",
) -> None:
    """List what an experiment can name."""
    from tomeval.cli.listing import list_rows

    show_table(list_rows(what), form)


COMMANDS = (status, transcript, list_)
