"""The command line: a thin face over the library. Heavy imports wait until a command needs them."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated

import typer

from tomeval.cli import (
    arena,
    checking,
    compare,
    decrypto,
    designing,
    matrix,
    playing,
    plotting,
    rating,
    reading,
    share,
    spreading,
    starting,
    table,
)
from tomeval.cli.extended import ExtendedGroup
from tomeval.core.errors import TomevalError
from tomeval.core.printing import notes_handler, show, tell_wrapped
from tomeval.core.unpacking import OPTION, USUAL, allowing

app = typer.Typer(
    name="tomeval", cls=ExtendedGroup, no_args_is_help=True, pretty_exceptions_enable=False
)


def _version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        from tomeval import __version__

        show(f"tomeval {__version__}")
        raise typer.Exit


def _load(specs: list[str] | None) -> list[str] | None:
    """Load what ``--plugin`` names before the command is looked up, which it may bring."""
    for spec in specs or ():
        from tomeval.core.plugins import use_plugin

        use_plugin(spec)
    return specs


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="FILE",
            callback=_load,
            is_eager=True,
            help="Load this Python file, or module, which registers parts of your own; before the "
            "command. Installed packages do not need it. Repeatable.",
        ),
    ] = None,
    max_mb: Annotated[
        int,
        typer.Option(
            OPTION,
            min=1,
            help="The most memory, in MB, that one file of others may take unpacked: tables of "
            "steps, word vectors.",
        ),
    ] = USUAL,
) -> None:
    """Measure functional and literal theory of mind on the same steps, exactly."""
    context.with_resource(allowing(max_mb))


PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Measure": (
        *(playing.run, playing.plan, playing.prompt, reading.status),
        spreading.merge,
    ),
    "Read": (
        *(table.table, plotting.plot, share.report, reading.transcript),
        *(compare.compare, compare.power, rating.ratings, matrix.bounds),
    ),
    "Begin and extend": (*(starting.list_, starting.init, starting.schema, designing.design),),
    "People, and games played elsewhere": (*(matrix.import_, matrix.score, matrix.audit),),
    "Keep and share": (share.export, checking.verify),
}
"""The commands of the package itself by what one does with them, in the order of ``--help``."""

for _panel, _commands in PANELS.items():
    for _one in _commands:
        app.command(_one.__name__.rstrip("_"), rich_help_panel=_panel)(_one)
app.add_typer(arena.app, rich_help_panel="Domains")
app.add_typer(decrypto.app, rich_help_panel="Domains")


@cache
def _command() -> Callable[..., None]:
    """Return all commands, made once: Typer takes a tenth of a second to read their options."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; bad input is one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek gets \u0394 for Δ
            stream.reconfigure(errors="backslashreplace")
    logging.lastResort = notes_handler(logging.WARNING)  # who logs may repeat what a server said
    try:
        _command()()
    except TomevalError as error:
        tell_wrapped("tomeval: " + str(error).replace("\n", "\n  "))  # no name begins a line
        sys.exit(2)
