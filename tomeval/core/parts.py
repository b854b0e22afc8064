"""Parts by kind and name: what ships beyond the core, what packages and files bring.

An extension is a module that registers parts. Those that ship are listed in `tomeval.extensions`;
an installed package names its module by an entry point of the group ``tomeval.extensions``; a file
is named by ``--plugin``. Nothing is looked for before a command needs a domain, a model, a
strategy, or a name that nothing which ships knows; ``tomeval --help`` asks for the commands.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from inspect import getdoc
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean, unknown

KINDS = {
    "analyses": "``DOMAIN NAME``: measures, tables and figures of runs, `Analysis`",
    "lists": "what ``tomeval list`` can list: functions that return rows",
    "commands": "functions with Typer's annotations; ``play DOMAIN`` is what `play` does there",
    "engines": "``run --engine NAME:ADDRESS``: functions of the address and of the options given",
    "loggers": "``run --log NAME``: functions of a folder and a `Live` that return a context",
    "exporters": "``export --format NAME``: functions that write a run into a folder, return files",
    "comparisons": "``compare --what NAME``: `Compared`",
    "models": "kinds of model: `tomeval.models.Backend`",
    "subjects": "kinds of subject of matrix games: subclasses of `Subject`",
    "players": "``DOMAIN KIND``: what else plays, such as a `PlayerKind` of Decrypto",
    "partners": "sources of partners of matrix games, ``NAME:...``: `PartnerLibrary`",
    "partner_sets": "keys of tables that make sets of partners: `PartnerSets`",
    "game_sets": "keys of tables that make sets of matrix games: `GameSets`",
    "games": "games of the arena: `Kind`",
    "strategies": "subclasses of `Advice`, by `register_advice`; or an answer of `ANSWER_PARTS`",
    "runs": "functions of a path that make a run folder there",
}
"""The kinds of part, and what each is."""

OWN = {
    "models": "tomeval.models:BACKENDS",
    "subjects": "tomeval.games.matrix.subjects:SUBJECTS",
}
"""By kind, where the core's own parts are, whose names are taken."""

GROUP = "tomeval.extensions"
"""The group of entry points."""

HINT = "if it comes from outside, install its package or name it with --plugin"
"""What to say of a name that nothing which is loaded knows."""

_FILE = "tomeval_plugin_"
_NONE: Mapping[str, Any] = MappingProxyType({})


class Analysis(NamedTuple):
    """What runs of a domain can have besides its own measures, tables and figures.

    Attributes
    ----------
    measures : sequence of Measure
        After the domain's own.
    tables : mapping of str to Table
    figures : mapping of str to callable
        Functions of a run and options that return drawings.
    present : callable, optional
        Tells of a store whether its run has the data; else nothing of the rest is loaded.
    read : callable, optional
        Returns what the measures need of a cell beyond its steps, given store, number and
        definition. It is called once, when `Played.more` is first asked for it by the part's name.
    """

    measures: Any = ()
    tables: Any = _NONE
    figures: Any = _NONE
    present: Any = None
    read: Any = None


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


class Compared(NamedTuple):
    """A table of ``tomeval compare``.

    `table` is called with runs and with all options by name (``by``, ``baseline``, ``metrics``,
    ``reference``, ``resamples``, ``form`` and the others); it returns rows, the lines above them,
    and the notes below. `options` are those that it reads, as ``--metric``; giving another is an
    error.
    """

    table: Any
    options: tuple[str, ...] = ()


class Part(NamedTuple):
    """A part or its ``module:object``, the extension that brings it, and what it is made of."""

    made: Any
    extension: str
    whose: str


class Plugin(NamedTuple):
    """A plugin that was loaded: its name, the package that brings it, and its module or file."""

    name: str
    package: str
    where: str
    about: str = ""


class NotInstalled(TomevalError):
    """What ships cannot be imported here."""


ADDED: dict[str, dict[str, Part]] = {kind: {} for kind in KINDS}
"""What was registered from outside, by kind and name."""


def shipped() -> Mapping[str, Any]:
    """Return the extensions that ship by name, whether or not they can be imported here."""
    extensions: Mapping[str, Any] = resolve_name("tomeval.extensions:EXTENSIONS")
    return extensions


@cache
def _shipped(kind: str) -> dict[str, Part]:
    return {
        part: Part(made, name, f"the extension {name!r}")
        for name, extension in shipped().items()
        for part, made in extension.parts.get(kind, {}).items()
    }


def known(kind: str) -> dict[str, Part]:
    """Return the parts of a kind by name; nothing is loaded for it."""
    return _shipped(kind) | ADDED[kind]


def register(kind: str, name: str, made: Any, of: Any = None) -> None:
    """Register a part from outside; the same thing again, as in a notebook, replaces itself.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    name : str
    made : object
        The part, or ``"module:object"``, which is imported when the part is used.
    of : object, optional
        The class or function that tells it from others, if `made` is built from one.

    Raises
    ------
    TomevalError
        There is no such kind, the name cannot be shown, or something else has it.
    """
    if kind not in KINDS:
        raise unknown("kind of part", kind, KINDS)
    what = f"{kind.removesuffix('s')} {name!r}"
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise TomevalError(f"{what}: the name cannot be shown")
    whose = origin(made if of is None else of)
    part = Part(made, _STATE.loading or whose.rpartition(".")[0], whose)
    old = known(kind).get(name)
    if old is not None and old[1:] != part[1:]:
        raise TomevalError(f"{what}: the name is taken by {old.whose}; choose another")
    own = resolve_name(OWN[kind]) if kind in OWN and old is None else {}
    if name in own and own[name] is not made:
        raise TomevalError(f"{what}: the name is taken by {origin(own[name])}; choose another")
    ADDED[kind][name] = part


def origin(made: Any) -> str:
    """Return the module and the name in it of a class, a function or an object of a class."""
    if isinstance(made, str):
        return made.replace(":", ".")
    named = made if hasattr(made, "__qualname__") else type(made)
    return f"{named.__module__}.{named.__qualname__}"


def part(kind: str, name: str) -> Any:
    """Return a part by name, loaded; None if no extension brings it.

    The plugins of installed packages are loaded only if nothing else brings it.

    Raises
    ------
    NotInstalled
        It is brought by an extension that cannot be imported here.
    """
    if name not in known(kind):
        load_plugins()
    found = known(kind).get(name)
    return None if found is None else _resolved(found)


def find(kind: str, name: str, what: str, where: str = "", own: Mapping[str, Any] = _NONE) -> Any:
    """Return a part by name, loaded, one's `own` first; an unknown name is a `TomevalError`."""
    made = own.get(name) or part(kind, name)
    if made is None:
        raise unknown(what, name, [*own, *known(kind)], where)
    return made


def parts(kind: str) -> dict[str, Any]:
    """Return all parts of a kind by name, loaded.

    Those of extensions that are not there are left out; ``tomeval list extensions`` tells of them.
    """
    load_plugins()
    there = {name: one for name, one in known(kind).items() if is_installed(one.extension)}
    return {name: _resolved(one) for name, one in there.items()}


def is_installed(extension: str) -> bool:
    """Return whether an extension is there: one that ships can have been taken out."""
    return extension not in shipped() or is_there(f"{GROUP}.{extension}")


@cache
def is_there(package: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _resolved(part: Part) -> Any:
    """Return a part, loaded; raise `TomevalError` if it cannot be imported here."""
    try:
        return resolved(part.made)
    except (ImportError, AttributeError, ValueError) as error:
        if part.extension not in shipped():
            raise TomevalError(
                f"the plugin {part.extension}: {part.made} cannot be loaded: {error}; fix the "
                "plugin, or do without it"
            ) from error
        if not isinstance(error, ImportError) or not str(error.name).startswith("tomeval."):
            raise
        raise NotInstalled(
            f"the extension {part.extension!r} cannot be loaded: {error}; reinstall tomeval, or do "
            "without the extension"
        ) from error


def resolved(value: Any) -> Any:
    """Return what ``module:object`` names, or the value itself."""
    return resolve_name(value) if isinstance(value, str) else value


class _Loaded:
    """What this process has loaded; plugins are looked for once, and again after a failure."""

    def __init__(self) -> None:
        self.found: dict[str, Plugin] = {}
        self.looked, self.loading = False, ""


_STATE = _Loaded()


def load_plugins() -> None:
    """Load the plugins of all installed packages, once.

    Raises
    ------
    TomevalError
        A plugin cannot be loaded: names it, its package and why.
    """
    if _STATE.looked:
        return
    from importlib.metadata import entry_points

    _STATE.looked = True  # also for what a plugin asks while it is loaded
    try:
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown"
            what = f"the plugin {entry.name!r} of {package}"
            remedy = "update that package, or uninstall it"
            _load(Plugin(entry.name, package, entry.value), what, entry.load, remedy)
    except TomevalError:
        _STATE.looked = False
        raise


def use_plugin(spec: str) -> None:
    """Load a plugin for this process: a Python file, or a package's folder.

    Raises
    ------
    TomevalError
        There is no such file, or it cannot be loaded.
    """
    path = Path(spec, "__init__.py") if Path(spec).is_dir() else Path(spec)
    if path.suffix != ".py":
        raise TomevalError(
            f"--plugin {spec!r}: name a file that ends in .py, or a package's folder"
        )
    if not path.is_file():
        near = did_you_mean(path.name, [file.name for file in sorted(path.parent.glob("*.py"))])
        raise TomevalError(f"--plugin {path}: no such file{near}")
    stem = path.resolve().parent.name if path.stem == "__init__" else path.stem
    name = f"{_FILE}{re.sub(r'[^0-9a-zA-Z_]', '_', stem)}"
    plugin = Plugin(stem, "", str(path))
    _load(plugin, f"the plugin {path}", lambda: _load_file(name, path), "fix the file")


def loaded_plugins() -> list[Plugin]:
    """Return the plugins of this process, loaded now if they were not yet."""
    load_plugins()
    return list(_STATE.found.values())


def _load_file(name: str, path: Path) -> ModuleType:
    """Run a Python file as a module and return it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "the name ends in .py"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _load(plugin: Plugin, what: str, load: Callable[[], object], remedy: str) -> None:
    """Load one plugin; whatever it raises becomes one error that names it."""
    before, _STATE.loading = _STATE.loading, plugin.where
    try:
        about = getdoc(load()) or ""
    except Exception as error:
        why = str(error) if isinstance(error, TomevalError) else f"{type(error).__name__}: {error}"
        raise TomevalError(f"{what} cannot be loaded: {why}; {remedy}") from error
    finally:
        _STATE.loading = before
    _STATE.found[plugin.where] = plugin._replace(about=about.partition("\n")[0])
