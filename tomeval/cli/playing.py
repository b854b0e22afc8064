"""The commands that play, show what would be played, and make old runs readable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tomeval.cli.options import (
    Concurrency,
    ExperimentFile,
    MaxCalls,
    MaxTokens,
    ModelOption,
    Overrides,
    TableFormat,
)
from tomeval.core.errors import TomevalError

if TYPE_CHECKING:
    from tomeval.runs.experiment import Experiment


def run(
    experiment: ExperimentFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run folder. Default: runs/NAME.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Processes to play with.")] = 1,
    model: ModelOption = None,
    concurrency: Concurrency = 32,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    prefix_reuse: Annotated[
        bool, typer.Option(help="Encode every token of an episode once (local models).")
    ] = True,
    overrides: Overrides = None,
) -> None:
    """Run an experiment; run it again to resume, or with more episodes to extend."""
    from tomeval.runs.experiment import load_experiment

    loaded = load_experiment(experiment, overrides or [], model)
    play_into(
        loaded,
        out or Path("runs") / loaded.name,
        workers=workers,
        concurrency=concurrency,
        max_calls=max_calls,
        max_tokens=max_tokens,
        prefix_reuse=prefix_reuse,
    )


def play_into(
    experiment: Experiment,
    folder: Path,
    *,
    workers: int = 1,
    concurrency: int = 32,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    prefix_reuse: bool = True,
) -> None:
    """Play an experiment with a progress bar and print the outcome.

    Raises
    ------
    typer.Exit
        With code 1 if an episode failed or no episode is complete.
    """
    from tomeval.models.served.limits import Budget
    from tomeval.runs.runner import run_experiment

    capped = max_calls is not None or max_tokens is not None
    with _progress_bar() as progress:
        played = run_experiment(
            experiment,
            folder,
            workers=workers,
            concurrency=concurrency,
            budget=Budget(max_calls, max_tokens) if capped else None,
            prefix_reuse=prefix_reuse,
            progress=progress,
        )
    print(f"{folder}: {played} episodes played", file=sys.stderr)
    if not _worked(folder):
        raise typer.Exit(1)


@contextmanager
def _progress_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar with rate and time left on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Steps per second."""

        def render(self, task: Task) -> Text:
            """Return the rate, rounded."""
            return Text(f"{task.speed:,.0f} steps/s" if task.speed else "")

    columns: list[Any] = ["{task.percentage:>3.0f} %", BarColumn(), Rate(), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        started = False

        def update(done: int, total: int) -> None:
            nonlocal started
            if not started:  # what an earlier session played says nothing about the rate
                bar.reset(task, total=total, completed=done)
                started = True
            bar.update(task, completed=done, total=total)

        yield update


def _worked(folder: Path) -> bool:
    """Print what a run holds and used, over all sessions; return whether every episode worked."""
    from tomeval.core.outcomes import COMPLETE, FAILED, VOID
    from tomeval.runs import tallies
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        counts = _sum(tallies.episodes(opened.store))
        invalid = _sum(tallies.invalid_answers(opened.store))
        usage = _sum(tallies.usage(opened.store))
    told = ", ".join(f"{counts.get(status, 0):,} {status}" for status in (COMPLETE, VOID, FAILED))
    print(f"episodes: {told}", file=sys.stderr)
    if usage:
        cached = usage["cached_tokens"]
        encoded = usage["prompt_tokens"] - cached
        share = f", {encoded:,} of them encoded, the others reused" if cached else ""
        print(
            f"{usage['calls']:,} model calls: {usage['prompt_tokens']:,} prompt tokens{share}; "
            f"{usage['completion_tokens']:,} generated",
            file=sys.stderr,
        )
    if not counts.get(COMPLETE):
        reasons = ", ".join(f"{n:,} {what.replace('_', ' ')}" for what, n in invalid.items() if n)
        print(
            f"no episode is complete, so there is nothing to measure; invalid answers: "
            f"{reasons or 'none'}\nnext: tomeval transcript {folder}",
            file=sys.stderr,
        )
        return False
    print(f"next: tomeval table {folder}", file=sys.stderr)
    return not counts.get(FAILED)


def _sum(by_cell: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Add up counts over all cells."""
    names = dict.fromkeys(name for counts in by_cell.values() for name in counts)
    return {name: sum(counts.get(name, 0) for counts in by_cell.values()) for name in names}


def plan(
    experiment: ExperimentFile,
    model: ModelOption = None,
    overrides: Overrides = None,
    form: TableFormat = "text",
) -> None:
    """Show what an experiment would play and ask, without playing or asking it."""
    from tomeval.report.tables import render
    from tomeval.runs.experiment import load_experiment
    from tomeval.runs.plan import plan_rows, plan_totals

    rows = plan_rows(load_experiment(experiment, overrides or [], model))
    print(render(rows, form))
    if form == "text":
        print(f"\n{plan_totals(rows)}")


def prompt(
    strategy: Annotated[
        str, typer.Argument(help='A strategy, such as "S2A + CoT"; not with --experiment.')
    ] = "",
    domain: Annotated[str, typer.Option("--domain", help="The kind of game.")] = "matrix",
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="Show a cell of this experiment instead.")
    ] = None,
    cell: Annotated[int, typer.Option("--cell", help="With --experiment: from 0.")] = 0,
    seat: Annotated[str, typer.Option("--seat", help="Whose prompt. Default: the first's.")] = "",
    form: Annotated[
        str, typer.Option("--form", help="Which question; in matrix games act, predict or react.")
    ] = "",
    number: Annotated[
        int | None, typer.Option("--round", help="Which round is asked about. Default: 5.")
    ] = None,
    game: Annotated[str, typer.Option("--game", help="A game, or a TOML file.")] = "",
    labels: Annotated[str, typer.Option("--labels", help="A label set.")] = "",
    horizon: Annotated[int, typer.Option("--horizon", help="Steps per episode, T.")] = 0,
    partner: Annotated[str, typer.Option("--partner", help="Who plays along.")] = "",
    option_order: Annotated[str, typer.Option("--option-order")] = "",
    literal_order: Annotated[str, typer.Option("--literal-order")] = "",
    goal: Annotated[str, typer.Option("--goal", help="none, win or maximise.")] = "",
    examples: Annotated[str, typer.Option("--examples", help="reciprocal or myopic.")] = "",
    system: Annotated[str, typer.Option("--system", help="A system message.")] = "",
    prompts: Annotated[
        str, typer.Option("--prompts", help="A set of templates, or a folder of own ones.")
    ] = "",
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Count tokens with this one: folder or Hub name."),
    ] = None,
    model: ModelOption = None,
    overrides: Overrides = None,
) -> None:
    """Print exactly what a model would read in one round of a made-up play."""
    from tomeval.runs.domain import get_domain
    from tomeval.runs.experiment import load_experiment
    from tomeval.runs.preview import preview

    own = {"game": game, "labels": labels, "partners": partner, "horizon": horizon}
    own |= {"option_order": option_order, "literal_order": literal_order, "prompts": prompts}
    own |= {"goal": goal, "examples": examples, "system": system}
    settings = {key: value for key, value in own.items() if value}
    if experiment is None:
        if model or overrides or cell:
            raise TomevalError("--model, --set and --cell go with --experiment")
        if not strategy:
            raise TomevalError("name a strategy, or an experiment with --experiment")
        kind = get_domain(domain, "--domain")
        shown = kind.example(strategy, seat, settings | ({"form": form} if form else {}))
    else:
        if strategy or settings:
            more = ["the strategy"] * bool(strategy) + list(settings)
            raise TomevalError(f"--experiment says what is played: leave out {', '.join(more)}")
        loaded = load_experiment(experiment, overrides or [], model)
        if not 0 <= cell < len(loaded.cells):
            raise TomevalError(f"{experiment}: no cell {cell}, there are {len(loaded.cells)}")
        kind, shown = get_domain(loaded.domain), loaded.cells[cell]
    print(preview(kind, shown, seat, form, number, tokenizer))


def convert(
    old: Annotated[Path, typer.Argument(help="A run folder of store version 1.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="The folder to make.", metavar="NEW")],
) -> None:
    """Copy a run of an earlier version into a new folder of this one; OLD is not changed."""
    from tomeval.runs.convert import convert as copy_run

    print(f"next: tomeval table {copy_run(old, new)}", file=sys.stderr)


COMMANDS = (run, plan, prompt, convert)
