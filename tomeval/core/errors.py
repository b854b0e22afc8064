"""The one error a user sees, and near-match hints for names that do not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

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
    near = difflib.get_close_matches(str(value).lower(), by_lower, n=1, cutoff=0.5)
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
