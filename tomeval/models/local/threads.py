"""How many threads a pass of a model takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tomeval.models.local.load import require

LITTLE = 10**9
"""Parameters times tokens below which a pass takes one thread: a second one mostly waits for the
first, and where another program runs, both wait for it, tens of times in a pass."""

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Threads:
    """The threads of one model's passes.

    `count` fixes them; without it a variable of the environment decides, if one is set, else the
    rule. Outside the blocks torch has as many threads as before, and never more inside the rule's.
    """

    def __init__(self, model: Any, count: int | None = None) -> None:
        self._torch = require("torch")
        self._parameters = sum(weights.numel() for weights in model.parameters())
        self._count = count
        ruled = model.device.type == "cpu" and not any(map(os.environ.get, _VARIABLES))
        self._most = count or (self._torch.get_num_threads() if ruled else 0)  # 0: as they are

    def of(self, tokens: int) -> int:
        """Return the threads of a pass over so many tokens."""
        if self._count or self._most < 2:
            return self._most
        little = self._parameters * tokens < LITTLE
        return 1 if little else min(self._most, free_cores())

    @contextmanager
    def taking(self, tokens: int = 0) -> Iterator[None]:
        """Run a block, such as a pass over so many tokens, with its threads."""
        count, before = self.of(tokens), self._torch.get_num_threads()
        if count in (0, before):
            yield
            return
        self._torch.set_num_threads(count)
        try:
            yield
        finally:
            self._torch.set_num_threads(before)


def free_cores() -> int:
    """Return how many cores of this process no other task runs on just now, at least 1."""
    cores = os.cpu_count() or 1
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    try:  # the tasks that run, this one among them
        running = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
    except (OSError, LookupError, ValueError):  # not Linux
        running = 1
    return max(1, min(mine, cores - running + 1))
