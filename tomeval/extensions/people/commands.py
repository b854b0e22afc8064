"""The command with which people play matrix games: ``tomeval play``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tomeval.core.extensions import CommandPart
from tomeval.core.printing import tell
from tomeval.games.matrix.commands import Horizon


def play(
    game: Annotated[str, typer.Argument(help="A matrix game, or a TOML file.")],
    partner_set: Annotated[str, typer.Argument(help="A partner or partner set.")],
    horizon: Horizon = 20,
    labels: Annotated[str | None, typer.Option("--labels", help="A label set.")] = None,
    name: Annotated[str, typer.Option("--name", help="Your name in tables.")] = "person",
    seed: Annotated[
        int, typer.Option("--seed", help="Decides which partner you meet, and what it draws.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The run folder. Default: runs/play_GAME_PARTNER_NAME."),
    ] = None,
) -> None:
    """Play a matrix game yourself: choose and predict in every round; stored as a run.

    Played again, it adds an episode; what was left is gone on with.
    """
    from tomeval.core.printing import Console
    from tomeval.extensions.people.session import folder_name, play_session, session

    experiment = session(game, partner_set, name=name, horizon=horizon, labels=labels, seed=seed)
    folder = out or Path("runs") / folder_name(experiment)
    over = play_session(experiment, Console(sys.stdin, sys.stdout), folder)
    verb = "table" if over else "transcript"
    tell(f"{folder}: next: tomeval {verb} {folder}")


def _is_game(name: str) -> bool:
    return name.endswith(".toml") or name.lower() in map(str.lower, _games())


def _games() -> list[str]:
    from tomeval.games.matrix.games import GAMES

    return list(GAMES)


PLAY = CommandPart(play, _is_game, _games)
