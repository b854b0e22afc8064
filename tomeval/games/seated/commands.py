"""The options of ``tomeval play`` in games of seats and turns."""

from __future__ import annotations

from typing import Annotated

import typer

Others = Annotated[
    list[str] | None,
    typer.Option(
        "--other",
        help="Another player: one that needs no options, or a model such as hf:REPO, "
        "openai:MODEL@BASE_URL or scripted:NAME. Given once for all seats, or once per seat.",
    ),
]
Strategy = Annotated[str, typer.Option("--strategy", help="Strategy of language models.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of deals and random draws.")]
Deal = Annotated[int, typer.Option("--deal", help="Number of the deal, from 0.")]
