"""Parts that extensions bring, by kind and name: one dict per kind, loaded when a part is used.

What ships beyond the core is listed in `tomeval.extensions`; what installed packages and files
bring is found by `tomeval.core.plugins`. The object is the same, and so is what it may do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError, unknown

PER_DOMAIN = {
    "measures": "by domain: measures of every run, and groups (`tomeval.runs.outside.Group`)",
    "tables": "by domain and name: `tomeval.runs.columns.Table`",
    "figures": "by domain and name: functions of a run and options that return drawings",
}
"""What extensions can add to a domain."""

KINDS = {
    **PER_DOMAIN,
    "lists": "what ``tomeval list`` can list: functions that return rows",
    "commands": "functions with Typer's annotations; ``play DOMAIN`` is what `play` does there",
    "engines": "``run --engine NAME:ADDRESS``: functions of the address and of the options given",
    "loggers": "``run --log NAME``: functions of a folder and a `Live` that return a context",
    "exporters": "``export --format NAME``: `Exporter`",
    "comparisons": "``compare --what NAME``: `Compared`",
    "models": "kinds of model: `tomeval.models.Backend`",
    "subjects": "kinds of subject of matrix games: subclasses of `Subject`",
    "players": "``DOMAIN KIND``: what else plays, such as a `PlayerKind` of Decrypto",
    "partners": "sources of partners of matrix games, ``NAME:...``: `PartnerLibrary`",
    "partner_sets": "keys of tables that make sets of partners: `PartnerSets`",
    "game_sets": "keys of tables that make sets of matrix games: `GameSets`",
    "games": "games of the arena: `Kind`",
    "keys": "``DOMAIN KEY``: tables of experiment files, `tomeval.runs.experiment.ExtraTable`",
    "strategies": "subclasses of `Advice`",
    "domains": "kinds of game: `tomeval.runs.domain.Domain`",
    "prompts": "folders with a set of templates for each domain that it words",
    "experiments": "paths of TOML files",
    "runs": "functions of a path that make a run folder there",
}
"""The kinds of part, and what each is."""


class Extension:
    """What one extension brings. Every part may be text, ``module:object``, loaded when it is used.

    Parameters
    ----------
    name : str
        Letters, digits and ``_``.
    about : str
        What it is, in a few words, for ``tomeval list extensions``.
    data : mapping of str to str
        By domain, the kind of data (`tomeval.runs.capabilities.Read.data`) that a run must have for
        its measures, tables and figures to be loaded. Default: every run has them.
    first_figures : tuple of str
        Those of its figures that ``tomeval plot`` and the report draw unless others are named.
    **parts : mapping
        By kind, one of `KINDS`: its parts by name.

    Raises
    ------
    TomevalError
        The name cannot be one, or there is no such kind, with the near match.
    """

    def __init__(
        self,
        name: str,
        about: str = "",
        *,
        data: Mapping[str, str] | None = None,
        first_figures: tuple[str, ...] = (),
        **parts: Mapping[str, Any],
    ) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise TomevalError(f"extension {name!r}: a name may have only letters, digits and _")
        for kind in parts:
            if kind not in KINDS:
                raise unknown("kind of part", kind, KINDS, f"extension {name!r}")
        self.name, self.about, self.first_figures = name, about, first_figures
        self.data, self.parts = dict(data or {}), parts

    def __getitem__(self, kind: str) -> Mapping[str, Any]:
        """Its parts of a kind by name, as they were given."""
        return self.parts.get(kind, {})

    def resolve(self, kind: str, name: str) -> Any:
        """Return one of its parts, loaded; None if it has none of this name.

        Raises
        ------
        NotInstalled
            The part ships, and cannot be imported here.
        """
        try:
            return resolved(self[kind].get(name))
        except ImportError as error:
            if not str(error.name).startswith("tomeval."):
                raise
            raise NotInstalled(
                f"the extension {self.name!r} cannot be loaded: {error}; reinstall tomeval, or do "
                "without the extension"
            ) from error


class NotInstalled(TomevalError):
    """What ships cannot be imported here."""


class CommandPart(NamedTuple):
    """What a command does in one domain, such as ``play arena``.

    `run` is a function with Typer's annotations. `claims` is called with the command's first
    argument, empty if there is none, and tells whether it is of the domain; without it, the domain
    is the one for arguments that no other claims. `names` returns what the first argument can be,
    for near matches.
    """

    run: Any
    claims: Any = None
    names: Any = None


class Exporter(NamedTuple):
    """A format of ``tomeval export`` that is of the whole run.

    `write` is called with a run, a folder, and those of `options` that were given as
    ``--set KEY=VALUE``, as text; it returns the files that it wrote.
    """

    write: Any
    about: str
    options: tuple[str, ...] = ()


class Compared(NamedTuple):
    """A table of ``tomeval compare``.

    `table` is called with runs and with all options by name (``by``, ``baseline``, ``metrics``,
    ``reference``, ``resamples``, ``form`` and the others); it returns rows, the lines above them,
    and the notes below. `options` are those that it reads, as ``--metric``; giving another is an
    error.
    """

    table: Any
    options: tuple[str, ...] = ()


ADDED: dict[str, Extension] = {}
"""What was added from outside, by name."""

_RESERVED: dict[str, Mapping[str, Any]] = {}
"""By kind, the parts of the core itself."""


def shipped() -> dict[str, Extension]:
    """Return the extensions that ship by name, whether or not they can be imported here."""
    extensions: dict[str, Extension] = resolve_name("tomeval.extensions:EXTENSIONS")
    return extensions


def is_installed(extension: Extension) -> bool:
    """Tell whether an extension is there: one that ships can have been taken out."""
    return extension.name not in shipped() or _is_there(extension.name)


@cache
def _is_there(name: str) -> bool:
    try:
        return find_spec(f"tomeval.extensions.{name}") is not None
    except ModuleNotFoundError:
        return False


def extensions_with(*kinds: str) -> Iterator[Extension]:
    """Yield the extensions that are there and bring parts of one of these kinds."""
    for extension in (*shipped().values(), *ADDED.values()):
        if any(extension[kind] for kind in kinds) and is_installed(extension):
            yield extension


def reserve(kind: str, own: Mapping[str, Any]) -> None:
    """Keep the names of the core's own parts of a kind for them.

    Raises
    ------
    TomevalError
        An extension that was added before has one of them.
    """
    _RESERVED[kind] = own
    for extension in ADDED.values():
        _check_free(extension, kind)


def add(extension: Extension) -> None:
    """Add an extension; one of the same name replaces itself.

    Raises
    ------
    TomevalError
        The name of one of its parts is taken by something else.
    """
    for kind in extension.parts:
        if kind not in PER_DOMAIN:
            _check_free(extension, kind)
    ADDED[extension.name] = extension


def _check_free(extension: Extension, kind: str) -> None:
    """Raise if the core or another extension has a part of the name of one of these."""
    for name in extension[kind]:
        owners = [f"the extension {one.name!r}" for one in _others(extension) if name in one[kind]]
        if name in _RESERVED.get(kind, {}):
            owners = ["tomeval"]
        if owners:
            raise TomevalError(
                f"extension {extension.name!r}: {kind}: the name {name!r} is taken by {owners[0]}; "
                "choose another"
            )


def _others(extension: Extension) -> list[Extension]:
    return [one for one in (*shipped().values(), *ADDED.values()) if one.name != extension.name]


def bring(kind: str, name: str, made: Any, of: Any = None) -> None:
    """Add one part to the extension of the module in which it (or `of`) stands.

    That is what the decorators do; a part that is registered again replaces itself.
    """
    before = of_module(made if of is None else of)
    add(with_parts(before, kind, {**before[kind], name: made}))


def with_parts(extension: Extension, kind: str, parts: Mapping[str, Any]) -> Extension:
    """Return an extension with other parts of a kind."""
    changed = {**extension.parts, kind: parts}
    return Extension(
        extension.name,
        extension.about,
        data=extension.data,
        first_figures=extension.first_figures,
        **changed,
    )


FILE_PREFIX = "tomeval_plugin_"
"""What the module of a file that ``--plugin`` names begins with."""


def name_of_module(module: str) -> str:
    """Return the name of the extension that holds what a module registers."""
    return re.sub(r"\W", "_", module.removeprefix(FILE_PREFIX))


def of_module(made: Any) -> Extension:
    """Return the extension of the module in which something stands, empty if it is new."""
    module = str(getattr(made, "__module__", type(made).__module__))
    name = name_of_module(module)
    return ADDED.get(name, Extension(name, f"what {module} registers"))


def named(kind: str) -> list[str]:
    """Return the names of all parts of a kind; nothing is loaded for it."""
    return [name for one in (*shipped().values(), *ADDED.values()) for name in one[kind]]


def part(kind: str, name: str) -> Any:
    """Return a part by name, loaded; None if no extension brings it.

    The plugins of installed packages are loaded only if nothing else brings it.

    Raises
    ------
    NotInstalled
        It is brought by an extension that cannot be imported here.
    """
    from tomeval.core.plugins import load_plugins

    if name not in named(kind):
        load_plugins()
    for extension in (*shipped().values(), *ADDED.values()):
        if name in extension[kind]:
            return extension.resolve(kind, name)
    return None


def parts(kind: str) -> dict[str, Any]:
    """Return all parts of a kind by name, loaded.

    Those of extensions that are not there are left out; ``tomeval list extensions`` tells of them.
    """
    from tomeval.core.plugins import load_plugins

    load_plugins()
    return {
        name: extension.resolve(kind, name)
        for extension in extensions_with(kind)
        for name in extension[kind]
    }


def resolved(value: Any) -> Any:
    """Return a part: what ``module:object`` names, or the part itself."""
    return resolve_name(value) if isinstance(value, str) else value
