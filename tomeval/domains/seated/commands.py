"""The options of ``tomeval play`` in games of seats and turns."""

from __future__ import annotations

from typing import Annotated

import typer

Others = Annotated[
    list[str] | None,
    typer.Option(
        "--other",
        help="Who else plays: a player that needs no options, or a model such as hf:REPO, "
        "openai:MODEL@BASE_URL or scripted:NAME. Once for all seats, or once for each.",
    ),
]
Strategy = Annotated[str, typer.Option("--strategy", help="Of language models.")]
Seed = Annotated[int, typer.Option("--seed", help="Decides what is dealt and drawn.")]
Deal = Annotated[int, typer.Option("--deal", help="Which deal of the seed, from 0.")]
