"""The commands that one begins with: what there is, and a first file of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tomeval.cli.completing import domains, kinds, lists
from tomeval.cli.options import TableFormat, show_table
from tomeval.core.printing import show, tell


def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="Such as experiments, models, metrics, figures, strategies, games or partners. "
            "Without it: all lists.",
            autocompletion=lists,
        ),
    ] = "",
    holding: Annotated[
        str, typer.Argument(help="Only rows in which this text stands.", metavar="[TEXT]")
    ] = "",
    form: TableFormat = "text",
) -> None:
    """List what an experiment or an option can name; alone, the lists themselves."""
    from tomeval.cli.listing import list_rows

    rows = list_rows(what, holding)
    if rows:
        show_table(rows, form)
    else:
        tell(f"list {what}: there are none")


def init(
    kind: Annotated[
        str,
        typer.Argument(
            help="experiment, game, partner, template or strategy; or, as Python files, subject, "
            "model, measure, domain or extension.",
            autocompletion=kinds,
        ),
    ],
    name: Annotated[
        str, typer.Argument(help="What it is called. Default: my_KIND.", metavar="[NAME]")
    ] = "",
    domain: Annotated[
        str,
        typer.Option(
            "--domain",
            help="Of an experiment or a template: matrix, decrypto or arena.",
            autocompletion=domains,
        ),
    ] = "matrix",
) -> None:
    """Write a worked, commented example that runs as it is; nothing is overwritten."""
    from tomeval.cli.examples import OF_DOMAINS, next_steps, write_example
    from tomeval.core.errors import TomevalError

    if domain != "matrix" and kind not in OF_DOMAINS:
        raise TomevalError(f"init: --domain goes with {' and '.join(OF_DOMAINS)}, not with {kind}")
    written = write_example(kind, name, domain, Path())
    for path in written:
        show(path)
    for line in next_steps(kind, name, domain, written):
        tell(f"next: {line}")


def schema(
    domain: Annotated[
        str, typer.Argument(help="The kind of game.", autocompletion=domains, metavar="[DOMAIN]")
    ] = "matrix",
) -> None:
    """Print a JSON schema of experiment files, with which editors complete and check keys."""
    import json

    from tomeval.core.printing import show_data
    from tomeval.runs.domain import get_domain
    from tomeval.runs.file_schema import experiment_schema

    show_data(json.dumps(experiment_schema(get_domain(domain)), indent=1, ensure_ascii=False))
