"""Groups of commands that extensions add to: named in ``--help``, loaded when one is called."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tomeval.core import extensions
from tomeval.core.errors import TomevalError
from tomeval.core.shipped import SHIPPED

OWN_PANEL = "Extensions"
"""The panel of commands whose extension names none."""


class ExtendedGroup(TyperGroup):
    """A group with the commands of extensions after its own.

    A command of the group ``arena`` is named ``arena NAME`` in `Extension.commands`.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its own commands, then those of extensions, strangers' too."""
        own = super().list_commands(ctx)
        _load_strangers()
        return list(dict.fromkeys([*own, *self._added()]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; one of an extension that ships is loaded when it is called."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        whole = self._path() + cmd_name
        for line in SHIPPED.values():
            if whole in line.commands:
                return _Later(whole, *line.commands[whole])
        made = extensions.part("commands", whole)
        return None if made is None else _command(whole, made)

    def _path(self) -> str:
        return "" if self.name in (None, "tomeval") else f"{self.name} "

    def _added(self) -> list[str]:
        """Return the names that extensions add to this group."""
        path = self._path()
        names = (n.removeprefix(path) for n in extensions.named("commands") if n.startswith(path))
        return [name for name in names if " " not in name]


class _Later(TyperCommand):
    """A command of an extension that ships, which is loaded when it is called."""

    def __init__(self, whole: str, panel: str, about: str) -> None:
        name = whole.rpartition(" ")[2]
        super().__init__(name, help=about, rich_help_panel=panel, add_help_option=False)
        self.whole = whole

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Load the command and begin it; its extension may lack here, which is one line."""
        real = _command(self.whole, extensions.part("commands", self.whole))
        return real.make_context(info_name, args, parent=parent, **extra)


def _command(whole: str, made: Any) -> Any:
    """Return the command of a function with Typer's annotations, or of a Typer app."""
    name = whole.rpartition(" ")[2]
    app = made
    if not isinstance(made, typer.Typer):
        app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        app.command(name, rich_help_panel=OWN_PANEL)(made)
    command = typer.main.get_command(app)
    command.name = name
    if isinstance(command, TyperGroup) and not command.rich_help_panel:
        command.rich_help_panel = OWN_PANEL
    return command


def _load_strangers() -> None:
    """Load installed packages for help, which stands where one of them cannot be loaded."""
    from tomeval.core.plugins import load_plugins
    from tomeval.core.printing import tell_wrapped

    try:
        load_plugins()
    except TomevalError as error:
        tell_wrapped(f"tomeval: {error}")
