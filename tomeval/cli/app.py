"""The command line: a thin face over the library. A command is loaded when it is called."""

from __future__ import annotations

import errno
import io
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tomeval.cli.joined import Command, Joined
from tomeval.core import extensions
from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.printing import notes_handler, show, tell_wrapped
from tomeval.core.shipped import SHIPPED
from tomeval.core.text import excerpt
from tomeval.core.unpacking import OPTION, USUAL, allowing

PANELS: dict[str, dict[str, str | dict[str, str]]] = {
    "Measure": {
        **{"run": "cli.playing:run", "plan": "cli.playing:plan"},
        **{"prompt": "cli.reading:prompt", "status": {"": "cli.reading:status"}},
    },
    "Read": {
        "table": "cli.table:table",
        "plot": "cli.share:plot",
        "report": "cli.share:report",
        "transcript": "cli.reading:transcript",
        "compare": "cli.compare:compare",
        "bounds": "domains.matrix.commands:bounds",
    },
    "Begin and extend": {
        **{"list": "cli.starting:list_", "init": "cli.starting:init"},
    },
    "People, and games played elsewhere": {
        "play": {name: f"domains.{name}.commands:PLAY" for name in ("arena", "decrypto")},
        "import": {"matrix": "domains.matrix.commands:import_"},
    },
    "Keep and share": {
        "export": "cli.share:export",
    },
}
"""The commands that no extension brings, by what one does with them, in the order of ``--help``.

Some have parts: what they do by themselves (its key is empty), in a domain, or, as extensions add,
with an option, see `Joined`.
"""

ABOUT = {
    "play": "Play a game yourself, at the terminal: matrix games, the arena, Decrypto.",
    "import": "Make a run folder from games that were played elsewhere, or of several runs.",
}
"""What commands are for, if their parts differ."""

OWN_PANEL = "Extensions"
"""The panel of commands whose extension names none."""

_OWN = {
    name: (panel, where) for panel, commands in PANELS.items() for name, where in commands.items()
}


class Group(TyperGroup):
    """The commands, and those of extensions after them, which are loaded when called.

    What an extension names ``play DOMAIN`` is a part of a command.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its own commands, then those of extensions, strangers' too."""
        _load_strangers()
        brought = (name.partition(" ")[0] for name in extensions.named("commands"))
        return list(dict.fromkeys([*_OWN, *brought]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; one that ships is loaded when it is called, and for its help."""
        if not isinstance(_OWN.get(cmd_name, ("", ""))[1], str):  # which strangers add parts to
            _load_strangers()
        if not (parts := _parts(cmd_name)):
            return None
        panel, where = _OWN.get(cmd_name, ("", ""))
        panel = panel or _shipped(parts[0])[0]
        if parts != [cmd_name] or isinstance(where, dict):
            return _joined(cmd_name, panel, parts)
        if cmd_name in _OWN or _shipped(cmd_name)[1]:
            return _Later(cmd_name, panel, _shipped(cmd_name)[1])
        return _command(cmd_name, _made(cmd_name))

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read the arguments before the command; a mistake among them is one line."""
        with _in_a_line(self):
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """Call the command; a mistake in its arguments is one line."""
        with _in_a_line(self):
            return super().invoke(ctx)


_UsageError: Any = typer.BadParameter.__base__  # whichever click Typer stands on


@contextmanager
def _in_a_line(group: Group) -> Iterator[None]:
    """Word what is wrong with options and arguments as all else is: a line, with a near match."""
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        said = error.format_message().removesuffix(".").replace("Value error, ", "")
        said = re.sub(r"\(Possible options: ([^)]*)\)", r"(did you mean \1?)", said)
        if said.startswith("No such command"):
            said += did_you_mean(said.split("'")[1], group.list_commands(error.ctx))
        elif " is not one of " in said:
            value, *known = re.findall(r"'([^']*)'", said.rpartition(": ")[2]) or [""]
            said += did_you_mean(value, known)
        command = None if error.ctx is None else error.ctx.command
        name = "" if command in (None, group) else f" {command.name}"
        raise TomevalError(f"{said[0].lower()}{said[1:]}; see `tomeval{name} --help`") from None


def _parts(head: str) -> list[str]:
    """Return the whole names of the parts of a command; its own name, if it has none."""
    _, where = _OWN.get(head, ("", None))
    own = [f"{head} {key}".strip() for key in where] if isinstance(where, dict) else []
    own += [head] if isinstance(where, str) else []
    brought = [n for n in extensions.named("commands") if n.partition(" ")[0] == head]
    return [*own, *brought]


def _shipped(whole: str) -> tuple[str, str]:
    """Return the panel and the line of help of a command, or part, of an extension that ships."""
    lines = (line.commands[whole] for line in SHIPPED.values() if whole in line.commands)
    return next(lines, (OWN_PANEL, ""))


def _joined(head: str, panel: str, parts: list[str]) -> Joined:
    makers = {name.partition(" ")[2]: partial(_made, name) for name in parts}
    return Joined(head, ABOUT.get(head) or _about(parts[0]), panel, makers, _command)


class _Later(TyperCommand):
    """A command that ships, which is loaded when it is called."""

    def __init__(self, name: str, panel: str, about: str = "") -> None:
        about = about or _about(name)
        super().__init__(name, help=about, rich_help_panel=panel, add_help_option=False)

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Load the command and begin it; what brings it may lack here, which is one line."""
        name = str(self.name)
        return _command(name, _made(name)).make_context(info_name, args, parent=parent, **extra)


def _made(whole: str) -> Any:
    """Return the function, the part or the Typer app of a command, or of a part of one."""
    head, _, key = whole.partition(" ")
    where = _OWN.get(head, ("", None))[1]
    if isinstance(where, dict):
        where = where.get(key)
    if where is None:
        return extensions.part("commands", whole)
    try:
        return extensions.resolved(f"tomeval.{where}")
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("tomeval."):
            raise
        raise extensions.NotInstalled(f"{whole}: cannot be loaded ({error})") from None


def _about(whole: str) -> str:
    """Return what a command is for, as its own help begins."""
    try:
        made = _made(whole)
    except TomevalError as error:
        return str(error)
    made = made.run if isinstance(made, extensions.CommandPart) else made
    return str((made.info.help if isinstance(made, typer.Typer) else made.__doc__) or "")


@cache  # Typer takes a while to read the options of a function
def _command(name: str, made: Any) -> Any:
    """Return the command of a function with Typer's annotations, or of a Typer app."""
    if isinstance(made, typer.Typer):
        command: Any = typer.main.get_command(made)
    else:
        lone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        lone.command(name, cls=Command, rich_help_panel=OWN_PANEL)(made)
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
            help="Load a Python file or module that registers your own parts; it stands before the "
            "command. Installed packages are found without it. Repeatable.",
        ),
    ] = None,
    max_mb: Annotated[
        int,
        typer.Option(
            OPTION,
            min=1,
            help="Memory limit for one imported file, in MB.",
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
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        tell_wrapped(f"tomeval: {excerpt(str(error.filename))}: the name is too long")
        sys.exit(2)
    except TomevalError as error:
        tell_wrapped("tomeval: " + str(error).replace("\n", "\n  "))  # no name begins a line
        sys.exit(2)
