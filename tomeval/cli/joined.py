"""Commands whose help hides what few need, and commands of several parts."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.extensions import CommandPart, NotInstalled
from tomeval.core.printing import show

HELP_ALL = "--help-all"
DOMAIN = "--domain"


class Command(TyperCommand):
    """A command with the option ``--help-all``, if some of its options are marked ``hidden``."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._rare = [one for one in self.params if getattr(one, "hidden", False)]
        self._all = False
        for one in self._rare:
            one.hidden = False  # type: ignore[attr-defined]  # completion is to offer them
        if self._rare:
            self.params.append(_help_all())

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the options that few need if all were asked for."""
        for one in self._rare:
            one.hidden = not self._all  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for one in self._rare:
                one.hidden = False  # type: ignore[attr-defined]

    def show_all(self, ctx: Any) -> None:
        """Print the whole help and end."""
        self._all = True
        try:
            show(ctx.get_help())
        finally:
            self._all = False
        ctx.exit()


def _help_all() -> Any:
    def asked_for(context: typer.Context, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            context.command.show_all(context)  # type: ignore[attr-defined]

    def options(
        help_all: bool = typer.Option(
            False,
            HELP_ALL,
            is_eager=True,
            expose_value=False,
            callback=asked_for,
            help="Show all options, including rare ones.",
        ),
    ) -> None: ...

    return _params_of(options)[0]


def _params_of(function: Callable[..., None]) -> list[Any]:
    lone = typer.Typer(add_completion=False)
    lone.command()(function)
    return list(typer.main.get_command(lone).params)


class Joined(Command):
    """A command of several parts: its own, and those of domains.

    Which it is, the option ``--domain`` says, else the first argument. The part then reads all
    arguments itself; the help and the completion are of all parts together.

    Parameters
    ----------
    name, about, panel : str
        The command, its line of help and the panel of ``--help``.
    parts : mapping
        By key, which is empty or the name of a domain: a function that returns the part, or raises
        `NotInstalled`.
    make : callable
        Returns the command of a function, by the command's name.
    """

    def __init__(
        self,
        name: str,
        about: str,
        panel: str,
        parts: Mapping[str, Callable[[], Any]],
        make: Callable[[str, Any], Any],
    ) -> None:
        self._makers, self._make, self._about = parts, make, about
        self._domains = [key for key in parts if key] if len(parts) > 1 else []
        self._keys = _domain_option(self._domains) if self._domains else []
        super().__init__(name, help=about, rich_help_panel=panel)

    @cached_property
    def _commands(self) -> dict[str, tuple[CommandPart, Any]]:
        """The parts that can be loaded here, with their commands."""
        loaded = {}
        for key in self._makers:
            try:
                loaded[key] = self._part(key)
            except NotInstalled:
                continue
        return loaded

    def _part(self, key: str) -> tuple[CommandPart, Any]:
        made = self._makers[key]()
        part = made if isinstance(made, CommandPart) else CommandPart(made)
        command = copy.copy(self._make(str(self.name), part.run))
        command.params = [*command.params, *self._keys]
        command.show_all = self.show_all
        return part, command

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Choose the part and have it read the arguments; help and completion are its own."""
        helps = {"--help", HELP_ALL} & {*args}
        if not (self._domains or helps or extra.get("resilient_parsing")):
            [key] = self._makers
            return self._part(key)[1].make_context(info_name, list(args), parent=parent, **extra)
        self._merge()
        if extra.get("resilient_parsing"):
            return super().make_context(info_name, args, parent, **extra)
        probe = self.context_class(self, info_name=info_name, parent=parent)
        with probe.scope(cleanup=False):
            given, words, params = self.make_parser(probe).parse_args(list(args))
        asked = {option for one in params for option in one.opts}
        if asked & {"--help", HELP_ALL}:
            return super().make_context(info_name, args, parent, **extra)
        key = self._chosen(given, words[0] if words else "")
        _, command = self._part(key)
        own = {option for one in command.get_params(probe) for option in one.opts}
        for option in sorted(asked - own):
            raise TomevalError(
                f"{self.name}: {option} does not apply to {_said(key)}; {self._whose(option)}"
            )
        return command.make_context(info_name, list(args), parent=parent, **extra)

    def _whose(self, option: str) -> str:
        keys = [
            _said(key)
            for key, (_, command) in self._commands.items()
            if any(option in one.opts for one in command.params)
        ]
        return f"it applies to {', '.join(keys)}"

    def _chosen(self, given: Mapping[str, Any], first: str) -> str:
        """Return the key of the part that is asked for."""
        if named := given.get("domain_of_part"):
            if named not in self._makers:
                raise unknown("domain", named, self._domains, f"{self.name} {DOMAIN}")
            return str(named)
        plain = {key: part for key, (part, _) in self._commands.items()}
        if not first and plain:  # whose error says what is missing
            return next(iter(plain))
        for key, part in plain.items():
            if part.claims and part.claims(first):
                return key
        rest = [key for key, part in plain.items() if not part.claims]
        if rest:
            return rest[0]
        for key in self._makers:  # what may have claimed it lacks: the reason is the error
            self._part(key)
        names = [name for part in plain.values() if part.names for name in part.names()]
        raise unknown("name", first, names, f"{self.name}")

    def _merge(self) -> None:
        """Take the parameters of all parts: what is equal once, else in the panel of its part."""
        kept: dict[tuple[str, str], list[Any]] = {}
        for key, (_, command) in self._commands.items():
            for one in command.params:
                if one not in self._keys and HELP_ALL not in one.opts:
                    kept.setdefault((one.opts[0], str(one.help)), []).append((key, one, command))
        own = self._commands[""][1].help if "" in self._commands else self._about
        said = [f"With {_said(key)}: {c.help}" for key, (_, c) in self._commands.items() if key]
        self.help = "\n\n".join([str(own), *map(inspect.cleandoc, said)])
        self.params, self._rare = [], []
        for (_, _), uses in kept.items():
            key, one, command = uses[0]
            shown = copy.copy(one)
            shown.required = False
            if len(uses) == 1 and key:
                shown.rich_help_panel = f"With {_said(key)}"
            self.params.append(shown)
            if all(use in use_of._rare for _, use, use_of in uses):
                self._rare.append(shown)
        self.params += self._keys + ([_help_all()] if self._rare else [])

    def make_parser(self, ctx: Any) -> Any:
        """Return what tells options from arguments; which argument is which, the part reads."""
        parser = super().make_parser(ctx)
        parser._args.clear()
        return parser

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage: the arguments of the part that has most of them."""
        commands = [command for _, command in self._commands.values()]
        named = [
            {one.name: one for one in command.params if isinstance(one, TyperArgument)}
            for command in commands
        ]
        most = max(named, key=len)
        pieces = ["[OPTIONS]"]
        for name, one in most.items():
            [piece] = one.get_usage_pieces(ctx)
            common = sum(name in other for other in named) == len(named)
            pieces.append(piece if common or piece.startswith("[") else f"[{piece}]")
        return pieces


def _said(key: str) -> str:
    return f"{DOMAIN} {key}" if key else "a run folder"


def _domain_option(domains: list[str]) -> list[Any]:
    """Return the option that chooses a part, which passes nothing on."""

    def domain(
        domain_of_part: str = typer.Option(
            "",
            DOMAIN,
            expose_value=False,
            show_default=False,
            help=f"{', '.join(domains)}. Default: the one that the first argument names.",
            autocompletion=lambda: domains,
        ),
    ) -> None: ...

    return _params_of(domain)
