"""The command that searches for diagnostic partners."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from tomeval.cli.options import TableFormat, fold, show_table
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show, tell

WIDTH = 116
"""Of sentences below the table."""


def design(
    game: Annotated[str, typer.Argument(help="A matrix game, or a TOML file.")],
    states: Annotated[int, typer.Option("--states", help="States of a machine, at most.")] = 2,
    horizon: Annotated[int, typer.Option("--horizon", help="Steps per episode, T.")] = 30,
    between: Annotated[
        list[str] | None,
        typer.Option(
            "--between",
            metavar="SUBJECT",
            help="A subject to tell apart from another: 'simulated(p=0.9, q=0.2)', random or "
            "equilibrium. Twice; without, pairs of partners are searched that are worth telling "
            "apart.",
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            "--beside",
            metavar="PARTNERS",
            help="A known partner or set to compare with; its partners must be deterministic. "
            "Repeatable. Default: tit_for_tat and single_action.",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="How many to show.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the best one as a partner file, .toml, or as two."),
    ] = None,
    form: TableFormat = "text",
) -> None:
    """Search finite machines for partners against which a game tells most."""
    from tomeval.domains.matrix.games import get_game
    from tomeval.extensions.design.files import design_lines, design_rows, write_partners
    from tomeval.extensions.design.search import design as search

    if out is not None and out.suffix != ".toml":
        raise TomevalError(f"{out}: a partner file ends in .toml")
    designed = search(
        get_game(game), states, horizon, between=between or (), beside=beside, top=top
    )
    show_table(design_rows(designed), form)
    if form == "text":
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        show("\n" + "\n".join(fold(line, min(room, WIDTH)) for line in design_lines(designed)))
    if out is not None:
        written = write_partners(designed, out, f"tomeval {shlex.join(sys.argv[1:])}")
        for path in written:
            show(path)
        tell(f"next: tomeval bounds {game} {shlex.quote(' + '.join(map(str, written)))}")
