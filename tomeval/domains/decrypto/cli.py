"""The commands under ``tomeval decrypto``. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tomeval.cli.options import Format, Overrides, TableFormat
from tomeval.cli.progress import progress_bar
from tomeval.core.errors import TomevalError

if TYPE_CHECKING:
    from tomeval.domains.decrypto.experiment import Experiment

app = typer.Typer(
    name="decrypto",
    no_args_is_help=True,
    help="Decrypto: play, probe, replay and compare players of the word game.",
)


class Table(StrEnum):
    """Which table."""

    outcomes = "outcomes"
    perspective = "perspective"
    beliefs = "beliefs"
    functional = "functional"
    turns = "turns"
    replay = "replay"


class FileForm(StrEnum):
    """What to export turns as."""

    csv = "csv"
    jsonl = "jsonl"


class Role(StrEnum):
    """A seat."""

    encoder = "encoder"
    decoder = "decoder"
    interceptor = "interceptor"


RunFolder = Annotated[Path, typer.Argument(help="A run folder of Decrypto.", metavar="RUN")]
Concurrency = Annotated[
    int, typer.Option("--concurrency", help="Games with language models at a time.")
]
MaxCalls = Annotated[
    int | None, typer.Option("--max-calls", help="Stop before a served model's next call.")
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", help="Stop before this many tokens are passed.")
]
SPEC_HELP = (
    "random, minilm, wordnet, embedding:NAME, hf:REPO, openai:MODEL@BASE_URL or scripted:NAME"
)
Strategy = Annotated[str, typer.Option("--strategy", help="Of language models.")]
Candidates = Annotated[int, typer.Option("--k", help="Candidates per hint of embedding encoders.")]


@app.command()
def run(
    experiment: Annotated[
        str, typer.Argument(help="A TOML file, or the name of a shipped experiment.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The run folder. Default: runs/NAME.")
    ] = None,
    concurrency: Concurrency = 32,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    prefix_reuse: Annotated[
        bool, typer.Option(help="Encode every token of a seat's prompts once (local models).")
    ] = True,
    overrides: Overrides = None,
) -> None:
    """Run an experiment; run it again to resume, or with more games to extend."""
    from tomeval.domains.decrypto.experiment_files import load_experiment

    loaded = load_experiment(experiment, overrides or [])
    folder = out or Path("runs") / loaded.name
    _run(loaded, folder, concurrency, max_calls, max_tokens, prefix_reuse)


@app.command()
def replay(
    records: Annotated[Path, typer.Argument(help="Recorded games, as JSON.")],
    out: Annotated[Path, typer.Option("--out", help="The run folder.")],
    encoder: Annotated[str | None, typer.Option("--encoder", help=SPEC_HELP)] = None,
    decoder: Annotated[str | None, typer.Option("--decoder", help=SPEC_HELP)] = None,
    interceptor: Annotated[str | None, typer.Option("--interceptor", help=SPEC_HELP)] = None,
    strategy: Strategy = "QA",
    k: Candidates = 16,
    probes: Annotated[bool, typer.Option(help="Ask the theory-of-mind probes too.")] = False,
    concurrency: Concurrency = 32,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    overrides: Overrides = None,
) -> None:
    """Put other players into seats of recorded games; the other seats do as recorded."""
    from tomeval.domains.decrypto.experiment_files import make_experiment
    from tomeval.domains.decrypto.players import RECORD, table_from_spec
    from tomeval.runs.experiment import _override

    specs = {Role.encoder: encoder, Role.decoder: decoder, Role.interceptor: interceptor}
    if not any(specs.values()):
        raise TomevalError("name a player with --encoder, --decoder or --interceptor")
    data: dict[str, Any] = {
        "name": "replay",
        "records": str(records),
        "players": {spec: table_from_spec(spec, strategy, k) for spec in specs.values() if spec},
        "pairings": [{role.value: specs[role] or RECORD for role in Role}],
    }
    if probes:
        data["probes"] = dict.fromkeys(("eve", "eve_reminded", "bob", "beliefs"), True)
    for override in overrides or []:
        _override(data, override)
    loaded = make_experiment(data, base=Path(), where="replay")
    _run(loaded, out, concurrency, max_calls, max_tokens, True, "replay")


def _run(
    experiment: Experiment,
    folder: Path,
    concurrency: int,
    max_calls: int | None,
    max_tokens: int | None,
    prefix_reuse: bool,
    table: str = "outcomes",
) -> None:
    from tomeval.domains.decrypto.results import Run
    from tomeval.domains.decrypto.runner import run_experiment
    from tomeval.models.served.limits import Budget

    capped = max_calls is not None or max_tokens is not None
    budget = Budget(max_calls, max_tokens) if capped else None
    with progress_bar("games") as progress:
        played = run_experiment(
            experiment,
            folder,
            concurrency=concurrency,
            budget=budget,
            prefix_reuse=prefix_reuse,
            progress=progress,
        )
    print(f"{folder}: {played} games played", file=sys.stderr)
    with Run(folder) as opened:
        usage, failed = opened.store.call_totals(), opened.store.failed()
    if usage["calls"]:
        print(
            f"{usage['calls']:,} model calls: {usage['prompt_tokens']:,} prompt tokens; "
            f"{usage['completion_tokens']:,} generated",
            file=sys.stderr,
        )
    what = "" if table == "outcomes" else f" --what {table}"
    print(f"next: tomeval decrypto table {folder}{what}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


@app.command()
def table(
    folder: RunFolder,
    what: Annotated[Table, typer.Option("--what", help="Which table.")] = Table.outcomes,
    by: Annotated[
        list[Role] | None,
        typer.Option("--by", help="Tell rows apart by this seat only. Repeatable. Default: all."),
    ] = None,
    form: TableFormat = Format.text,
) -> None:
    """Print a table of a run, with 95 % intervals over games."""
    from tomeval.domains.decrypto.results import Run
    from tomeval.domains.decrypto.tables import readable
    from tomeval.report.tables import render

    with Run(folder) as opened:
        rows = opened.rows(what.value, [role.value for role in by or Role])
    whole = form in (Format.csv, Format.json)
    print(render(rows if whole else readable(rows), form))


@app.command()
def plot(
    folder: RunFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder for the pictures.")],
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="png, svg or pdf. Repeatable. Default: png and svg."),
    ] = None,
) -> None:
    """Draw all figures that a run's data supports."""
    from tomeval.domains.decrypto.figures import plot_run
    from tomeval.domains.decrypto.results import Run

    with Run(folder) as opened:
        for path in plot_run(opened, out, formats=formats or ("png", "svg")):
            print(path)


@app.command()
def export(
    folder: RunFolder,
    form: Annotated[FileForm, typer.Option("--format", help="File format.")] = FileForm.csv,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. Default: standard output.")
    ] = None,
) -> None:
    """Export one row per turn for other programs."""
    from tomeval.domains.decrypto.exporting import export_turns
    from tomeval.domains.decrypto.results import Run

    with Run(folder) as opened:
        export_turns(opened, form.value, out)


@app.command()
def play(
    seat: Annotated[
        list[Role] | None,
        typer.Option("--seat", help="Your seat. Repeatable. Default: interceptor."),
    ] = None,
    encoder: Annotated[str | None, typer.Option("--encoder", help=SPEC_HELP)] = None,
    decoder: Annotated[str | None, typer.Option("--decoder", help=SPEC_HELP)] = None,
    interceptor: Annotated[str | None, typer.Option("--interceptor", help=SPEC_HELP)] = None,
    strategy: Strategy = "QA",
    k: Candidates = 16,
    seed: Annotated[int, typer.Option("--seed", help="Decides keywords and codes.")] = 0,
    game: Annotated[int, typer.Option("--game", help="Which game of the seed, from 0.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", help="File to record to; games are added to it.")
    ] = Path("decrypto_games.json"),
    overrides: Overrides = None,
) -> None:
    """Take a seat yourself, against or with other players; the game is recorded."""
    from tomeval.domains.decrypto.session import play_session, tables_from_specs
    from tomeval.domains.decrypto.terminal import Terminal
    from tomeval.runs.experiment import _override

    people = [role.value for role in seat or [Role.interceptor]]
    specs = {"encoder": encoder, "decoder": decoder, "interceptor": interceptor}
    others = tables_from_specs(specs, people, "minilm", strategy, k)
    settings: dict[str, Any] = {"seed": seed, "rules": {}}
    for override in overrides or []:
        _override(settings, override)
    terminal = Terminal(sys.stdin, sys.stdout, people)
    play_session(people, others, terminal, out, settings=settings, game=game)


@app.command("import")
def import_(
    turns: Annotated[Path, typer.Argument(help="A plain list of turns: CSV or JSON.")],
    out: Annotated[Path, typer.Option("--out", help="File of recorded games to write.")],
    no_repeat_hints: Annotated[
        bool, typer.Option("--no-repeat-hints", help="It was played by this rule.")
    ] = False,
    most_turns: Annotated[int, typer.Option("--turns", help="Turns that win the game.")] = 8,
) -> None:
    """Make a file of recorded games from keywords, codes, hints and both guesses."""
    from tomeval.domains.decrypto.game import Rules
    from tomeval.domains.decrypto.replays import import_turns, write_games

    if out.exists():
        raise TomevalError(f"{out}: exists already; choose another file with --out")
    games = import_turns(turns, Rules(turns=most_turns, no_repeat_hints=no_repeat_hints))
    write_games(out, games)
    count = sum(len(game.turns) for game in games)
    print(f"{out}: {len(games)} games, {count} turns", file=sys.stderr)


@app.command()
def show(
    where: Annotated[
        Path, typer.Argument(help="A run folder, or a file of recorded games.", metavar="RUN|FILE")
    ],
    game: Annotated[int, typer.Option("--game", help="Which game, from 0.")] = 0,
    cell: Annotated[
        int | None, typer.Option("--cell", help="Which pairing and seed of a run, from 0.")
    ] = None,
    calls: Annotated[
        bool, typer.Option("--calls", help="Show what models read and wrote.")
    ] = False,
) -> None:
    """Print a game as a reader wants it."""
    from tomeval.domains.decrypto.showing import cell_lines, game_lines, record_lines

    if where.is_dir() and cell is None:
        lines = cell_lines(where)
    elif where.is_dir():
        lines = game_lines(where, cell or 0, game, calls)
    else:
        lines = record_lines(where, game)
    for line in lines:
        print(line)
