"""Play cells that ask no model, here or in worker processes, with the same rows."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import connection

from tomeval.core.errors import TomevalError
from tomeval.runs.calling import run_loop
from tomeval.runs.domain import Block, Cell, Domain

Task = tuple[int, int, int]
"""Cell, first episode, number of episodes."""


def play_all(
    domain: Domain, cells: Sequence[Cell], tasks: Sequence[Task], workers: int
) -> Iterator[tuple[Task, Block]]:
    """Yield every task's episodes; with several workers in any order."""
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, play_stretch(domain, cells[task[0]], task[1], task[2])
        return
    # Forked workers know what a script registered; without fork, only what is built in can run in
    # several processes.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    count = min(workers, len(tasks))
    # Few tasks are handed out at a time: if writing is slower than playing, results would pile up
    # in memory.
    todo = iter(tasks)
    with ProcessPoolExecutor(count, context, _share, (domain, cells)) as pool:
        waiting: set[Future[tuple[Task, Block]]] = set()
        try:
            waiting |= {pool.submit(_worker, task) for task in itertools.islice(todo, 2 * count)}
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                waiting |= {pool.submit(_worker, t) for t in itertools.islice(todo, len(done))}
                yield from (future.result() for future in done)
        except BrokenProcessPool:
            raise TomevalError(
                "a worker process died (out of memory?); finished episodes are kept: run the same "
                "command again, with fewer --workers if need be"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def play_stretch(domain: Domain, cell: Cell, first: int, count: int) -> Block:
    """Play consecutive episodes: together if the domain can, else the one that is asked for."""
    if domain.play.many and domain.play.together(cell):
        return domain.play.many(cell, first, count)
    return run_loop(domain.play.episode(cell, first, {}, lambda: None))


_SHARED: list[tuple[Domain, Sequence[Cell]]] = []


def _share(domain: Domain, cells: Sequence[Cell]) -> None:
    """Prepare a worker process: give it the cells, and end it when its parent ends."""
    _SHARED[:] = [(domain, cells)]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process with its parent, even a killed one: it would hold the folder's lock."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _worker(task: Task) -> tuple[Task, Block]:
    """Play one task in a worker process."""
    domain, cells = _SHARED[0]
    block = play_stretch(domain, cells[task[0]], task[1], task[2])
    return task, replace(block, steps=list(block.steps))  # a generator cannot be sent
