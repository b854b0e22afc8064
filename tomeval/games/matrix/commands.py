"""Bounds, and what ``import`` does with matrix games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.cli.options import NewRun, SkipBad, TableFormat, pairs, show_table
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.printing import show, tell
from tomeval.core.resources import shipped_experiments

Continuation = Annotated[
    float | None,
    typer.Option(
        "--continuation",
        help="In place of a horizon: with what probability the game goes on after every step.",
    ),
]


def lasting(horizon: int | None, continuation: float | None, usual: int) -> dict[str, Any]:
    """Return the key of an experiment that says how long games last; default: a usual horizon."""
    if continuation is None:
        return {"horizon": usual if horizon is None else horizon}
    if horizon is not None:
        raise TomevalError("--horizon and --continuation are both given: name one of them")
    return {"continuation": continuation}


def bounds(
    game: Annotated[
        str, typer.Argument(help="A matrix game, or a TOML file; or alone, an experiment.")
    ],
    partner_set: Annotated[str, typer.Argument(help="A partner or partner set.")] = "",
    horizon: Annotated[
        int | None, typer.Option("--horizon", help="Steps per episode, T. Default: 100.")
    ] = None,
    continuation: Continuation = None,
    form: TableFormat = "text",
) -> None:
    """Show what is attainable: best, worst, stationary reward.

    Of an experiment of another domain, such as arena_quickstart: what its line-ups can attain.
    """
    if not partner_set:
        _bounds_of_experiment(game, form)
        return
    from tomeval.games.matrix.bounds import bounds_rows

    lasts = {"horizon": 1} | lasting(horizon, continuation, 100)
    rows, told = bounds_rows(game, partner_set, **lasts)
    show_table(rows, form)
    if form == "text":
        show("\n" + "\n".join(told))


def _bounds_of_experiment(name: str, form: TableFormat) -> None:
    from tomeval.games.matrix.games import GAMES
    from tomeval.runs.experiment import load_experiment

    if name in GAMES:
        raise TomevalError(f"bounds {name}: name a partner or partner set too")
    if not Path(name).exists() and name not in (known := shipped_experiments()):
        raise unknown("game or experiment", name, [*GAMES, *known], "bounds")
    experiment = load_experiment(name)
    rows = experiment.bounds()
    if not rows:
        raise TomevalError(f"{experiment.domain}: bounds are not computed from an experiment")
    show_table(rows, form)


def import_(
    games: Annotated[
        Path,
        typer.Argument(
            help="CSV, a row per step: episode, step, own_action, partner_action"
            "[, predicted_action, game, partner, seat, subject, condition, ...]; or results of "
            "FAIRGAME or repeatedgames, or a LOG.eval of inspect"
        ),
    ],
    out: NewRun = None,
    game: Annotated[
        str | None,
        typer.Option("--game", help="A game, or a TOML file. Default: the column game."),
    ] = None,
    partner: Annotated[
        str | None,
        typer.Option(
            "--partner",
            help="The partner it was played against, or 'unknown'. Default: the column partner.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option("--labels", help="The label set of the file. Default: any of the game's."),
    ] = None,
    maps: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="The column of a field: FIELD=COLUMN, such as own_action=choice; FIELD= ignores "
            "the column of that name; episode= counts matches. Repeatable.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="Columns that identify a row of the table, separated by commas: the first is the "
            "subject, the others the condition. Default: subject,condition, where the file has "
            "them.",
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--value",
            help="The meaning of a text in actions, predictions, game and partner: TEXT=MEANING, "
            "such as 1=Cooperate, TFT=tit_for_tat or timeout=invalid. Repeatable.",
        ),
    ] = None,
    skip_bad: SkipBad = False,
) -> None:
    """Make a run folder of recorded matrix games, for table, compare, plot, report and the rest."""
    from tomeval.games.matrix.log_fields import Reading
    from tomeval.games.matrix.recording import import_matches

    reading = Reading(
        game,
        partner,
        labels=labels,
        columns=pairs("--map", maps, "FIELD=COLUMN"),
        by=None if by is None else tuple(filter(None, map(str.strip, by.split(",")))),
        values=pairs("--value", values, "TEXT=MEANING"),
        skip_bad=skip_bad,
    )
    folder = out or Path("runs") / games.stem
    for note in import_matches(games, folder, reading):
        tell(note)
    show(folder)
