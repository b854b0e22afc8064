"""The commands that play, show what would be played, and make old runs readable."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tomeval.cli.options import (
    MANY_MACHINES,
    MODELS,
    Concurrency,
    Engine,
    ExperimentFile,
    GpusPerReplica,
    MaxCalls,
    MaxTokens,
    ModelOption,
    Overrides,
    Replicas,
    StartupTest,
    TableFormat,
    TrustCode,
    TrustHost,
    completing,
    fold,
    show_table,
    tell_notes,
)
from tomeval.core.errors import TomevalError
from tomeval.core.printing import show, tell
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.experiment import Experiment
    from tomeval.runs.runner import Part


WIDTH = 116
"""Of sentences below a table."""


def run(
    experiment: ExperimentFile,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="The run folder. Default: runs/NAME, of a shard runs/NAME-K-of-N.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="K/N",
            help="Play only the K-th of N parts, such as 3/16, into a folder of its own; tomeval "
            "merge puts the parts together.",
            rich_help_panel=MANY_MACHINES,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            help="Processes of this machine to play with. Default: 1.",
            rich_help_panel=MANY_MACHINES,
        ),
    ] = None,
    engine: Engine = None,
    replicas: Replicas = None,
    gpus_per_replica: GpusPerReplica = None,
    model: ModelOption = None,
    concurrency: Concurrency = 32,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    prefix_reuse: Annotated[
        bool,
        typer.Option(
            help="Encode every token of an episode once (local models).",
            rich_help_panel=MODELS,
        ),
    ] = True,
    startup_test: StartupTest = True,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show each retry of a request.")
    ] = False,
    trust_host: TrustHost = None,
    trust_remote_code: TrustCode = False,
    overrides: Overrides = None,
) -> None:
    """Run an experiment; run it again to resume, or with more episodes to extend.

    Exit codes: 0, every cell has complete episodes and nothing is missing;
    1, an episode failed, or a cell has no complete episode or was stopped;
    2, the input or a model cannot be used, or a cap is reached;
    130, stopped by Ctrl-C, and 143 by TERM: what was in flight is finished;
    a second one stops at once.
    """
    from tomeval.core.credentials import trusting
    from tomeval.core.extensions import portion
    from tomeval.runs.experiment import load_experiment
    from tomeval.runs.plan import own_numbers

    if out is not None and not out.strip():  # as of a variable that is not set
        raise TomevalError("--out: is empty; name a folder, or leave it out")
    part = None if shard is None else portion("shard")(shard)
    loaded = load_experiment(experiment, overrides or [], model)
    tell_notes(own_numbers(loaded, overrides or []))
    named = loaded.name if part is None else loaded.name + part.suffix
    with trusting(trust_host or (), code=trust_remote_code):
        play_into(
            loaded,
            out or str(Path("runs") / named),
            part=part,
            workers=workers,
            engine=engine,
            replicas=replicas,
            gpus_per_replica=gpus_per_replica,
            concurrency=concurrency,
            max_calls=max_calls,
            max_tokens=max_tokens,
            prefix_reuse=prefix_reuse,
            startup_test=startup_test,
            verbose=verbose,
        )


def play_into(
    experiment: Experiment,
    out: str | Path,
    *,
    part: Part | None = None,
    workers: int | None = None,
    engine: str | None = None,
    replicas: int | None = None,
    gpus_per_replica: float | None = None,
    concurrency: int = 32,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    prefix_reuse: bool = True,
    startup_test: bool = True,
    verbose: bool = False,
) -> None:
    """Play an experiment into a folder, show how it goes, and print the outcome.

    Raises
    ------
    typer.Exit
        With code 1 if an episode failed, a cell has no complete episode, or one was stopped.
    """
    from tomeval.cli.progress import showing_progress
    from tomeval.models.served.limits import Budget
    from tomeval.runs.engines import make_engine
    from tomeval.runs.live import Live
    from tomeval.runs.runner import run_experiment

    options = {"replicas": replicas, "gpus_per_replica": gpus_per_replica}
    made = make_engine(engine, workers, **options)
    capped = max_calls is not None or max_tokens is not None
    live = Live()
    with showing_progress(live, verbose) as on_steps:
        played = run_experiment(
            experiment,
            Path(out),
            workers=1 if workers is None else workers,
            engine=made,
            concurrency=concurrency,
            budget=Budget(max_calls, max_tokens) if capped else None,
            prefix_reuse=prefix_reuse,
            startup_test=startup_test,
            part=part,
            progress=on_steps,
            live=live,
        )
    tell(f"{out}: {played} episodes played")
    for line in live.closing:
        tell(in_line(line))
    if not _close(Path(out), part):
        raise typer.Exit(1)


def _close(folder: Path, part: Part | None) -> bool:
    """Print what a run holds, over all sessions; return whether nothing is missing from it."""
    from tomeval.runs.closing import closing
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        found = closing(opened)
    verb = "table" if found.measurable else "transcript"
    then = f"next: tomeval {verb} {folder}" if part is None else part.then(str(folder))
    for line in (*found.lines, then):
        tell(line)
    return found.whole


def plan(
    experiment: ExperimentFile,
    model: ModelOption = None,
    overrides: Overrides = None,
    form: TableFormat = "text",
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Count tokens with this one: folder or Hub name."),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option("--context", help="Longest sequence of served models, in tokens.", min=1),
    ] = None,
    trust_host: TrustHost = None,
    trust_remote_code: TrustCode = False,
) -> None:
    """Show what an experiment would play, ask and cost; no model is asked anything."""
    from tomeval.core.credentials import trusting
    from tomeval.report.tables import DATA
    from tomeval.runs.domain import get_domain
    from tomeval.runs.experiment import load_experiment
    from tomeval.runs.plan import (
        for_reading,
        own_numbers,
        plan_rows,
        plan_totals,
        scoring_words,
        too_long,
    )
    from tomeval.runs.preview import token_counter
    from tomeval.runs.runner import lacks

    count = token_counter(tokenizer) if tokenizer else None
    with trusting(trust_host or (), code=trust_remote_code):
        loaded = load_experiment(experiment, overrides or [], model)
        rows = plan_rows(loaded, count, context)
    if form in DATA:
        show_table(rows, form)
    else:
        shared, shown = for_reading(rows)
        if shared:
            show(in_line(shared))
        show_table(shown, form)
    if form == "text":
        lines = plan_totals(rows)
        if "calls" in rows[0]:
            lines.insert(-1, scoring_words(loaded))
        blind = get_domain(loaded.domain).describe.cannot_tell(loaded.cells)
        lines += [f"note: {sentence}" for sentence in blind]
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        show("\n" + "\n".join(fold(line, min(room, WIDTH)) for line in lines))
    tell_notes(own_numbers(loaded, overrides or []))
    if missing := lacks(loaded):
        tell_notes([f"this cannot run here: {missing}"])
    found = too_long(rows)
    guess = "" if tokenizer else ", by a cautious guess (--tokenizer counts exactly)"
    for number in found:
        row = rows[number]
        tell(
            f"cell {number}: its longest prompt and reply have up to {row['longest']:,} tokens"
            f"{guess}; the model's context has {row['context']:,}"
        )
    if found:
        raise typer.Exit(1)


def prompt(
    strategy: Annotated[
        str,
        typer.Argument(
            help='A strategy, such as "S2A + CoT"; not with --experiment.',
            autocompletion=completing("strategies"),
        ),
    ] = "",
    domain: Annotated[
        str,
        typer.Option("--domain", help="The kind of game.", autocompletion=completing("domains")),
    ] = "matrix",
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="Show a cell of this experiment instead.")
    ] = None,
    cell: Annotated[int, typer.Option("--cell", help="With --experiment: from 0.")] = 0,
    seat: Annotated[str, typer.Option("--seat", help="Whose prompt. Default: the first's.")] = "",
    form: Annotated[
        str,
        typer.Option(
            "--form", help="Which question; in matrix games act, predict, react or payoff."
        ),
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
    copy_to: Annotated[
        Path | None,
        typer.Option(
            "--copy-to",
            metavar="FOLDER",
            help="Copy the templates that this player uses into a folder of your own, to change "
            "them: --prompts FOLDER, or prompts = [...] in an experiment, reads them.",
        ),
    ] = None,
    model: ModelOption = None,
    overrides: Overrides = None,
) -> None:
    """Print exactly what a model would read in one round of a made-up play."""
    from tomeval.runs.domain import get_domain
    from tomeval.runs.experiment import load_experiment
    from tomeval.runs.preview import copy_templates, preview

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
        if kind.describe.example is None:
            raise TomevalError(f"domain {kind.name!r} has no example of its own: give --experiment")
        more = {"form": form} if form else {}
        shown = kind.describe.example(strategy, seat, settings | more)
    else:
        if strategy or settings:
            given = ["the strategy"] * bool(strategy) + list(settings)
            raise TomevalError(f"--experiment says what is played: leave out {', '.join(given)}")
        loaded = load_experiment(experiment, overrides or [], model)
        if not 0 <= cell < len(loaded.cells):
            raise TomevalError(f"{experiment}: no cell {cell}, there are {len(loaded.cells)}")
        kind, shown = get_domain(loaded.domain), loaded.cells[cell]
    if copy_to is not None:
        for path in copy_templates(kind, shown, seat, copy_to):
            show(path)
        tell(f"next: change them, and look with --prompts {copy_to}")
        return
    show(preview(kind, shown, seat, form, number, tokenizer))
