"""Arguments and options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tomeval.core.errors import TomevalError
from tomeval.core.printing import show, show_data, show_wrapped
from tomeval.core.text import in_line

if TYPE_CHECKING:
    from tomeval.runs.measures import Measure

Format = Literal["text", "csv", "json", "markdown", "latex"]
Interval = Literal["auto", "normal", "t", "sequence"]


RunFolder = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
RunFolders = Annotated[
    list[Path], typer.Argument(help="A run folder, or several.", metavar="RUN...")
]
NewRun = Annotated[
    Path | None,
    typer.Option("--out", help="The run folder to make. Default: runs/ and the file's name."),
]
ExperimentFile = Annotated[str, typer.Argument(help="TOML file, or name of a shipped experiment.")]
TableFormat = Annotated[Format, typer.Option("--format")]
IntervalOption = Annotated[
    Interval,
    typer.Option(
        "--interval",
        help="t: Student's t; normal: ± 1.96 sd/√n, as published; sequence: valid at "
        "every look; auto: t below 30 episodes, then normal, sequence in runs that were "
        "extended or stopped by a condition.",
    ),
]
ReferenceOption = Annotated[
    str | None,
    typer.Option(
        "--reference",
        help="What regret is measured from; in matrix games the best response over the horizon "
        "(horizon) or the best long-run mean (stationary). Default: the experiment's.",
    ),
]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", help="Override a key: key=value. Repeatable.")
]
ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="Measure this model instead: pocket, hf:REPO_OR_PATH, hf:REPO@REVISION or "
        "openai:MODEL@BASE_URL. Repeatable.",
    ),
]
Concurrency = Annotated[
    int, typer.Option("--concurrency", help="Episodes of language models played in parallel.")
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME[:ADDRESS]",
        help="Play on replicas instead of in this process: ray (a running cluster, else this "
        "machine) or ray:HOST:PORT. Served models stay in this process.",
    ),
]
Replicas = Annotated[
    int | None, typer.Option("--replicas", help="With --engine: replicas. Default: 1.")
]
GpusPerReplica = Annotated[
    float | None,
    typer.Option(
        "--gpus-per-replica",
        help="With --engine: GPUs of each, such as 1, or 0.5 for two on one GPU. Default: 0.",
    ),
]
MaxCalls = Annotated[
    int | None, typer.Option("--max-calls", help="Stop after so many calls of served models.")
]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", help="Stop before they use more tokens."),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", help="Stop before they cost more, by their prices."),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="CONDITION", help="Play until this holds: 'width(regret) < 0.1'."
    ),
]
TrustHost = Annotated[
    list[str] | None,
    typer.Option(
        "--trust-host",
        help="HOST=VARIABLE: also send the key in this environment variable to this host. "
        "Repeatable.",
    ),
]
GoOn = Annotated[
    bool,
    typer.Option("--go-on", help="Continue if none of a model's first 8 answers could be read."),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Skip games that cannot be read, and say why.")
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Only these cells: COLUMN=VALUE[,VALUE], such as game=RPS,IPD, with * for any text; "
        "COLUMN!=VALUE for all others. Repeatable: all must hold.",
    ),
]


def show_table(
    rows: Sequence[Mapping[str, Any]],
    form: str,
    measures: Mapping[str, Measure] | None = None,
    keep: Sequence[str] = (),
    above: Sequence[str] = (),
) -> None:
    """Print a table, see `tomeval.report.rows.grid_of`; formats for programs as they are.

    On a terminal it is made to fit; whole rows where a program may read them. `keep` are columns
    that stay, even where all rows agree in them; `above` are lines of a table for reading.
    """
    from tomeval.api.showing import table_text
    from tomeval.report.rows import grid_of
    from tomeval.report.tables import DATA, WORDS, data

    if form in DATA:
        show_data(data(rows, form))
        return
    grids = []
    if rows:
        grid = grid_of(rows, measures, keep=keep, words=WORDS[form])
        grids = [replace(grid, above=[*grid.above, *map(WORDS[form], above)])]
    show(table_text([], grids, [], form))


def tell_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error."""
    for note in notes:
        show_wrapped(in_line(f"note: {note}"), sys.stderr)


def pairs(option: str, given: list[str] | None, form: str) -> dict[str, str]:
    """Split options of the form ``A=B``."""
    by_left: dict[str, str] = {}
    for text in given or ():
        left, equals, right = (part.strip() for part in text.partition("="))
        if not equals or not left:
            raise TomevalError(f"{option} {text!r}: write {form}")
        if left in by_left:
            raise TomevalError(f"{option}: {left!r} is given twice")
        by_left[left] = right
    return by_left
