"""Run what is written as a coroutine and waits for nothing, without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from tomeval.core.errors import TomevalError

T = TypeVar("T")


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result; one that waits is a `TomevalError`.

    Examples
    --------
    >>> async def doubled(number):
    ...     return 2 * number
    >>> run_now(doubled(21))
    42
    """
    try:
        work.send(None)
    except StopIteration as over:
        result: T = over.value
        return result
    work.close()
    raise TomevalError("a player without a model awaited something, which needs an event loop")
