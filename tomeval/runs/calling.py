"""Run coroutines to their end, wherever the caller stands."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result, also where a loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # In a notebook a loop is running already: ours runs in a thread that this one waits for.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
