"""What ``tomeval play`` does in the arena. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from tomeval.cli.options import TrustCode, TrustHost
from tomeval.core.extensions import CommandPart
from tomeval.games.seated.commands import Deal, Others, Seed, Strategy


def play(
    game: Annotated[str, typer.Argument(help="A kind of game, such as ipd3.")],
    other: Others = None,
    seat: Annotated[int, typer.Option("--seat", help="Your seat, from 0.")] = 0,
    preset: Annotated[str, typer.Option("--preset", help="A named set of parameters.")] = "",
    strategy: Strategy = "QA",
    seed: Seed = 0,
    deal: Deal = 0,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the game: key=value. Repeatable."),
    ] = None,
    trust_host: TrustHost = None,
    trust_remote_code: TrustCode = False,
) -> None:
    """Take a seat yourself, with or against scripted players or language models."""
    from tomeval.core.credentials import trusting
    from tomeval.core.printing import Console
    from tomeval.games.arena.session import play_session
    from tomeval.runs.experiment import override_key

    rules: dict[str, Any] = {"preset": preset} if preset else {}
    for override in overrides or []:
        override_key(rules, override)
    asked: dict[str, Any] = {"seat": seat, "deal": deal, "settings": {"seed": seed}}
    with trusting(trust_host or (), code=trust_remote_code):
        console = Console(sys.stdin, sys.stdout)
        play_session(game, other or [], console, rules=rules, strategy=strategy, **asked)


def _is_game(name: str) -> bool:
    from tomeval.games.arena.named_games import is_game

    return is_game(name)


def _games() -> list[str]:
    from tomeval.games.arena.named_games import all_games

    return all_games()


PLAY = CommandPart(play, _is_game, _games)
