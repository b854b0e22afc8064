"""The command that rates the players of a run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tomeval.cli.options import RunFolder, TableFormat, show_table, tell_notes
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show

SUBSET = "subset"
"""The column that says whether a row is of all games or of those without errors."""


def ratings(
    folder: RunFolder,
    what: Annotated[
        list[str] | None,
        typer.Option(
            "--what",
            help="ratings, board, payoffs, games, "
            "errors or selection. Repeatable. Default: a row per player; in "
            "formats for programs, which hold one table, ratings.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print all tables.")] = False,
    form: TableFormat = "text",
) -> None:
    """Rate players from all games and from games without errors, and show who caused errors."""
    from tomeval.extensions.ratings.tables import RATED, on_one_screen, rating_tables
    from tomeval.report.tables import DATA
    from tomeval.runs.results import Run

    if every and what:
        raise TomevalError("--all and --what cannot be combined")
    with Run(folder) as opened:
        names = list(RATED) if every else what or ["ratings"]
        if form in DATA and len(names) > 1:
            raise TomevalError(f"--format {form} holds one table: give one --what")
        short = not (every or what or form in DATA)
        asked = ["ratings", "errors"] if short else names
        tables = list(rating_tables(opened, asked))
        for table in tables[:1] if short else tables:
            rows, notes = table.rows, [*table.notes]
            if form not in DATA:
                rows, same = _subsets_once(rows)
                notes += ["clean games: the same numbers"] * same
            if short:
                rows = on_one_screen(rows, tables[1].rows)
                notes.append("--all prints all tables, --what one: " + ", ".join(list(RATED)[1:]))
            if len(names) > 1 or short:
                show(f"{RATED[table.name]}\n")
            show_table(rows, form)
            tell_notes(notes)
            if len(names) > 1:
                show("")


def _subsets_once(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of all games alone, if those of clean games say the same, and whether so."""
    parts: dict[Any, list[str]] = {}
    for row in rows:
        told = [repr(value) for name, value in row.items() if name != SUBSET]
        parts.setdefault(row.get(SUBSET), []).extend(told)
    if set(parts) != {"all", "clean"} or parts["all"] != parts["clean"]:
        return rows, False
    return [
        {name: value for name, value in row.items() if name != SUBSET}
        for row in rows
        if row[SUBSET] == "all"
    ], True
