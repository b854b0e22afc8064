"""What commands do with Decrypto. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.cli.options import Overrides, TrustCode, TrustHost
from tomeval.core import printing
from tomeval.core.extensions import CommandPart


class Role(StrEnum):
    """A seat."""

    encoder = "encoder"
    decoder = "decoder"
    interceptor = "interceptor"


SPEC_HELP = (
    "random, minilm, wordnet, embedding:NAME, rsa:LEVEL, hf:REPO, openai:MODEL@BASE_URL or "
    "scripted:NAME"
)
ALIKE = "As --encoder."
Strategy = Annotated[str, typer.Option("--strategy", help="Of language models.")]
Candidates = Annotated[
    int, typer.Option("--k", hidden=True, help="Candidates per hint of embedding encoders.")
]


def play(
    game: Annotated[str, typer.Argument(help="The word decrypto.")],
    seat: Annotated[
        list[Role] | None,
        typer.Option("--seat", help="Your seat. Repeatable. Default: interceptor."),
    ] = None,
    encoder: Annotated[str | None, typer.Option("--encoder", help=SPEC_HELP)] = None,
    decoder: Annotated[str | None, typer.Option("--decoder", help=ALIKE)] = None,
    interceptor: Annotated[str | None, typer.Option("--interceptor", help=ALIKE)] = None,
    strategy: Strategy = "QA",
    k: Candidates = 16,
    seed: Annotated[int, typer.Option("--seed", help="Decides keywords and codes.")] = 0,
    deal: Annotated[int, typer.Option("--deal", help="Which deal of the seed, from 0.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", help="File to record to; games are added to it.")
    ] = Path("decrypto_games.json"),
    trust_host: TrustHost = None,
    trust_remote_code: TrustCode = False,
    overrides: Overrides = None,
) -> None:
    """Take a seat yourself, against or with other players; the game is recorded."""
    from tomeval.core.credentials import trusting
    from tomeval.domains.decrypto.session import play_session, tables_from_specs
    from tomeval.domains.decrypto.terminal import Terminal
    from tomeval.runs.experiment import override_key

    people = [role.value for role in seat or [Role.interceptor]]
    specs = {"encoder": encoder, "decoder": decoder, "interceptor": interceptor}
    others = tables_from_specs(specs, people, "minilm", strategy, k)
    settings: dict[str, Any] = {"seed": seed, "rules": {}}
    for override in overrides or []:
        override_key(settings, override)
    terminal = Terminal(sys.stdin, sys.stdout, people)
    with trusting(trust_host or (), code=trust_remote_code):
        play_session(people, others, terminal, out, settings=settings, game=deal)


def transcript(
    file: Annotated[Path, typer.Argument(help="A file of recorded games.", metavar="FILE")],
    episode: Annotated[int, typer.Option("--episode", help="Which game, from 0.")] = 0,
) -> None:
    """Print a recorded game as a reader wants it."""
    from tomeval.domains.decrypto.transcripts import record_lines

    for line in record_lines(file, episode):
        printing.show(line)


PLAY = CommandPart(play, lambda name: name == "decrypto", lambda: ["decrypto"])
TRANSCRIPT = CommandPart(transcript, lambda name: Path(name).suffix.lower() == ".json")
