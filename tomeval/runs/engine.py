"""Play episodes of language models: local models in lockstep, served ones in parallel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from tomeval.models import model_name
from tomeval.models.base import LocalModel, Model
from tomeval.models.batching import Batcher, side_by_side
from tomeval.models.remembering import RememberingModel
from tomeval.models.served.limits import BudgetExceeded
from tomeval.runs.calling import run_loop
from tomeval.runs.domain import Block, Cell
from tomeval.runs.store import Store

Job = tuple[int, int]
"""Cell number and episode."""

Done = Callable[[int, Block, int], None]


def spec_key(spec: str | dict[str, Any]) -> str:
    """Return a model's spec as text that equal specs share."""
    return json.dumps(spec, sort_keys=True)


def play_with_models(
    opened: Mapping[str, Model | LocalModel],
    store: Store,
    cells: Sequence[Cell],
    jobs: Sequence[Job],
    concurrency: int,
    done: Done,
    on_step: Callable[[], None] = lambda: None,
) -> None:
    """Play all jobs of one group of models.

    Parameters
    ----------
    opened : mapping
        Models by `spec_key`.
    store : Store
        Keeps the replies of unfinished episodes, so that a killed run asks for none of them again.
    cells, jobs
        All cells of the experiment, and what to play of them.
    concurrency : int
        Episodes at a time. The rows do not depend on it, up to the rounding of the backend.
    done : callable
        Called with (cell number, block, steps that `on_step` counted) for each finished episode.
    on_step : callable
        Called after each step of any episode.
    """

    async def play() -> None:
        async with started(opened) as lines:
            for key, model in opened.items():  # by the name that cells have
                store.check_revision(model_name(json.loads(key)), model.revision)
            waiting = iter(jobs)
            async with asyncio.TaskGroup() as group:
                workers = [
                    group.create_task(_worker(lines, store, cells, waiting, done, on_step))
                    for _ in range(min(concurrency, len(jobs)))
                ]
        for worker in workers:
            if stopped := worker.result():
                raise stopped

    try:
        run_loop(play())
    except BaseExceptionGroup as errors:
        # The first thing that went wrong is what the user should read.
        raise _first(errors) from None


class Lines:
    """Open models inside the running loop; gives every episode its own lines to them."""

    def __init__(self, opened: Mapping[str, Model | LocalModel]) -> None:
        self._opened = opened
        self._batchers = {
            key: Batcher(model) for key, model in opened.items() if isinstance(model, LocalModel)
        }

    @contextmanager
    def episode(self, keys: Sequence[str]) -> Iterator[dict[str, Model]]:
        """Give one episode a line to each model that it needs, by `spec_key`."""
        with ExitStack() as stack:
            lines: dict[str, Model] = {}
            for key in dict.fromkeys(keys):
                model = self._opened[key]
                if isinstance(model, Model):
                    lines[key] = model
                else:
                    lines[key] = stack.enter_context(self._batchers[key].episode())
            yield side_by_side(lines) if len(lines) > 1 else lines


@asynccontextmanager
async def started(opened: Mapping[str, Model | LocalModel]) -> AsyncIterator[Lines]:
    """Make models ready inside the running loop, and release them afterwards."""
    async with AsyncExitStack() as stack:
        for model in opened.values():
            if isinstance(model, Model):
                stack.push_async_callback(model.close)
                await model.start()
        yield Lines(opened)


async def _worker(
    lines: Lines,
    store: Store,
    cells: Sequence[Cell],
    jobs: Iterator[Job],
    done: Done,
    on_step: Callable[[], None],
) -> BudgetExceeded | None:
    """Play one job after another, and return what stopped it, if anything did.

    A call that would pass a cap stops only its own episode: the others end at their own next call,
    after the replies that they have paid for.
    """
    for number, episode in jobs:
        cell, counted = cells[number], _Count(on_step)
        keys = {seat: spec_key(spec) for seat, spec in cell.models.items()}
        with lines.episode(list(keys.values())) as mine:
            models: dict[str, Model] = {
                seat: _remembering(store, (number, episode, seat), mine[key])
                for seat, key in keys.items()
            }
            try:
                block = await store.domain.play(cell, episode, models, counted.step)
            except BudgetExceeded as stopped:
                return stopped
        done(number, block, counted.steps)
    return None


class _Count:
    """Counts the steps of one episode."""

    def __init__(self, on_step: Callable[[], None]) -> None:
        self.steps, self._on_step = 0, on_step

    def step(self) -> None:
        self.steps += 1
        self._on_step()


def _remembering(store: Store, place: tuple[int, int, str], model: Model) -> Model:
    """Return a seat's own model, which repeats the replies kept from an earlier session."""
    kept = store.kept_replies(*place)
    return RememberingModel(model.episode(len(kept)), kept, partial(store.keep_reply, *place))


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first single error of a group."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
