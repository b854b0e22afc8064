"""The command line: a thin face over the library. A command is loaded when it is called."""

from __future__ import annotations

import io
import logging
import sys
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tomeval.core import extensions
from tomeval.core.errors import TomevalError
from tomeval.core.printing import notes_handler, show, tell_wrapped
from tomeval.core.shipped import SHIPPED
from tomeval.core.unpacking import OPTION, USUAL, allowing

PANELS: dict[str, dict[str, str]] = {
    "Measure": {
        **{"run": "cli.playing:run", "plan": "cli.playing:plan"},
        **{"prompt": "cli.reading:prompt", "status": "cli.reading:status"},
    },
    "Read": {
        "table": "cli.table:table",
        "plot": "cli.share:plot",
        "report": "cli.share:report",
        "transcript": "cli.reading:transcript",
        "compare": "cli.compare:compare",
        "power": "cli.compare:power",
        "bounds": "domains.matrix.commands:bounds",
    },
    "Begin and extend": {
        **{"list": "cli.starting:list_", "init": "cli.starting:init"},
        "schema": "cli.starting:schema",
    },
    "People, and games played elsewhere": {
        "import": "domains.matrix.commands:import_",
        **{name: f"domains.matrix.commands:{name}" for name in ("score", "audit")},
    },
    "Keep and share": {"export": "cli.share:export", "verify": "cli.reading:verify"},
    "Domains": {name: f"domains.{name}.commands:app" for name in ("arena", "decrypto")},
}
"""The commands that no extension brings, by what one does with them, in the order of ``--help``."""

OWN_PANEL = "Extensions"
"""The panel of commands whose extension names none."""

_OWN = {
    name: (panel, where) for panel, commands in PANELS.items() for name, where in commands.items()
}


class Group(TyperGroup):
    """A group whose commands, and those of extensions after them, are loaded when called.

    A command of the group ``arena`` is named ``arena NAME`` in `Extension.commands`.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its own commands, then those of extensions, strangers' too."""
        own = [*(() if self._path() else _OWN), *super().list_commands(ctx)]
        _load_strangers()
        path = self._path()
        added = (n.removeprefix(path) for n in extensions.named("commands") if n.startswith(path))
        return list(dict.fromkeys([*own, *(name for name in added if " " not in name)]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; one that ships is loaded when it is called, and for its help."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        whole = self._path() + cmd_name
        if whole in _OWN:
            return _Later(whole, _OWN[whole][0])
        for line in SHIPPED.values():
            if whole in line.commands:
                return _Later(whole, *line.commands[whole])
        made = extensions.part("commands", whole)
        return None if made is None else _command(whole, made)

    def _path(self) -> str:
        return "" if self.name in (None, "tomeval") else f"{self.name} "


class _Later(TyperCommand):
    """A command that ships, which is loaded when it is called."""

    def __init__(self, whole: str, panel: str, about: str = "") -> None:
        name = whole.rpartition(" ")[2]
        about = about or _about(whole)
        super().__init__(name, help=about, rich_help_panel=panel, add_help_option=False)
        self.whole = whole

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Load the command and begin it; what brings it may lack here, which is one line."""
        real = _command(self.whole, _made(self.whole))
        return real.make_context(info_name, args, parent=parent, **extra)


def _made(whole: str) -> Any:
    """Return the function, or the Typer app, of a command that ships."""
    if whole not in _OWN:
        return extensions.part("commands", whole)
    try:
        return extensions.resolved(f"tomeval.{_OWN[whole][1]}")
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("tomeval."):
            raise
        raise TomevalError(f"{whole}: cannot be loaded ({error})") from None


def _about(whole: str) -> str:
    """Return what a command is for, as its own help begins."""
    try:
        made = _made(whole)
    except TomevalError as error:
        return str(error)
    return str((made.info.help if isinstance(made, typer.Typer) else made.__doc__) or "")


@cache  # Typer takes a while to read the options of a function
def _command(whole: str, made: Any) -> Any:
    """Return the command of a function with Typer's annotations, or of a Typer app."""
    name = whole.rpartition(" ")[2]
    if isinstance(made, typer.Typer):
        grouped = made.info.cls is Group  # even with one command of its own
        command: Any = (typer.main.get_group if grouped else typer.main.get_command)(made)
    else:
        lone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        lone.command(name, rich_help_panel=OWN_PANEL)(made)
        command = typer.main.get_command(lone)
    command.name = name
    if isinstance(command, TyperGroup) and not command.rich_help_panel:
        command.rich_help_panel = OWN_PANEL
    return command


def _load_strangers() -> None:
    """Load installed packages for help, which stands where one of them cannot be loaded."""
    from tomeval.core.plugins import load_plugins

    try:
        load_plugins()
    except TomevalError as error:
        tell_wrapped(f"tomeval: {error}")


app = typer.Typer(name="tomeval", cls=Group, no_args_is_help=True, pretty_exceptions_enable=False)


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
    if max_mb != USUAL:
        context.with_resource(allowing(max_mb))


def main() -> None:
    """Run the command line; bad input is one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek gets \u0394 for Δ
            stream.reconfigure(errors="backslashreplace")
    logging.lastResort = notes_handler(logging.WARNING)  # who logs may repeat what a server said
    try:
        typer.main.get_command(app)()
    except TomevalError as error:
        tell_wrapped("tomeval: " + str(error).replace("\n", "\n  "))  # no name begins a line
        sys.exit(2)
