"""The command that plays, and how a run goes, on standard error.

At a terminal that is a display, else a line each minute: steps, the time left, episodes, what
language models were asked, and what a server does if it is waited for.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
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
    TrustHost,
    Until,
    tell_notes,
)
from tomeval.core.errors import TomevalError
from tomeval.core.parts import find
from tomeval.core.printing import show_wrapped, tell
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.play.live import Live
    from tomeval.play.schedule import Shard
    from tomeval.runs.experiment import Experiment


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
    loaded = load_experiment(experiment, changes(overrides, until), model)
    folder = out or str(Path("runs") / loaded.folder_name)
    apart = out is None and loaded.folder_name != loaded.name
    caps = (max_calls, max_tokens, max_cost)
    with trusting(trust_host or ()):
        _play_into(
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


def changes(overrides: Sequence[str] | None, until: str | None) -> list[str]:
    """Return what changes an experiment: its overrides, and the condition that stops it."""
    if until is None:
        return list(overrides or ())
    if not until.strip():  # as of a variable that is not set
        raise TomevalError("--until is empty; name a condition, or leave it out")
    return [*(overrides or ()), f"until={json.dumps(until)}"]


def _play_into(
    experiment: Experiment,
    out: str | Path,
    *,
    shard: Shard | None,
    log: Sequence[str],
    notes: Sequence[str],
    **how: Any,
) -> None:
    """Play an experiment, show how it goes, and print the outcome and the notes."""
    from tomeval.play.closing import UnreadError
    from tomeval.play.live import Live
    from tomeval.play.runner import run_experiment

    live, unread = Live(), None
    with ExitStack() as stack:
        for logger in [find("loggers", name, "logger") for name in dict.fromkeys(log)]:
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


EVERY = 60.0
"""Seconds between two lines where standard error is not a terminal."""


@contextmanager
def showing_progress(live: Live) -> Iterator[Callable[[int, int], None]]:
    """Show a run inside the block; yield what is to be called when steps are done.

    At a terminal in place. Elsewhere lines are told every minute, when the yielded function is
    called; once a language model was asked, by a thread. Where work is done in several processes,
    these are forked before there is a thread.
    """

    def text() -> str:
        return "\n".join(lines_of(live) if live.total else ["starting"])

    live.shown = "field" if sys.stderr.isatty() else "lines"
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live as Display
        from rich.text import Text

        with Display(
            get_renderable=lambda: Text(text(), no_wrap=True, overflow="ellipsis"),
            console=Console(stderr=True),
            refresh_per_second=2,
            redirect_stdout=False,  # to a file or a pipe it may go, which is not this console
        ):
            yield lambda done, total: None
        return
    last, over = time.monotonic(), threading.Event()

    def by_itself() -> None:
        while not over.wait(EVERY):
            tell(text())

    thread = threading.Thread(target=by_itself, daemon=True)

    def step(done: int, total: int) -> None:
        nonlocal last
        if thread.is_alive():
            return
        if live.asking:
            thread.start()
        elif (now := time.monotonic()) - last >= EVERY:
            last = now
            tell(text())

    try:
        yield step
    finally:
        over.set()
        if thread.is_alive():
            thread.join()


def lines_of(live: Live) -> list[str]:
    """Return all that is shown of a run as lines."""
    share = f"{100 * live.steps // live.total if live.total else 100} %"
    finished = live.total and live.steps == live.total
    left = "stopping" if live.note else _time_left(live.left)
    lines = [f"{share}, {'finished' if finished else left}", f"  episodes: {live.counts}"]
    lines += [f"  {live.asked}"] * bool(live.asked)
    return [in_line(line) for line in (*lines, live.note) if line]


def _time_left(seconds: float | None) -> str:
    return (
        "time left: not known yet"
        if seconds is None
        else f"{timedelta(seconds=round(seconds))} left"
    )
