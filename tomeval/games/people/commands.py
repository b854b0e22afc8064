"""What ``tomeval play`` does in games of seats. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.cli.options import TrustHost
from tomeval.core.parts import CommandPart

DECRYPTO = "decrypto"


def play(
    game: Annotated[str, typer.Argument(help="decrypto, or another game, such as ipd3.")],
    other: Annotated[
        list[str] | None,
        typer.Option(
            "--other",
            help="Another player: one that needs no options, or a model such as hf:REPO, "
            "openai:MODEL@BASE_URL or scripted:NAME. Given once for all seats, or once per seat.",
        ),
    ] = None,
    seat: Annotated[
        str,
        typer.Option(
            "--seat", help="Your seat: a number from 0; in Decrypto encoder, decoder, interceptor."
        ),
    ] = "",
    preset: Annotated[str, typer.Option("--preset", help="A named set of parameters.")] = "",
    strategy: Annotated[str, typer.Option("--strategy", help="Strategy of models.")] = "QA",
    seed: Annotated[int, typer.Option("--seed", help="Seed of deals and random draws.")] = 0,
    deal: Annotated[int, typer.Option("--deal", help="Number of the deal, from 0.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", help="File to record Decrypto to; games are added to it.")
    ] = Path("decrypto_games.json"),
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A parameter of the game, in Decrypto such as rules.turns=3. Repeatable."
        ),
    ] = None,
    trust_host: TrustHost = None,
) -> None:
    """Take a seat yourself, with or against other players; Decrypto is recorded."""
    from tomeval.core.credentials import trusting
    from tomeval.core.errors import TomevalError
    from tomeval.core.printing import Console
    from tomeval.games.arena.described import sit
    from tomeval.games.decrypto.described import keep
    from tomeval.games.decrypto.described import sit as sit_at_decrypto
    from tomeval.games.decrypto.replays import read_games
    from tomeval.games.people.session import play_session
    from tomeval.runs.experiment import override_key

    rules: dict[str, Any] = {"preset": preset} if preset else {}
    settings: dict[str, Any] = {"seed": seed, "rules": {}}
    for override in overrides or []:
        override_key(settings if game == DECRYPTO else rules, override)
    with trusting(trust_host or ()):
        console, others = Console(sys.stdin, sys.stdout), other or []
        if game == DECRYPTO:
            role = seat or "interceptor"
            sitting = sit_at_decrypto(role, others, deal, settings=settings, strategy=strategy)
            if out.exists():
                read_games(out)  # a damaged file is named before the game
            play_session(sitting, console)
            keep(sitting, out, console)
            return
        if not (seat or "0").isdecimal():
            raise TomevalError(f"--seat {seat}: must be a number from 0")
        place = int(seat or 0)
        play_session(
            sit(game, others, place, deal, seed=seed, rules=rules, strategy=strategy), console
        )


def _is_game(name: str) -> bool:
    from tomeval.games.arena.named_games import is_game

    return name == DECRYPTO or is_game(name)


def _games() -> list[str]:
    from tomeval.games.arena.named_games import all_games

    return [DECRYPTO, *all_games()]


PLAY = CommandPart(play, _is_game, _games)
