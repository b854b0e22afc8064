"""The command line: a thin face over the library. Heavy imports wait until a command needs them."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tomeval.cli.compare import register as register_compare
from tomeval.cli.decrypto import app as decrypto_app
from tomeval.cli.options import (
    ExperimentFile,
    FileFormat,
    Format,
    Horizon,
    Interval,
    IntervalOption,
    ModelOption,
    Overrides,
    Reference,
    ReferenceOption,
    RunFolder,
    TableFormat,
    What,
)
from tomeval.cli.progress import progress_bar
from tomeval.cli.share import register as register_share
from tomeval.core.errors import TomevalError, unknown

if TYPE_CHECKING:
    from tomeval.domains.matrix.experiment import Experiment

app = typer.Typer(
    name="tomeval",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        from tomeval import __version__

        print(f"tomeval {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Measure functional and literal theory of mind on the same steps, exactly."""


_INTERRUPTED = 130  # what typer exits with after Ctrl-C


@app.command()
def run(
    experiment: ExperimentFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="The run folder. Default: runs/NAME.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Processes to play with.")] = 1,
    model: ModelOption = None,
    concurrency: Annotated[
        int, typer.Option("--concurrency", help="Episodes of a language model at a time.")
    ] = 32,
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", help="Stop before a served model's next call.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Stop before this many tokens are passed.")
    ] = None,
    prefix_reuse: Annotated[
        bool,
        typer.Option(help="Encode every token of an episode once (local models)."),
    ] = True,
    overrides: Overrides = None,
) -> None:
    """Run an experiment; run it again to resume, or with more episodes to extend."""
    from tomeval.models.served.limits import Budget
    from tomeval.runs.runner import run_experiment

    loaded = _load(experiment, overrides, model)
    capped = max_calls is not None or max_tokens is not None
    budget = Budget(max_calls, max_tokens) if capped else None
    folder = out or Path("runs") / loaded.name
    with progress_bar() as progress:
        played = run_experiment(
            loaded,
            folder,
            workers=workers,
            concurrency=concurrency,
            budget=budget,
            prefix_reuse=prefix_reuse,
            progress=progress,
        )
    print(
        f"{folder}: {played} episodes played, {len(loaded.cells())} cells complete", file=sys.stderr
    )
    failed = _print_usage(folder)
    print(f"next: tomeval table {folder}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


@app.command()
def plan(
    experiment: ExperimentFile,
    model: ModelOption = None,
    overrides: Overrides = None,
    form: TableFormat = Format.text,
) -> None:
    """Show what an experiment would play and ask, without playing or asking it."""
    from tomeval.report.tables import render
    from tomeval.runs.plan import plan_rows, plan_totals

    rows = plan_rows(_load(experiment, overrides, model))
    print(render(rows, form))
    if form is Format.text:
        print(f"\n{plan_totals(rows)}")


@app.command()
def status(folder: RunFolder, form: TableFormat = Format.text) -> None:
    """Show how many episodes of each cell are on disk."""
    from tomeval.report.tables import render
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        print(render(opened.status(), form))


@app.command()
def table(
    folder: RunFolder,
    form: TableFormat = Format.text,
    interval: IntervalOption = Interval.normal,
    reference: ReferenceOption = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="Show published results beside the run's, from this CSV."),
    ] = None,
    as_model: Annotated[
        str | None,
        typer.Option("--as-model", help="With --against: which published model to show."),
    ] = None,
) -> None:
    """Print the table of a run: one row per cell, every metric with its 95 % interval."""
    from tomeval.report.tables import render
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        if against is None:
            print(render(opened.rows(interval, reference), form))
            return
        from tomeval.domains.matrix.published import beside

        rows, notes = beside(
            opened, against, model=as_model, interval=interval, reference=reference
        )
    print(render(rows, form))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


@app.command()
def plot(
    folder: RunFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder for the pictures.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Draw this figure: regret, tom, forest, differences, scatter, decomposition, "
            "profiles or label_bias. Repeatable. Default: all that the run supports.",
        ),
    ] = None,
    column: Annotated[
        str, typer.Option("--column", help="Width: a double or a single column of a page.")
    ] = "double",
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="png, svg or pdf. Repeatable. Default: png and svg."),
    ] = None,
    interval: IntervalOption = Interval.normal,
) -> None:
    """Draw all figures that a run's data supports, or those named."""
    from tomeval.plots import plot_run
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        for path in plot_run(
            opened,
            out,
            interval,
            only=only or (),
            column=column,
            formats=formats or ("png", "svg"),
        ):
            print(path)


@app.command("list")
def list_(
    what: Annotated[
        str, typer.Argument(help="games, partners, subjects, labels, strategies or prompts")
    ],
    form: TableFormat = Format.text,
) -> None:
    """List what an experiment can name."""
    from tomeval.cli.listing import LISTS
    from tomeval.report.tables import render

    if what not in LISTS:
        raise unknown("list", what, LISTS)
    print(render(LISTS[what](), form))


@app.command()
def prompt(
    strategy: Annotated[str, typer.Argument(help='A strategy, such as "S2A + CoT".')],
    game: Annotated[str, typer.Option("--game", help="A game, or a TOML file.")] = "RPS",
    labels: Annotated[str | None, typer.Option("--labels", help="A label set.")] = None,
    form: Annotated[str, typer.Option("--form", help="act, predict or react")] = "act",
    number: Annotated[int, typer.Option("--round", help="Which round is asked about.")] = 5,
    horizon: Horizon = 100,
    partner: Annotated[str, typer.Option("--partner", help="Who plays along.")] = "tit_for_tat",
    option_order: Annotated[str, typer.Option("--option-order")] = "fixed",
    literal_order: Annotated[str, typer.Option("--literal-order")] = "agent_first",
    prompts: Annotated[str, typer.Option("--prompts", help="Folder of own templates.")] = "",
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Count tokens with this one: folder or Hub name."),
    ] = None,
) -> None:
    """Print exactly what a model would read in one round of a made-up play."""
    from tomeval.domains.matrix.preview import preview

    options = {
        "option_order": option_order,
        "literal_order": literal_order,
        "prompts": prompts,
    }
    print(preview(strategy, game, labels, form, number, horizon, partner, options, tokenizer))


@app.command()
def transcript(
    folder: RunFolder,
    episode: Annotated[int, typer.Option("--episode", help="Which episode, from 0.")] = 0,
    cell: Annotated[int, typer.Option("--cell", help="Which cell, from 0.")] = 0,
) -> None:
    """Print an episode as a reader wants it: moves, and what was asked and said."""
    from tomeval.runs.results import Run
    from tomeval.runs.transcripts import transcript_lines

    with Run(folder) as opened:
        for line in transcript_lines(opened, cell, episode):
            print(line)


@app.command()
def bounds(
    game: Annotated[str, typer.Argument(help="A game, or a TOML file.")],
    partner_set: Annotated[str, typer.Argument(help="A partner or partner set.")],
    horizon: Horizon = 100,
    reference: ReferenceOption = None,
    form: TableFormat = Format.text,
) -> None:
    """Show what is attainable: best, worst and stationary reward per step, ΔFunctional/T."""
    from tomeval.cli.listing import bounds_rows
    from tomeval.report.tables import render

    rows, relevance = bounds_rows(game, partner_set, horizon, reference or Reference.horizon)
    print(render(rows, form))
    if form is Format.text:
        what = "relevance (regret per step of the best response to the wrong partner)"
        print(f"\n{what}: {relevance:.6g}")


@app.command()
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
    reference: Annotated[Reference, typer.Option("--reference")] = Reference.horizon,
    interval: IntervalOption = Interval.normal,
    form: TableFormat = Format.text,
) -> None:
    """Score a recorded game from anywhere."""
    from tomeval.api import score as score_file
    from tomeval.report.tables import render

    row = score_file(steps, game, partner, labels=labels, reference=reference, interval=interval)
    print(render([row], form))


@app.command()
def audit(
    results: Annotated[
        Path, typer.Argument(help="CSV with the columns of experiments/reported_results.csv")
    ],
    horizon: Horizon = 100,
    form: TableFormat = Format.text,
) -> None:
    """List every row of published results that cannot be true; exit code 1 if there is any."""
    from tomeval.domains.matrix.auditing import audit as audit_file
    from tomeval.report.tables import render

    rows = audit_file(results, horizon)
    if form is Format.text:
        for row in rows:
            place = ", ".join(str(row[key]) for key in ("model", "prompting", "game", "partner"))
            print(f"table {row['table']}: {place}: {row['metric']}\n  {row['reason']}")
        print(f"{len(rows)} rows cannot be true" if rows else "no row contradicts the bounds")
    else:
        print(render(rows, form))
    if rows:
        raise typer.Exit(1)


@app.command()
def export(
    folder: RunFolder,
    what: Annotated[
        What | None, typer.Option("--what", help="Which table. Default: steps.")
    ] = None,
    form: Annotated[
        FileFormat,
        typer.Option(
            "--format",
            help="csv, jsonl, parquet; or the whole run for inspect_ai's viewer (inspect), under "
            "lm-eval's keys (lm-eval), or as entries of model pages on the Hub (hub).",
        ),
    ] = FileFormat.csv,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File to write (default: standard output), or a folder."),
    ] = None,
    repo: Annotated[
        str | None,
        typer.Option("--repo", help="With hub: the dataset that holds the run, OWNER/NAME."),
    ] = None,
) -> None:
    """Export steps, episodes or cells, or the whole run, for other programs."""
    from tomeval.interchange.exporting import export
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        for path in export(opened, form, what, out, repo):
            print(path)


register_compare(app)
app.add_typer(decrypto_app)
register_share(app)


def _load(experiment: str, overrides: list[str] | None, model: str | None = None) -> Experiment:
    """Load an experiment file, or a shipped experiment by name."""
    from tomeval.core.resources import experiment_path
    from tomeval.runs.experiment import load_experiment

    return load_experiment(experiment_path(experiment), overrides or [], model)


def _print_usage(folder: Path) -> int:
    """Say what a run's model calls took, of all sessions; return how many episodes failed."""
    from tomeval.runs.results import Run

    with Run(folder) as opened:
        usage = list(opened.store.usage().values())
        failed = opened.store.failed()
    calls, prompt, completion, cached = (
        sum(row[key] for row in usage)
        for key in ("calls", "prompt_tokens", "completion_tokens", "cached_tokens")
    )
    if calls:
        share = f", {prompt - cached:,} of them encoded, the others reused" if cached else ""
        print(
            f"{calls:,} model calls: {prompt:,} prompt tokens{share}; {completion:,} generated",
            file=sys.stderr,
        )
    return failed


def main() -> None:
    """Run the command line; bad input is one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek gets \u0394 for Δ
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except TomevalError as error:
        print(f"tomeval: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == _INTERRUPTED:
            print("tomeval: stopped; run the same command again to go on", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
