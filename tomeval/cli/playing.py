"""The commands that play, show what would be played, and make old runs readable."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tomeval.cli.options import (
    Concurrency,
    Engine,
    ExperimentFile,
    GoOn,
    GpusPerReplica,
    MaxCalls,
    MaxCost,
    MaxTokens,
    ModelOption,
    Overrides,
    Replicas,
    TableFormat,
    TrustCode,
    TrustHost,
    Until,
    show_table,
    tell_notes,
)
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show, show_wrapped, tell, wrap
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.play.schedule import Shard
    from tomeval.runs.experiment import Experiment


WIDTH = 116
"""Of sentences below a table."""


def run(
    experiment: ExperimentFile,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Run folder. Default: runs/NAME, with --model runs/NAME-MODEL.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="K/N",
            help="Play only part K of N, such as 3/16; parts can share the folder.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="Number of processes on this machine. Default: 1.",
        ),
    ] = None,
    engine: Engine = None,
    replicas: Replicas = None,
    gpus_per_replica: GpusPerReplica = None,
    model: ModelOption = None,
    until: Until = None,
    concurrency: Concurrency = 32,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    go_on: GoOn = False,
    log: Annotated[
        list[str] | None,
        typer.Option(
            "--log",
            metavar="NAME",
            help="Log curves to wandb or mlflow. Repeatable.",
        ),
    ] = None,
    trust_host: TrustHost = None,
    trust_remote_code: TrustCode = False,
    overrides: Overrides = None,
) -> None:
    """Run an experiment; run it again to resume or extend it.

    Exit codes: 0, every cell has complete episodes and nothing is missing;
    1, an episode failed, a cell has no complete episode or was stopped,
    or none of the first 8 answers of a model could be read;
    2, the input or a model cannot be used, or a cap is reached;
    130 (Ctrl-C) or 143 (TERM), stopped after calls in flight; twice: at once.
    """
    from tomeval.core.credentials import trusting
    from tomeval.models.served import Budget
    from tomeval.play.engines import make_engine
    from tomeval.play.schedule import parse_shard
    from tomeval.runs.experiment import load_experiment

    if out is not None and not out.strip():  # as of a variable that is not set
        raise TomevalError("--out is empty; name a folder, or leave it out")
    part = None if shard is None else parse_shard(shard)
    loaded = load_experiment(experiment, _changes(overrides, until), model)
    folder = out or str(Path("runs") / loaded.folder_name)
    apart = out is None and loaded.folder_name != loaded.name
    caps = (max_calls, max_tokens, max_cost)
    with trusting(trust_host or (), code=trust_remote_code):
        play_into(
            loaded,
            folder,
            notes=[f"a run with --model has its own run folder: {folder}"] if apart else [],
            log=log or (),
            shard=part,
            workers=1 if workers is None else workers,
            engine=make_engine(
                engine, workers, replicas=replicas, gpus_per_replica=gpus_per_replica
            ),
            budget=Budget(*caps) if any(cap is not None for cap in caps) else None,
            concurrency=concurrency,
            go_on=go_on,
        )


def _changes(overrides: Sequence[str] | None, until: str | None) -> list[str]:
    """Return what changes an experiment: its overrides, and the condition that stops it."""
    if until is None:
        return list(overrides or ())
    if not until.strip():  # as of a variable that is not set
        raise TomevalError("--until is empty; name a condition, or leave it out")
    return [*(overrides or ()), f"until={json.dumps(until)}"]


def play_into(
    experiment: Experiment,
    out: str | Path,
    *,
    shard: Shard | None = None,
    log: Sequence[str] = (),
    notes: Sequence[str] = (),
    **how: Any,
) -> None:
    """Play an experiment into a folder, show how it goes, and print the outcome and the notes.

    `how` are further arguments of `tomeval.play.runner.run_experiment`.

    Raises
    ------
    typer.Exit
        With code 1 if an episode failed, a cell has no complete episode, or one was stopped, or
        none of the first replies of a model could be read.
    """
    from tomeval.cli.progress import showing_progress
    from tomeval.play.live import Live
    from tomeval.play.replies import UnreadError
    from tomeval.play.runner import run_experiment

    live, unread = Live(), None
    with ExitStack() as stack:
        for logger in [_logger(name) for name in dict.fromkeys(log)]:
            stack.enter_context(logger(Path(out), live))
        on_steps = stack.enter_context(showing_progress(live))
        try:
            played = run_experiment(
                experiment, Path(out), shard=shard, progress=on_steps, live=live, **how
            )
        except UnreadError as error:
            unread = error
    if unread is not None:
        tell(f"tomeval: {unread}")  # its lines begin with blanks and fit a terminal
        raise typer.Exit(1)
    tell(f"{out}: {played} episodes played")
    tell_notes(notes)
    for line in live.closing:
        show_wrapped(in_line(line), sys.stderr)
    if not _close(Path(out), experiment, shard):
        raise typer.Exit(1)


def _logger(name: str) -> Any:
    """Return what logs a run, see `tomeval.core.parts.KINDS`."""
    from tomeval.core.errors import unknown
    from tomeval.core.parts import named, part

    made = part("loggers", name)
    if made is None:
        raise unknown("logger", name, named("loggers"))
    return made


def _close(folder: Path, experiment: Experiment, shard: Shard | None) -> bool:
    """Print what a run holds, over all sessions; return whether nothing is missing from it.

    Of a shard: whether it was played.
    """
    from tomeval.play.closing import closing
    from tomeval.play.runner import is_whole, wanted_of
    from tomeval.report.facts import verdicts
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        close = closing(opened)
        said = verdicts(opened) if shard is None and close.measurable else []
        whole = close.whole
        if shard is not None:
            whole = is_whole(opened.store, wanted_of(experiment, shard))
    verb = "table" if close.measurable else "transcript"
    if shard is not None:
        tell(f"shard {shard}: {'played' if whole else 'not all of it could be played'}")
    tell("\n".join(close.lines))
    for line in said:
        show_wrapped(in_line(line), sys.stderr)
    tell(f"next: tomeval {verb} {folder}")
    return whole


def plan(
    experiment: ExperimentFile,
    model: ModelOption = None,
    overrides: Overrides = None,
    until: Until = None,
    form: TableFormat = "text",
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Count tokens with this tokenizer: a folder or Hub name."),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(
            "--context", help="Tokens of context, for models that do not report it.", min=1
        ),
    ] = None,
    trust_host: TrustHost = None,
    trust_remote_code: TrustCode = False,
) -> None:
    """Show what an experiment would play, ask and cost."""
    from tomeval.core.credentials import trusting
    from tomeval.play.plan import (
        for_reading,
        plan_rows,
        plan_totals,
        too_long,
    )
    from tomeval.play.preview import token_counter
    from tomeval.play.runner import lacks
    from tomeval.report.tables import DATA
    from tomeval.runs.domain import get_domain
    from tomeval.runs.experiment import load_experiment

    count = token_counter(tokenizer) if tokenizer else None
    with trusting(trust_host or (), code=trust_remote_code):
        loaded = load_experiment(experiment, _changes(overrides, until), model)
        rows = plan_rows(loaded, count, context)
    if form in DATA:
        show_table(rows, form)
    else:
        show_table(for_reading(rows), form)
    if form == "text":
        lines = plan_totals(rows)
        blind = get_domain(loaded.domain).cannot_tell(loaded.cells)
        lines += [f"note: {sentence}" for sentence in blind]
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
