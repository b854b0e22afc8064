"""The command line: a thin face over the library. A command is loaded when it is looked up."""

from __future__ import annotations

import difflib
import errno
import io
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import takewhile
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.parts import (
    CommandPart,
    NotInstalled,
    known,
    load_plugins,
    part,
    resolved,
    use_plugin,
)
from tomeval.core.printing import Notes, show, show_wrapped
from tomeval.core.text import excerpt

PANELS = {
    "Measure": {
        **{"run": "cli.playing:run", "plan": "cli.reading:plan"},
        **{"prompt": "cli.reading:prompt", "status": "cli.reading:status"},
    },
    "Read": {
        **{"table": "cli.table:table", "plot": "cli.share:plot", "report": "cli.share:report"},
        **{"transcript": "cli.reading:transcript", "compare": "cli.table:compare"},
        "bounds": "games.matrix.commands:bounds",
    },
    "Begin and share": {
        **{"list": "cli.starting:list_", "init": "cli.starting:init"},
        "export": "cli.share:export",
    },
}
"""The commands by what one does with them, in the order of ``--help``."""

PARTS = {
    "play": {"seats": "games.people.commands:PLAY"},
    "import": {"matrix": "games.matrix.commands:import_"},
}
"""Commands that do another thing in each domain; extensions bring more parts of them."""

ABOUT = {
    "play": "Play a game yourself at the terminal.",
    "import": "Make a run folder of games played elsewhere.",
}
"""What they are for."""

OWN_PANEL = "Extensions"
"""The panel of commands that extensions bring."""

_OWN = {name: where for commands in PANELS.values() for name, where in commands.items()}
_PANEL = {name: panel for panel, commands in PANELS.items() for name in commands}


class Group(TyperGroup):
    """The commands, and those of extensions after them.

    What an extension names ``play DOMAIN`` is a part of the command ``play``.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its own commands, then those of extensions that can be loaded."""
        _load_strangers()
        brought = dict.fromkeys(name.partition(" ")[0] for name in known("commands"))
        return [*_OWN, *PARTS, *(n for n in brought if n not in PARTS and self._loads(ctx, n))]

    def _loads(self, ctx: Any, name: str) -> bool:
        """Return whether a command can be loaded; say why not, and the others still have help."""
        try:
            self.get_command(ctx, name)
        except TomevalError as error:
            show_wrapped(f"tomeval: {error}", sys.stderr)
            return False
        return True

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, loaded."""
        if cmd_name not in _OWN:
            _load_strangers()
        names = known("commands")
        parts = [n for n in names if n.partition(" ")[0] == cmd_name and n != cmd_name]
        if cmd_name in PARTS or parts:
            about = ABOUT.get(cmd_name, "")
            panel = "Begin and share" if about else OWN_PANEL
            return _Parted(cmd_name, help=about, rich_help_panel=panel)
        if cmd_name not in (*_OWN, *names):
            return None
        return _command(cmd_name, _made(cmd_name))

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read the arguments before the command; a mistake among them is one line."""
        with _in_a_line(self):
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """Call the command; a mistake in its arguments is one line."""
        with _in_a_line(self):
            return super().invoke(ctx)


class _Parted(TyperCommand):
    """A command that does another thing in each domain: an argument says in which."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Choose the part that claims an argument, else the one that claims none, and begin it."""
        name = str(self.name)
        words = list(takewhile(_is_word, args)) or list(filter(_is_word, args))
        parts, missing = self._parts(name)
        if not words and "--help" in args:
            about = [(run.__doc__ or "").partition("\n")[0] for run, *_ in parts]
            more = f"For options name the game or file too: tomeval {name} NAME --help."
            self.help = "\n\n".join([self.help or "", *about, more])
            return super().make_context(info_name, args, parent=parent, **extra)
        for run, claims, _ in parts:
            if claims and any(map(claims, words)):
                return _command(name, run).make_context(info_name, args, parent=parent, **extra)
        for run, claims, _ in parts:
            if not claims or not words:  # whose error says what is missing
                return _command(name, run).make_context(info_name, args, parent=parent, **extra)
        known = [name for _, _, names in parts if names for name in names()]
        raise missing or unknown("name", words[0], known, name)

    @staticmethod
    def _parts(name: str) -> tuple[list[CommandPart], NotInstalled | None]:
        """Return what the command is in each domain, and why one of them cannot be loaded."""
        found, missing = [], None
        keys = [n.partition(" ") for n in known("commands")]
        for key in [*PARTS.get(name, {}), *(key for head, _, key in keys if head == name)]:
            try:
                made = _made(f"{name} {key}")
            except NotInstalled as error:  # which may have claimed it
                missing = error
                continue
            found.append(made if isinstance(made, CommandPart) else CommandPart(made))
        return found, missing


def _is_word(text: str) -> bool:
    return not text.startswith("-")


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
        if said.startswith("No such option") and (instead := _as_key(error)):
            said = f"{said.partition(' (did')[0]}; {instead}"
        elif said.startswith("No such command"):
            said += did_you_mean(said.split("'")[1], group.list_commands(error.ctx))
        elif " is not one of " in said:
            value, *known = re.findall(r"'([^']*)'", said.rpartition(": ")[2]) or [""]
            said += did_you_mean(value, known)
        command = None if error.ctx is None else error.ctx.command
        name = "" if command in (None, group) else f" {command.name}"
        raise TomevalError(f"{said[0].lower()}{said[1:]}; see `tomeval{name} --help`") from None


def _as_key(error: Any) -> str:
    """Return what to write for a key that was typed as an option of a command with --set."""
    from tomeval.runs.domain import domain_names, get_domain
    from tomeval.runs.faults import OF_PLAYERS, misplaced

    key = str(error.option_name).lstrip("-").replace("-", "_")
    own = [name for p in error.ctx.command.params for name in p.opts] if error.ctx else []
    if "--set" not in own:
        return ""
    every = (get_domain(one).experiment.model_fields for one in domain_names())
    keys = {f"--{name}": name for fields in every for name in fields if name not in OF_PLAYERS}
    if f"--{key}" not in keys and (said := misplaced(key, "")):
        return said
    near = difflib.get_close_matches(f"--{key}", [*own, *keys], n=1, cutoff=0.8)
    return f"write --set {keys[near[0]]}=VALUE" if near and near[0] not in own else ""


def _made(whole: str) -> Any:
    """Return the function, the part or the Typer app of a command, or of a part of one."""
    head, _, key = whole.partition(" ")
    where = PARTS.get(head, {}).get(key) if key else _OWN.get(head)
    if where is None:
        return part("commands", whole)
    try:
        return resolved(f"tomeval.{where}")
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("tomeval."):
            raise
        raise NotInstalled(f"{whole}: cannot be loaded ({error})") from None


@cache  # Typer takes a while to read the options of a function
def _command(name: str, made: Any) -> Any:
    """Return the command of a function with Typer's annotations, or of a Typer app."""
    if isinstance(made, typer.Typer):
        command: Any = typer.main.get_command(made)
    else:
        lone = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        lone.command(name)(made)
        command = typer.main.get_command(lone)
    command.name, command.rich_help_panel = name, _PANEL.get(name, OWN_PANEL)
    return command


def _load_strangers() -> None:
    """Load installed packages for help, which stands where one of them cannot be loaded."""
    try:
        load_plugins()
    except TomevalError as error:
        show_wrapped(f"tomeval: {error}", sys.stderr)


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
        use_plugin(spec)
    return specs


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
            callback=_load,
            is_eager=True,
            help="Load your own parts; stands before COMMAND.",
        ),
    ] = None,
) -> None:
    """Measure functional and literal theory of mind on the same steps, exactly."""


def main() -> None:
    """Run the command line; bad input is one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek gets \u0394 for Δ
            stream.reconfigure(errors="backslashreplace")
    logging.lastResort = Notes(logging.WARNING)  # who logs may repeat what a server said
    try:
        typer.main.get_command(app)()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        said = f"{excerpt(str(error.filename))}: the name is too long"
    except TomevalError as error:
        said = str(error).replace("\n", "\n  ")  # no name begins a line
    else:
        return
    show_wrapped(f"tomeval: {said}", sys.stderr)
    sys.exit(2)
