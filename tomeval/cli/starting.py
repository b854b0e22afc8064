"""The commands that one begins with: what there is, and a first file of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from tomeval.cli.completing import lists
from tomeval.cli.options import TableFormat, show_table
from tomeval.core.printing import tell


def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="Such as experiments, models, metrics, figures, strategies, games or partners. "
            "Without it: all lists.",
            autocompletion=lists,
        ),
    ] = "",
    holding: Annotated[
        str, typer.Argument(help="Only rows in which this text stands.", metavar="[TEXT]")
    ] = "",
    form: TableFormat = "text",
) -> None:
    """List what an experiment or an option can name; alone, the lists themselves."""
    from tomeval.cli.listing import list_rows

    rows = list_rows(what, holding)
    if rows:
        show_table(rows, form)
    else:
        tell(f"list {what}: there are none")


COMMANDS = (list_,)
