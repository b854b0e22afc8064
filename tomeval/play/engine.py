"""Play episodes of language models: local models in lockstep, served ones in parallel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from tomeval.models import model_name
from tomeval.models.base import (
    ContextExceeded,
    LocalModel,
    Model,
    Stopped,
    Unusable,
    WrappedModel,
)
from tomeval.models.batching import Batcher, Request, read_kept, request_hash
from tomeval.play.engines import run_loop
from tomeval.play.schedule import Job, Schedule
from tomeval.runs.domain import Cell, Domain
from tomeval.runs.record import Record

if TYPE_CHECKING:
    from tomeval.play.filling import Filler


def spec_key(spec: str | dict[str, Any]) -> str:
    """Return a model's spec as text that equal specs share."""
    return json.dumps(spec, sort_keys=True)


def play_with_models(
    opened: Mapping[str, Model | LocalModel], filler: Filler, schedule: Schedule, concurrency: int
) -> None:
    """Play all that is scheduled for one group of models.

    Once the run is to stop, no call is made any more; those under way are waited for.

    Parameters
    ----------
    opened : mapping
        Models by `spec_key`.
    filler : Filler
        Takes what comes of it, and keeps the replies of unfinished episodes, so that a killed run
        asks for none of them again.
    schedule : Schedule
    concurrency : int
        Episodes at a time. The rows do not depend on it, up to the rounding of the backend.
    """
    stopping = filler.stopping

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


Lines = Mapping[str, Model | Batcher]
"""Open models inside the running loop, by `spec_key`."""


@asynccontextmanager
async def started(opened: Mapping[str, Model | LocalModel]) -> AsyncIterator[Lines]:
    """Make models ready inside the running loop, and release them afterwards."""
    async with AsyncExitStack() as stack:
        for model in opened.values():
            if isinstance(model, Model):
                stack.push_async_callback(model.close)
                await model.start()
        yield {key: Batcher(m) if isinstance(m, LocalModel) else m for key, m in opened.items()}


@contextmanager
def episode_models(lines: Lines, keys: Mapping[str, str]) -> Iterator[dict[str, Model]]:
    """Give one episode the model of each seat; seats with one model share their line to it."""
    with ExitStack() as stack:
        mine: dict[str, Model] = {}
        for key in dict.fromkeys(keys.values()):
            model = lines[key]
            if isinstance(model, Batcher):
                mine[key] = stack.enter_context(model.episode())
            else:
                mine[key] = model
        yield {seat: mine[key] for seat, key in keys.items()}


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


class Episode:
    """One episode of language models.

    Parameters
    ----------
    domain, cell, job
        What is played.
    lines : Lines
    filler : Filler, optional
        Is told what happens, keeps replies, repeats those that an earlier session kept, and says
        when no call is to be made any more. Default: nobody does.

    Attributes
    ----------
    steps : int
        How many it has got through.
    unusable : str
        What was wrong with a reply that came and could not be used; else empty.
    """

    def __init__(
        self, domain: Domain, cell: Cell, job: Job, lines: Lines, filler: Filler | None = None
    ) -> None:
        self._domain, self._cell, self.job, self._lines = domain, cell, job, lines
        self.filler, self.steps, self.unusable = filler, 0, ""

    async def play(self) -> Record:
        """Play it to its end."""
        keys = {seat: spec_key(spec) for seat, spec in self._cell.models.items()}
        with episode_models(self._lines, keys) as lines:
            models = {seat: _SeatModel(self, seat, lines[seat], key) for seat, key in keys.items()}
            return await self._domain.play(self._cell, self.job[1], models, self._step)

    def _step(self) -> None:
        self.steps += 1
        if self.filler:
            self.filler.on_step(*self.job)


class _SeatModel(WrappedModel):
    """A seat's model in one episode, which repeats the replies kept from an earlier session.

    It keeps new ones before they are used, notes those that cannot be used, and asks no more once
    the run is to stop.
    """

    model: Model

    def __init__(self, episode: Episode, seat: str, model: Model, key: str) -> None:
        self._episode, self._seat, self._key = episode, seat, key
        filler = episode.filler
        self._kept = filler.store.kept_replies(*episode.job, seat) if filler else {}
        super().__init__(model.episode(len(self._kept)))

    async def ask(self, request: Request) -> Any:
        """Return the kept answer, or ask the model."""
        key, filler = request_hash(self.name, self.model.revision, request), self._episode.filler
        if key in self._kept:
            return read_kept(self._kept[key], request)
        if filler:
            filler.stopping.refuse()
        try:
            answer = await super().ask(request)
        except Unusable as error:
            self._episode.unusable = str(error)
            raise
        if filler:
            text = json.dumps(asdict(answer))
            filler.store.keep_reply(*self._episode.job, self._seat, key, text)
        return answer

    def judged(self, outcome: str, call: Mapping[str, Any]) -> None:
        """Report how a reply was read."""
        if self._episode.filler:
            self._episode.filler.judged(*self._episode.job, self._key, outcome, call)

    def settled(self, outcome: str, call: Mapping[str, Any]) -> None:
        """Report the outcome of a question."""
        if self._episode.filler:
            self._episode.filler.settled(*self._episode.job, self._key, outcome, call)
