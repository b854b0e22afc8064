"""The command line: a thin face over the library. Heavy imports wait until a command needs them."""

from __future__ import annotations

import io
import logging
import sys
from typing import Annotated

import typer

from tomeval.cli import (
    arena,
    checking,
    compare,
    decrypto,
    matrix,
    people,
    playing,
    plotting,
    rating,
    reading,
    share,
    starting,
    table,
    viewing,
)
from tomeval.core.errors import TomevalError
from tomeval.core.printing import notes_handler, show, tell_wrapped

app = typer.Typer(name="tomeval", no_args_is_help=True, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        from tomeval import __version__

        show(f"tomeval {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="FILE",
            help="Load this Python file, or module, which registers parts of your own; before the "
            "command. Installed packages need it not. Repeatable.",
        ),
    ] = None,
) -> None:
    """Measure functional and literal theory of mind on the same steps, exactly."""
    for spec in plugin or ():
        from tomeval.core.plugins import use_plugin

        use_plugin(spec)


_MODULES = (
    *(starting, playing, table, reading, plotting, rating, viewing, checking, compare, share),
    *(matrix, people),
)
for _module in _MODULES:
    for _command in _module.COMMANDS:
        app.command(_command.__name__.rstrip("_"))(_command)
app.add_typer(arena.app)
app.add_typer(decrypto.app)


def main() -> None:
    """Run the command line; bad input is one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek gets \u0394 for Δ
            stream.reconfigure(errors="backslashreplace")
    logging.lastResort = notes_handler(logging.WARNING)  # who logs may repeat what a server said
    try:
        app()
    except TomevalError as error:
        tell_wrapped("tomeval: " + str(error).replace("\n", "\n  "))  # no name begins a line
        sys.exit(2)
