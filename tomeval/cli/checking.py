"""The command that checks a run folder against its checksums."""

from __future__ import annotations

from typing import Annotated

import typer

from tomeval.cli.options import RunFolder


def verify(
    folder: RunFolder,
    drop: Annotated[
        bool,
        typer.Option(
            "--drop", help="Leave damaged episodes out, so that tomeval run plays them again."
        ),
    ] = False,
) -> None:
    """Check all that a run folder holds against the checksums it was written with.

    Exit codes: 0, everything is sound; 1, something is damaged, or was and has been left out; 2, no
    run can be read at all.
    """
    from tomeval.core.printing import show
    from tomeval.runs.verify import drop_damaged, verified

    found = verified(folder)
    for line in found.lines():
        show(line)
    if drop and not found.store_sound:
        for line in drop_damaged(folder, found):
            show(line)
    if not found.sound:
        raise typer.Exit(1)
