"""Run coroutines from code that is not asynchronous."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result, even if a loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_quietly(work))
    # As in a notebook: our loop runs in another thread, for which this one waits. Context variables
    # stay what they are here.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, _quietly(work)).result()


async def _quietly(work: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine in a loop that has no word for stops."""
    asyncio.get_running_loop().set_exception_handler(_tell)
    return await work


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what goes wrong in a loop, as asyncio does.

    A stop inside a task leaves the loop at once, by itself; that nobody also took it from the task
    is not worth a traceback.
    """
    if not isinstance(context.get("exception"), KeyboardInterrupt | SystemExit):
        loop.default_exception_handler(context)
