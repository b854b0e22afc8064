"""Engines: who plays the episodes of a run. By default it is this process, with its workers."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from functools import partial
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, TypeVar

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.parts import named, part
from tomeval.models import model_name
from tomeval.models.base import ContextExceeded, Model, Stopped
from tomeval.play.engine import Episode, Lines, started
from tomeval.play.schedule import Schedule
from tomeval.runs.domain import Cell, Domain
from tomeval.runs.record import Record

if TYPE_CHECKING:
    from tomeval.play.filling import Filler
    from tomeval.runs.experiment import Experiment


Models = tuple[str, ...]
"""Language models by `spec_key`."""


class Engine:
    """Plays episodes, and tells the run what becomes of them: here, in so many processes.

    Language models are played with in this one, so many episodes at a time. Subclasses play on
    other machines what they can; the process that holds the run folder plays the rest.
    """

    def __init__(self, workers: int = 1, concurrency: int = 32) -> None:
        self.workers, self.concurrency = workers, concurrency

    def prepare(self, experiment: Experiment) -> None:
        """Raise `TomevalError`, in one line, if it cannot play this; no folder is made then."""

    def play(self, filler: Filler) -> None:
        """Play all that is missing."""
        tasks = play_all(filler.domain, filler.cells, filler.stretches(), self.workers)
        for (number, _, _), records in tasks:
            filler.together(number, records)
            filler.stopping.check()
        for models, schedule in filler.groups():
            self.play_with(filler, models, schedule)

    def play_with(self, filler: Filler, models: Models, schedule: Schedule) -> None:
        """Play the cells of some language models, these alone open, see `Filler.groups`."""
        _play_with_models(filler, models, schedule, self.concurrency)

    def close(self) -> None:
        """End, whatever happened."""


def make_engine(name: str | None, workers: int | None = None, **options: Any) -> Engine | None:
    """Return the engine of a name, or of ``NAME:ADDRESS``; nothing is started.

    Parameters
    ----------
    name : str, optional
        None for no engine; then no option may be given.
    workers : int, optional
        Processes of this machine, in place of an engine.
    options
        Of the engine, such as ``replicas``; None: not given.

    Raises
    ------
    TomevalError
        There is no such engine, it refuses an option, or what is given does not go together.

    Examples
    --------
    >>> make_engine("rya")
    Traceback (most recent call last):
    tomeval.core.errors.TomevalError: --engine: unknown engine 'rya' (did you mean 'ray'?); known:
    ray
    """
    given = {option: value for option, value in options.items() if value is not None}
    if name is None:
        for option in given:
            known = ", ".join(named("engines"))
            raise TomevalError(f"--{option.replace('_', '-')} needs --engine (known: {known})")
        return None
    kind, colon, address = name.partition(":")
    make: Callable[..., Engine] | None = part("engines", kind)
    if make is None:
        raise unknown("engine", kind, named("engines"), "--engine")
    if colon and not address:  # as of a variable that is not set
        raise TomevalError(f"--engine {name!r}: no address after the colon")
    if workers is not None:
        raise TomevalError(f"--workers cannot be combined with --engine: {kind} replaces workers")
    return make(address, **given)


Task = tuple[int, int, int]
"""Cell, first episode, number of episodes."""


def play_all(
    domain: Domain, cells: Sequence[Cell], tasks: Sequence[Task], workers: int
) -> Iterator[tuple[Task, list[Record]]]:
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
        waiting: set[Future[tuple[Task, list[Record]]]] = set()
        try:
            waiting |= {pool.submit(_worker, task) for task in itertools.islice(todo, 2 * count)}
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                waiting |= {pool.submit(_worker, t) for t in itertools.islice(todo, len(done))}
                yield from (future.result() for future in done)
        except BrokenProcessPool:
            raise TomevalError(
                "a worker process died (out of memory?); finished episodes are kept: run the same "
                "command again, if necessary with fewer --workers"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def play_stretch(domain: Domain, cell: Cell, first: int, count: int) -> list[Record]:
    """Play consecutive episodes: together if the domain can, else the one that is asked for."""
    if domain.play_many and domain.together(cell):
        return domain.play_many(cell, first, count)
    return [run_loop(domain.play(cell, first, {}, lambda: None))]


def _play_with_models(filler: Filler, models: Models, schedule: Schedule, concurrency: int) -> None:
    """Play all that is scheduled for one group of models, so many episodes at a time.

    The rows do not depend on it, up to the rounding of the backend. Once the run is to stop, no
    call is made any more; those under way are waited for.
    """
    stopping, opened = filler.stopping, filler.open(models, schedule)

    def stop() -> None:
        schedule.clear()
        for model in opened.values():
            if isinstance(model, Model):
                model.stop()

    async def play() -> None:
        async with started(opened) as lines, _nothing_left():
            for key, model in opened.items():  # by the name that cells have
                filler.store.check_revision(model_name(json.loads(key)), model.revision)
            filler.ready()
            async with asyncio.TaskGroup() as group:
                workers = [
                    group.create_task(_work(filler, schedule, lines))
                    for _ in range(min(concurrency, len(schedule)))
                ]
        for worker in workers if not stopping.asked else ():
            if stopped := worker.result():
                raise stopped

    async def heard() -> None:
        # Called in this loop, which may sleep, when the run is asked to stop.
        stopping.on_request = partial(asyncio.get_running_loop().call_soon_threadsafe, stop)
        try:
            if stopping.asked:  # before anybody listened
                stop()
            await play()
        finally:
            stopping.on_request = lambda: None

    try:
        run_loop(heard())
    except BaseExceptionGroup as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):  # the first one is what users should read
            error = error.exceptions[0]
        raise error from None
    except Stopped:
        stopping.check()  # nothing else was wrong
        raise
    stopping.check()


async def _work(filler: Filler, schedule: Schedule, lines: Lines) -> Stopped | None:
    """Play one episode after another, and return what stopped it, if anything did.

    A call that would pass a cap, or a server that is gone, stops only its own episode: the others
    end at their own next call, after the replies that they have paid for. A prompt beyond the
    context breaks its episode off.
    """
    while job := await schedule.begin():
        episode = Episode(filler.domain, filler.cells[job[0]], job, lines, filler)
        record = None
        try:
            record = await episode.play()
        except Stopped as stopped:
            return stopped
        except ContextExceeded as error:
            filler.too_long(*job, episode.steps, error)
        finally:
            if record is None:
                schedule.ended(*job)
        if record is not None:
            filler.done(job[0], record, episode.steps, episode.unusable)
    return None


@asynccontextmanager
async def _nothing_left() -> AsyncIterator[None]:
    """Wait for every task of the loop when the block ends; after an error, cancel them."""
    try:
        yield
    except BaseException:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        raise
    finally:
        # A question beside another one may still be under way, and its reply is paid for.
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*rest, return_exceptions=True)


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


def _worker(task: Task) -> tuple[Task, list[Record]]:
    """Play one task in a worker process."""
    domain, cells = _SHARED[0]
    return task, play_stretch(domain, cells[task[0]], task[1], task[2])


T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result, even if a loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # As in a notebook: our loop runs in another thread, for which this one waits. Context variables
    # stay what they are here.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, work).result()
