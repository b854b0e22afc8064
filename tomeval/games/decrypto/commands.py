"""What ``tomeval play`` does with Decrypto. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.cli.options import Overrides, TrustCode, TrustHost
from tomeval.core.extensions import CommandPart
from tomeval.games.seated.commands import Deal, Others, Seed, Strategy


class Role(StrEnum):
    """A seat."""

    encoder = "encoder"
    decoder = "decoder"
    interceptor = "interceptor"


def play(
    game: Annotated[str, typer.Argument(help="The word decrypto.")],
    other: Others = None,
    seat: Annotated[Role, typer.Option("--seat", help="Your seat.")] = Role.interceptor,
    strategy: Strategy = "QA",
    seed: Seed = 0,
    deal: Deal = 0,
    out: Annotated[
        Path, typer.Option("--out", help="File to record to; games are added to it.")
    ] = Path("decrypto_games.json"),
    trust_host: TrustHost = None,
    trust_remote_code: TrustCode = False,
    overrides: Overrides = None,
) -> None:
    """Take a seat yourself, against or with other players; the game is recorded."""
    from tomeval.core.credentials import trusting
    from tomeval.core.printing import Console
    from tomeval.games.decrypto.session import play_session
    from tomeval.runs.experiment import override_key

    settings: dict[str, Any] = {"seed": seed, "rules": {}}
    for override in overrides or []:
        override_key(settings, override)
    with trusting(trust_host or (), code=trust_remote_code):
        console = Console(sys.stdin, sys.stdout)
        others = other or []
        play_session(
            seat.value, others, console, out, settings=settings, strategy=strategy, deal=deal
        )


PLAY = CommandPart(play, lambda name: name == "decrypto", lambda: ["decrypto"])
