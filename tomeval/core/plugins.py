"""What is brought from outside: installed packages that say so, and files named for one command.

A package says so by an entry point of the group ``tomeval.extensions``, whose value is an
`Extension`, or a module that has one under the name ``EXTENSION`` or registers its parts by
decorators. Nothing is looked for before a command needs a domain, a model, a strategy, or a name
that nothing which ships knows; ``tomeval --help`` asks for the commands.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.extensions import FILE_PREFIX, Extension, add, name_of_module

GROUP = "tomeval.extensions"
"""The group of entry points."""


HINT = "if it comes from outside, install its package or name it with --plugin"
"""What to say of a name that nothing which is loaded knows."""


class Plugin(NamedTuple):
    """One plugin that was loaded: its name, the package that brings it, and its module.

    `extension` is the name of the `Extension` in it, or of that to which its decorators add.
    """

    name: str
    package: str
    module: str
    extension: str = ""


class _Loaded:
    """What this process has loaded; plugins are looked for once, and again after a failure."""

    def __init__(self) -> None:
        self.found: dict[str, Plugin] = {}
        self.complete = self.busy = False


_STATE = _Loaded()


def load_plugins() -> None:
    """Load the plugins of all installed packages, once.

    Raises
    ------
    TomevalError
        A plugin cannot be loaded: names it, its package and why.
    """
    if _STATE.complete or _STATE.busy:
        return
    from importlib.metadata import entry_points

    _STATE.busy = True
    try:
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            about = entry.dist
            package = f"{about.name} {about.version}" if about else "an unknown package"
            plugin = Plugin(entry.name, package, entry.value)
            remedy = "update that package, or uninstall it"
            _load(plugin, f"the plugin {entry.name!r} of {package}", entry.load, remedy)
        _STATE.complete = True
    finally:
        _STATE.busy = False


def use_plugin(spec: str) -> None:
    """Load a plugin for this process: a Python file, or a package's folder.

    Raises
    ------
    TomevalError
        There is no such file, or it cannot be loaded.
    """
    path = Path(spec)
    if path.is_dir():
        path /= "__init__.py"
    if path.suffix != ".py":
        raise TomevalError(
            f"--plugin {spec!r}: name a file that ends in .py, or a package's folder"
        )
    if not path.is_file():
        near = did_you_mean(path.name, [file.name for file in sorted(path.parent.glob("*.py"))])
        raise TomevalError(f"--plugin {path}: no such file{near}")
    stem = path.resolve().parent.name if path.stem == "__init__" else path.stem
    name = f"{FILE_PREFIX}{re.sub(r'[^0-9a-zA-Z_]', '_', stem)}"
    plugin = Plugin(stem, "", str(path))
    _load(plugin, f"the plugin {path}", lambda: _load_file(name, path), "fix the file")


def loaded_plugins() -> list[Plugin]:
    """Return the plugins of this process, loaded now if they were not yet."""
    load_plugins()
    return list(_STATE.found.values())


def _load_file(name: str, path: Path) -> ModuleType:
    """Run a Python file as a module and return it."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
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
    try:
        brought = load()
        extension = getattr(brought, "EXTENSION", brought)
        if isinstance(extension, Extension):
            add(extension)
            plugin = plugin._replace(extension=extension.name)
        elif isinstance(brought, ModuleType):
            plugin = plugin._replace(extension=name_of_module(brought.__name__))
    except Exception as error:
        why = str(error) if isinstance(error, TomevalError) else f"{type(error).__name__}: {error}"
        raise TomevalError(f"{what} cannot be loaded: {why}; {remedy}") from error
    _STATE.found[plugin.module] = plugin


def check_new(what: str, name: str, known: Mapping[str, Any], made: Any) -> None:
    """Raise if a name is no text that can be shown, or is taken by something else.

    What has the same module and name in it is the same thing, loaded again, as when a cell of a
    notebook is run twice; it may replace itself.
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise TomevalError(f"{what}: the name {name!r} cannot be shown")
    if name in known and origin(known[name]) != origin(made):
        raise TomevalError(
            f"{what} {name!r}: the name is taken by {'.'.join(origin(known[name]))}; choose another"
        )


def origin(made: Any) -> tuple[str, str]:
    """Return the module and the name in it of a class, a function or an object of a class."""
    named = made if hasattr(made, "__qualname__") else type(made)
    return str(named.__module__), str(named.__qualname__)
