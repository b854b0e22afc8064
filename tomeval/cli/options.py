"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a table is printed."""

    text = "text"
    csv = "csv"
    json = "json"
    markdown = "markdown"
    latex = "latex"


class Interval(StrEnum):
    """How a 95 % interval is made."""

    normal = "normal"
    t = "t"
    bca = "bca"


class Reference(StrEnum):
    """What ΔFunctional is measured from."""

    horizon = "horizon"
    stationary = "stationary"


class What(StrEnum):
    """What to export."""

    steps = "steps"
    episodes = "episodes"
    cells = "cells"


class FileFormat(StrEnum):
    """What to export it as."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"
    inspect = "inspect"
    lm_eval = "lm-eval"
    hub = "hub"


RunFolder = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
ExperimentFile = Annotated[
    str, typer.Argument(help="A TOML file, or the name of a shipped experiment.")
]
TableFormat = Annotated[Format, typer.Option("--format", help="How to print the table.")]
IntervalOption = Annotated[
    Interval,
    typer.Option(
        "--interval", help="normal: ± 1.96 sd/√n, as published; t: Student; bca: bootstrap."
    ),
]
ReferenceOption = Annotated[
    Reference | None,
    typer.Option(
        "--reference",
        help="What ΔFunctional is measured from: the best response over the horizon, or the best "
        "long-run mean. Default: as the experiment says.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override a key of the experiment: key=value. Repeatable."),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="Measure this model in place of the experiment's: pocket, "
        "hf:REPO_OR_PATH[@revision] or openai:MODEL@BASE_URL. Where neither names one: pocket.",
    ),
]
Horizon = Annotated[int, typer.Option("--horizon", help="Steps per episode, T.")]
