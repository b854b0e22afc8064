"""The package TextArena: whether it is there, what its ids are, and which are refused."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tomeval.core.errors import TomevalError, unknown

PREFIX = "textarena:"
"""How the names of games begin that this package plays: its id follows."""

VERSION = "0.7.4"
"""The one version whose insides are known here."""

_INSTALL = f"pip install 'tomeval[textarena]' (TextArena {VERSION})"

_FETCHES = {
    "nltk": "it downloads word lists",
    "EnglishDictionary": "it downloads word lists",
    "OpenRouter": "it asks a model over the network",
}
"""Words of an environment's source that mean that it does not work offline."""


class Entry(NamedTuple):
    """One id of TextArena.

    Attributes
    ----------
    id : str
    environment : str
        Name of its class.
    wrappers : tuple of str
        Names of the classes that TextArena wraps around it.
    """

    id: str
    environment: str
    wrappers: tuple[str, ...]

    @property
    def bracketed(self) -> bool:
        """Whether actions are commands in brackets, which TextArena adds where they are missing."""
        return "ActionFormattingWrapper" in self.wrappers

    @property
    def clipped(self) -> bool:
        """Whether TextArena cuts the beginning off long texts."""
        return "ClipCharactersActionWrapper" in self.wrappers


def textarena() -> Any:
    """Return the package.

    Raises
    ------
    TomevalError
        It is not installed, or in another version than the pinned one.
    """
    try:
        version = importlib.metadata.version("textarena")
    except importlib.metadata.PackageNotFoundError:
        raise TomevalError(f"games of TextArena need its package: {_INSTALL}") from None
    if version != VERSION:
        raise TomevalError(f"TextArena {version} is installed, but games need: {_INSTALL}")
    return importlib.import_module("textarena")


def find_entry(name: str, where: str = "") -> Entry:
    """Return what TextArena has under an id, without importing its environment.

    Raises
    ------
    TomevalError
        An unknown id, with the near match, or one that does not work offline.
    """
    package = textarena()
    registry = importlib.import_module("textarena.envs.registration").ENV_REGISTRY
    if name not in registry:
        near = str(unknown("TextArena id", name, registry, where))
        raise TomevalError(near.partition("; known:")[0])
    spec = registry[name]
    module, _, environment = spec.entry_point.partition(":")
    source = Path(package.__file__).parent.parent / (module.replace(".", "/") + ".py")
    prefix = f"{where}: " if where else ""
    if not source.is_file():
        raise TomevalError(f"{prefix}{name}: TextArena {VERSION} ships no {module}")
    written = source.read_text(encoding="utf-8") + repr(spec.kwargs)
    for word, why in _FETCHES.items():
        if word in written:
            raise TomevalError(
                f"{prefix}{name}: refused, because {why}, and games here need no network"
            )
    wrappers = tuple(wrapper.__name__ for wrapper in spec.default_wrappers or ())
    return Entry(name, environment, wrappers)


def python_words() -> str:
    """Return the Python version in words, for errors of environments that need a later one."""
    return f"Python {sys.version_info.major}.{sys.version_info.minor}"
