"""The one error a user sees, and near-match hints for names that do not exist."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Iterable
from typing import Any

MANY, FEW = 24, 8
"""Of more names than this, only so many are listed: those nearest to what was given."""


class TomevalError(Exception):
    """Bad input or a bad state on disk, worded for the person who can fix it.

    The command line prints the message without a traceback and exits with code 2.
    """


def did_you_mean(value: str, options: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the option nearest to `value`, or an empty string.

    Examples
    --------
    >>> did_you_mean("horizn", ["horizon", "episodes"])
    " (did you mean 'horizon'?)"
    >>> did_you_mean("zzz", ["horizon", "episodes"])
    ''
    """
    by_lower = {option.lower(): option for option in options}
    given = str(value).lower()
    least = 0.6 if len(given) > 3 else 0.5  # one letter of two may be wrong
    near = difflib.get_close_matches(given, by_lower, n=1, cutoff=least)
    return f" (did you mean '{by_lower[near[0]]}'?)" if near else ""


def unknown(what: str, value: object, options: Iterable[str], where: str = "") -> TomevalError:
    """Build the error for a name that is not one of `options`.

    Parameters
    ----------
    what : str
        The kind of thing named, for example ``"game"``.
    value : object
        What was given.
    options : iterable of str
        The names that exist; of more than `MANY` the nearest `FEW` are listed.
    where : str
        File and field, placed before the message.

    Examples
    --------
    >>> print(unknown("game", "RSP", ["RPS", "IBS"], "demo.toml: games"))
    demo.toml: games: unknown game 'RSP' (did you mean 'RPS'?); known: RPS, IBS
    """
    options = list(options)
    prefix = f"{where}: " if where else ""
    shown = options
    if len(options) > MANY:
        near = difflib.get_close_matches(str(value), options, n=FEW, cutoff=0.0)
        shown = [*near, f"and {len(options) - len(near)} more"]
    known = ", ".join(shown) if shown else "none"
    return TomevalError(
        f"{prefix}unknown {what} {value!r}{did_you_mean(str(value), options)}; known: {known}"
    )


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
    tomeval.core.errors.MissingExtra: models on this machine need no_such_library, which is not
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
