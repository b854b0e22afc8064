"""Libraries of extras, imported when they are needed: a missing one is one line that names both."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from tomeval.core.errors import TomevalError

LOCAL = "local"
"""The extra that brings what models on this machine need: torch and transformers."""


class MissingExtra(TomevalError):
    """A library that an extra of the package brings is not installed."""


def need(module: str, extra: str, what: str) -> Any:
    """Import a module of an extra and return it.

    Parameters
    ----------
    module : str
        Its full name, such as ``"pyarrow.parquet"``.
    extra : str
        The extra of pyproject.toml that installs it.
    what : str
        Who needs it, in the plural: the message begins with it.

    Raises
    ------
    MissingExtra
        The module, or one that it imports, is not installed.

    Examples
    --------
    >>> need("no_such_library", "local", "models on this machine")
    Traceback (most recent call last):
    tomeval.core.extras.MissingExtra: models on this machine need no_such_library, which is not
    installed: pip install 'tomeval[local]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing(error.name or module, extra, what) from None


def missing(library: str, extra: str, what: str) -> MissingExtra:
    """Return the error for a library that is not installed."""
    return MissingExtra(
        f"{what} need {library.partition('.')[0]}, which is not installed: "
        f"pip install 'tomeval[{extra}]'"
    )


def installed(module: str) -> bool:
    """Return whether a top-level module is installed; nothing is imported.

    A plain folder of that name, as clients leave beside the work, does not count.
    """
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None
