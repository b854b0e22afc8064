"""The commands that only matrix games have: bounds, score, audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tomeval.cli.options import IntervalOption, TableFormat, show_table
from tomeval.core.printing import show

Horizon = Annotated[int, typer.Option("--horizon", help="Steps per episode, T.")]
ReferenceOption = Annotated[
    Literal["horizon", "stationary"],
    typer.Option(
        "--reference",
        help="What ΔFunctional is measured from: the best response over the horizon, or the best "
        "long-run mean.",
    ),
]


def bounds(
    game: Annotated[str, typer.Argument(help="A game, or a TOML file.")],
    partner_set: Annotated[str, typer.Argument(help="A partner or partner set.")],
    horizon: Horizon = 100,
    reference: ReferenceOption = "horizon",
    form: TableFormat = "text",
) -> None:
    """Show what is attainable: best, worst and stationary reward per step, ΔFunctional/T."""
    from tomeval.domains.matrix.listing import bounds_rows

    rows, relevance = bounds_rows(game, partner_set, horizon, reference)
    show_table(rows, form)
    if form == "text":
        what = "relevance (regret per step of the best response to the wrong partner)"
        show(f"\n{what}: {relevance:.6g}")


def score(
    steps: Annotated[
        Path,
        typer.Argument(help="CSV: episode, step, own_action, partner_action[, predicted_action]"),
    ],
    game: Annotated[str, typer.Option("--game", help="A game, or a TOML file.")],
    partner: Annotated[
        str, typer.Option("--partner", help="Who it was played against, or 'unknown'.")
    ],
    labels: Annotated[
        str | None, typer.Option("--labels", help="The label set of the file.")
    ] = None,
    reference: ReferenceOption = "horizon",
    interval: IntervalOption = "normal",
    form: TableFormat = "text",
) -> None:
    """Score a recorded matrix game from anywhere."""
    from tomeval.api import score as score_file
    from tomeval.domains.matrix.measures import MEASURES

    row = score_file(steps, game, partner, labels=labels, reference=reference, interval=interval)
    show_table([row], form, MEASURES)


def audit(
    results: Annotated[
        Path, typer.Argument(help="CSV with the columns of experiments/reported_results.csv")
    ],
    horizon: Horizon = 100,
    form: TableFormat = "text",
) -> None:
    """List every row of published results that cannot be true; exit code 1 if there is any."""
    from tomeval.domains.matrix.auditing import audit as audit_file

    rows = audit_file(results, horizon)
    if form == "text":
        for row in rows:
            place = ", ".join(str(row[key]) for key in ("model", "prompting", "game", "partner"))
            show(f"table {row['table']}: {place}: {row['metric']}\n  {row['reason']}")
        show(f"{len(rows)} rows cannot be true" if rows else "no row contradicts the bounds")
    else:
        show_table(rows, form)
    if rows:
        raise typer.Exit(1)


COMMANDS = (bounds, score, audit)
