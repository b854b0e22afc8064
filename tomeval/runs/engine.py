"""Play episodes of language models: local ones in lockstep, served ones in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tomeval.domains.matrix.experiment import Cell
from tomeval.domains.matrix.play import play_episode_async
from tomeval.domains.matrix.steps import Steps
from tomeval.models.base import LocalModel, Model
from tomeval.models.batching import Batcher
from tomeval.models.remembering import RememberingModel
from tomeval.models.served.limits import BudgetExceeded
from tomeval.runs.store import Store

Job = tuple[int, int]  # cell number, episode
Done = Callable[[int, Steps], None]


def play_with_model(
    opened: Model | LocalModel,
    cells: list[Cell],
    jobs: list[Job],
    store: Store,
    concurrency: int,
    done: Done,
    on_step: Callable[[], None] = lambda: None,
) -> None:
    """Play all jobs with one model.

    Parameters
    ----------
    opened : Model or LocalModel
    cells : list of Cell
    jobs : list of (cell number, episode)
    store : Store
        Keeps the replies of episodes that are not finished, so that a killed run asks for none of
        them again.
    concurrency : int
        Episodes at a time. The rows do not depend on it, up to the rounding of the backend.
    done : callable
        Called with (cell number, steps) for each finished episode.
    on_step : callable
        Called after each step of any episode.
    """
    run_loop(_play(opened, cells, jobs, store, concurrency, done, on_step))


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, also where a loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    # In a notebook a loop is running already: ours runs in a thread that this one waits for.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


async def _play(
    opened: Model | LocalModel,
    cells: list[Cell],
    jobs: list[Job],
    store: Store,
    concurrency: int,
    done: Done,
    on_step: Callable[[], None],
) -> None:
    served = opened if isinstance(opened, Model) else None
    batcher = Batcher(opened) if isinstance(opened, LocalModel) else None

    @contextmanager
    def line() -> Iterator[Model]:
        """Give one episode a model of its own."""
        if batcher is not None:
            with batcher.episode() as model:
                yield model
        elif served is not None:
            yield served

    try:
        if served is not None:
            await served.start()
        store.set_revision(sorted({number for number, _ in jobs}), opened.revision)
        waiting = iter(jobs)
        async with asyncio.TaskGroup() as group:
            workers = [
                group.create_task(_worker(line, cells, waiting, store, done, on_step))
                for _ in range(min(concurrency, len(jobs)))
            ]
        for worker in workers:
            if stopped := worker.result():
                raise stopped
    except BaseExceptionGroup as errors:
        # The first thing that went wrong is what the user should read.
        raise _first(errors) from None
    finally:
        if served is not None:
            await served.close()


async def _worker(
    line: Callable[[], AbstractContextManager[Model]],
    cells: list[Cell],
    jobs: Iterator[Job],
    store: Store,
    done: Done,
    on_step: Callable[[], None],
) -> BudgetExceeded | None:
    """Play one job after another, and return what stopped it, if anything did.

    A call that would pass a cap stops its own episode only: others end at their own next call, when
    the replies that they had paid for have come in.
    """
    for number, episode in jobs:

        def keep(request: str, reply: str, number: int = number, episode: int = episode) -> None:
            store.keep_reply(number, episode, request, reply)

        with line() as model:
            kept = store.kept_replies(number, episode)
            remembering = RememberingModel(model.episode(len(kept)), kept, keep)
            try:
                setup = cells[number].setup
                steps = await play_episode_async(setup, episode, remembering, on_step)
            except BudgetExceeded as stopped:
                return stopped
            done(number, steps)
    return None


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first single error of a group."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
