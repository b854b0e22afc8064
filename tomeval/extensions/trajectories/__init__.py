"""Games that TextArena played elsewhere, in MindGames' shape, as runs of the arena."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tomeval.core.files import first_line
from tomeval.core.parts import CommandPart
from tomeval.core.printing import show, tell


def import_(
    games: Annotated[
        Path, typer.Argument(help="Trajectories as JSON lines, see docs/arena/trajectories.md.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder to make. Default: runs/ and the file's name."),
    ] = None,
    subject: Annotated[
        str,
        typer.Option(
            "--subject", help="The player who is measured. Default: whoever has the first seat."
        ),
    ] = "",
) -> None:
    """Make a run folder from games played in TextArena."""
    from tomeval.extensions.trajectories.recording import recorded_games
    from tomeval.runs.domain import get_domain
    from tomeval.runs.folder import import_games

    folder = out or Path("runs") / games.stem
    recorded = import_games(get_domain("arena"), partial(recorded_games, games, subject), folder)
    for note in recorded.notes:
        tell(note)
    show(folder)


def _are_actions(name: str) -> bool:
    line = first_line(Path(name)) if name.endswith(".jsonl") else ""
    return '"seat"' in line and '"action"' in line


IMPORT = CommandPart(import_, _are_actions)
