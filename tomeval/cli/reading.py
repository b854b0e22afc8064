"""The commands that show what a run folder holds, and what would be played and read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from tomeval.cli.options import (
    ExperimentFile,
    ModelOption,
    Overrides,
    RunFolder,
    TableFormat,
    TrustHost,
    Until,
    WhereOption,
    show_table,
    tell_notes,
)
from tomeval.cli.playing import changes
from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import INVALID_REASONS
from tomeval.core.printing import show, tell, wrap


def status(
    folder: RunFolder,
    where: WhereOption = None,
    form: TableFormat = "text",
) -> None:
    """Show how many episodes of each cell are on disk.

    The exit code is 0 whatever is missing: the run could be read.
    """
    from tomeval.play.closing import closing
    from tomeval.report.tables import DATA
    from tomeval.runs.results import Run

    with Run(folder, where or ()) as opened:
        rows = opened.status()
        if form not in DATA:
            never = {name for name in INVALID_REASONS if not any(row.get(name) for row in rows)}
            rows = [_of_wanted(row, never) for row in rows]
        show_table(rows, form, keep=("cell", "complete"))
        if form == "text" and not where:  # the closing lines are of the whole run
            show("\n".join(["", *closing(opened).lines]))


def _of_wanted(row: dict[str, Any], never: Collection[str]) -> dict[str, Any]:
    """Return a row of a status with the complete episodes as ``n of N``, without what never was."""
    shown = {name: value for name, value in row.items() if name not in ("wanted", *never)}
    of = f" of {row['wanted']:,}" if row["wanted"] else ""
    return shown | {"complete": f"{row['complete']:,}{of}"}


def transcript(
    folder: RunFolder,
    episode: Annotated[int, typer.Option("--episode", help="The episode, counted from 0.")] = 0,
    cell: Annotated[
        int | None,
        typer.Option(
            "--cell",
            help="The cell, counted from 0; tomeval status lists them. Default: the first that "
            "--where selects.",
        ),
    ] = None,
    where: WhereOption = None,
    calls: Annotated[bool, typer.Option(help="Show what models read and wrote.")] = True,
) -> None:
    """Print an episode: moves, and what was asked and said."""
    from tomeval.report.transcripts import transcript_lines
    from tomeval.runs.results import Run

    with Run(folder, where or ()) as opened:
        number = opened.cells[0].number if cell is None else cell
        for line in transcript_lines(opened, number, episode, calls):
            show(line)


def prompt(
    strategy: Annotated[
        str,
        typer.Argument(
            help='A strategy, such as "S2A + CoT"; not with --experiment.',
        ),
    ] = "",
    domain: Annotated[
        str,
        typer.Option("--domain", help="The kind of game."),
    ] = "matrix",
    game: Annotated[str, typer.Option("--game", help="A game, or a TOML file.")] = "",
    prompts: Annotated[
        str, typer.Option("--prompts", help="A set of templates, or a folder of your own.")
    ] = "",
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="Show a cell of this experiment instead.")
    ] = None,
    cell: Annotated[int, typer.Option("--cell", help="Cell of --experiment, from 0.")] = 0,
    seat: Annotated[str, typer.Option("--seat", help="Seat to show. Default: the first.")] = "",
    form: Annotated[
        str,
        typer.Option("--form", help="The question; in matrix games act, predict, react or payoff."),
    ] = "",
    number: Annotated[int | None, typer.Option("--round", help="The round. Default: 5.")] = None,
    model: ModelOption = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A key of the experiment, or a setting of the strategy's player and game: "
            "labels=neutral, partners=tit_for_tat, persona='a trader'. Repeatable.",
        ),
    ] = None,
    copy_to: Annotated[
        Path | None,
        typer.Option(
            "--copy-to",
            metavar="FOLDER",
            help="Copy this player's templates into a folder, to change them; --prompts FOLDER, or "
            "prompts = [...] in an experiment, uses them.",
        ),
    ] = None,
) -> None:
    """Print exactly what a model would read in one round."""
    from tomeval.play.preview import copy_templates, preview
    from tomeval.runs.domain import get_domain
    from tomeval.runs.experiment import load_experiment, override_key

    if experiment is None:
        if model or cell:
            raise TomevalError("--model and --cell need --experiment")
        if not strategy:
            raise TomevalError("name a strategy, or an experiment with --experiment")
        kind = get_domain(domain, "--domain")
        own = {"game": game, "prompts": prompts, "form": form}
        settings: dict[str, Any] = {key: value for key, value in own.items() if value}
        for override in overrides or ():
            override_key(settings, override)
        shown = kind.example(strategy, seat, settings)
    else:
        if strategy or game or prompts:
            raise TomevalError(
                "--experiment says what is played: leave out the strategy, --game and --prompts"
            )
        loaded = load_experiment(experiment, overrides or [], model, stand_in="pocket")
        if not 0 <= cell < len(loaded.cells):
            raise TomevalError(f"{experiment}: no cell {cell}, there are {len(loaded.cells)}")
        kind, shown = get_domain(loaded.domain), loaded.cells[cell]
    if copy_to is not None:
        for path in copy_templates(kind, shown, seat, copy_to):
            show(path)
        tell(f"next: edit them, and view the result with --prompts {copy_to}")
        return
    show(preview(kind, shown, seat, form, number))


WIDTH = 116
"""Of sentences below a table."""


def plan(
    experiment: ExperimentFile,
    model: ModelOption = None,
    overrides: Overrides = None,
    until: Until = None,
    form: TableFormat = "text",
    context: Annotated[
        int | None,
        typer.Option("--context", help="Tokens of context that the models have.", min=1),
    ] = None,
    trust_host: TrustHost = None,
) -> None:
    """Show what an experiment would play, ask and cost."""
    from tomeval.core.credentials import trusting
    from tomeval.play.plan import (
        for_reading,
        plan_rows,
        plan_totals,
        too_long,
    )
    from tomeval.play.runner import lacks
    from tomeval.report.tables import DATA
    from tomeval.runs.experiment import load_experiment

    with trusting(trust_host or ()):
        loaded = load_experiment(experiment, changes(overrides, until), model)
        rows = plan_rows(loaded, context)
    if form in DATA:
        show_table(rows, form)
    else:
        show_table(for_reading(rows), form)
    if form == "text":
        lines = plan_totals(rows)
        lines += [f"note: {sentence}" for sentence in loaded.cannot_tell()]
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        show()
        for line in lines:
            show("\n".join(wrap(line, min(room, WIDTH), "  ")))
    if loaded.until:
        tell_notes(["the most that can be played: cells stop earlier where the condition holds"])
    if missing := lacks(loaded):
        tell_notes([f"this cannot run here: {missing}"])
    long = too_long(rows)
    tell_notes(long)
    if long:
        raise typer.Exit(1)
