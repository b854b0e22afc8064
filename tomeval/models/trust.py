"""What the user has confirmed for this process: hosts that may get a key, code that may run.

An experiment file may come from a stranger, so it cannot confirm anything itself. The command line
does with ``--trust-host`` and ``--trust-remote-code``, a script with `trusting`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tomeval.core.errors import TomevalError

_HOSTS: list[str] = []
_CODE: list[bool] = []


@contextmanager
def trusting(hosts: Sequence[str] = (), *, code: bool = False) -> Iterator[None]:
    """Inside the block, take hosts, as ``HOST=VARIABLE``, and models' own code as confirmed.

    Examples
    --------
    >>> with trusting(["llm.example.org=MY_KEY"]):
    ...     confirmed_hosts()
    ['llm.example.org=MY_KEY']
    """
    before, _HOSTS[len(_HOSTS) :] = len(_HOSTS), hosts
    _CODE.append(code)
    try:
        yield
    finally:
        del _HOSTS[before:]
        _CODE.pop()


def confirmed_hosts() -> list[str]:
    """Return the hosts of `trusting`, as they were given."""
    return list(_HOSTS)


def confirmed_code() -> bool:
    """Tell whether models' own code may run."""
    return any(_CODE)


def check_code(options: Any, model: str) -> None:
    """Refuse options of a model that ask for its own code to run, unless that is confirmed.

    Any value counts, at any depth, under a key that reads as ``trust_remote_code``.
    """
    if isinstance(options, dict):
        for key, value in options.items():
            asked = str(key).strip("-").replace("-", "_").lower() == "trust_remote_code"
            if asked and value not in (False, None) and not confirmed_code():
                raise TomevalError(
                    f"model {model!r}: {key} = {value!r} runs code of whoever made the model. If "
                    "you trust them, confirm it with --trust-remote-code"
                )
            check_code(value, model)
    elif isinstance(options, list | tuple):
        for value in options:
            check_code(value, model)
