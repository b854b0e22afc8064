"""Play episodes of language models: local models in lockstep, served ones in parallel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from tomeval.core.outcomes import VALID
from tomeval.models import model_name
from tomeval.models.base import (
    ContextExceeded,
    Damaged,
    GenerateRequest,
    LocalModel,
    Model,
    Reply,
    ScoreRequest,
    Scores,
    Stopped,
    Unusable,
    WrappedModel,
)
from tomeval.models.batching import Batcher, RememberingModel, side_by_side
from tomeval.runs.domain import Cell, Domain
from tomeval.runs.engines import run_loop
from tomeval.runs.live import ModelCount
from tomeval.runs.record import Record
from tomeval.runs.schedule import Job, Schedule
from tomeval.runs.stopping import Stopping


class Watch(Protocol):
    """What is told of episodes while they are played."""

    async def ready(self, models: Mapping[str, Model | LocalModel]) -> None:
        """Note that models, by `spec_key`, have started; nothing has been asked of them yet."""

    def begun(self, number: int, episode: int) -> None:
        """Note that an episode of a cell begins."""

    def on_step(self, number: int, episode: int) -> None:
        """Note that an episode has got through a step."""

    def over(self, number: int, episode: int) -> None:
        """Note that an episode is over or broken off; before `done` and `too_long`."""

    def asked_again(self) -> None:
        """Note that a question is asked once more."""

    def count_of(self, key: str) -> ModelCount:
        """Return the counts of a model, by `spec_key`."""

    def settled(
        self, number: int, episode: int, key: str, outcome: str, call: Mapping[str, Any]
    ) -> None:
        """Note what came of a question to a model after all attempts, and its last call."""

    def done(self, number: int, record: Record, under_way: int, unusable: str) -> None:
        """Take an episode of a cell that is over; `on_step` counted `under_way` of its steps.

        `unusable` says what was wrong with a reply that came and could not be used; else empty.
        """

    def too_long(self, number: int, episode: int, under_way: int, error: ContextExceeded) -> None:
        """Note that an episode of a cell is broken off: a prompt is beyond the model's context."""


class Keeper(Protocol):
    """Keeps the replies of unfinished episodes: a store, or who passes them on to one."""

    @property
    def domain(self) -> Domain:
        """What is played."""

    def check_revision(self, model: str, revision: str) -> None:
        """Note the revision of a model, by its shown name; refuse another one than before."""

    def kept_replies(self, cell: int, episode: int, seat: str) -> dict[str, str]:
        """Return the kept replies to a seat of an unfinished episode, by request."""

    def keep_reply(self, cell: int, episode: int, seat: str, request: str, reply: str) -> None:
        """Keep a reply of an episode that is not finished."""


def spec_key(spec: str | dict[str, Any]) -> str:
    """Return a model's spec as text that equal specs share."""
    return json.dumps(spec, sort_keys=True)


def play_with_models(
    opened: Mapping[str, Model | LocalModel],
    keeper: Keeper,
    cells: Sequence[Cell],
    schedule: Schedule,
    concurrency: int,
    watch: Watch,
    stopping: Stopping,
) -> None:
    """Play all that is scheduled for one group of models.

    Parameters
    ----------
    opened : mapping
        Models by `spec_key`.
    keeper : Keeper
        Keeps the replies of unfinished episodes, so that a killed run asks for none of them again.
    cells, schedule
        All cells of the experiment, and what to play of them; with `Schedule.more` until it is
        closed.
    concurrency : int
        Episodes at a time. The rows do not depend on it, up to the rounding of the backend.
    watch : Watch
    stopping : Stopping
        Once it is asked to stop, no call is made any more; those under way are waited for.
    """

    def stop() -> None:
        schedule.clear()
        for model in opened.values():
            if isinstance(model, Model):
                model.stop()

    async def play() -> None:
        async with started(opened) as lines, _nothing_left():
            for key, model in opened.items():  # by the name that cells have
                keeper.check_revision(model_name(json.loads(key)), model.revision)
            await watch.ready(opened)
            if stopping.asked:
                return
            most = concurrency if schedule.more else min(concurrency, len(schedule))
            playing = _Playing(lines, keeper, cells, schedule, watch, stopping)
            async with asyncio.TaskGroup() as group:
                workers = [group.create_task(playing.work()) for _ in range(most)]
        for worker in workers if not stopping.asked else ():
            if stopped := worker.result():
                raise stopped

    try:
        run_loop(_hearing(stopping, stop, play()))
    except BaseExceptionGroup as errors:
        # The first thing that went wrong is what the user should read.
        raise _first(errors) from None
    except Stopped:
        stopping.check()  # nothing else was wrong
        raise
    stopping.check()


async def _hearing(
    stopping: Stopping, stop: Callable[[], None], work: Coroutine[Any, Any, None]
) -> None:
    """Await work; call `stop` in its loop, which may sleep, when the run is asked to stop."""
    stopping.on_request = partial(asyncio.get_running_loop().call_soon_threadsafe, stop)
    try:
        if stopping.asked:  # before anybody listened
            stop()
        await work
    finally:
        stopping.on_request = lambda: None


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


@dataclass(frozen=True)
class _Playing:
    """What all episodes of `play_with_models` share."""

    lines: Lines
    keeper: Keeper
    cells: Sequence[Cell]
    schedule: Schedule
    watch: Watch
    stopping: Stopping

    async def work(self) -> Stopped | None:
        """Play one episode after another, and return what stopped it, if anything did.

        A call that would pass a cap, or a server that is gone, stops only its own episode: the
        others end at their own next call, after the replies that they have paid for. A prompt
        beyond the context breaks its episode off.
        """
        while job := await self.schedule.begin():
            self.watch.begun(*job)
            episode, record = _Episode(self, job), None
            try:
                record = await episode.play()
            except Stopped as stopped:
                return stopped
            except ContextExceeded as error:
                self.watch.too_long(*job, episode.steps, error)
            finally:
                self.watch.over(*job)
                if record is None:
                    self.schedule.ended(*job)
            if record is not None:
                self.watch.done(job[0], record, episode.steps, episode.unusable)
        return None


class _Episode:
    """One episode: its steps so far, and what was wrong with a reply that could not be used."""

    def __init__(self, playing: _Playing, job: Job) -> None:
        self.playing, self.job = playing, job
        self.steps, self.unusable = 0, ""

    async def play(self) -> Record:
        """Play it to its end."""
        cell = self.playing.cells[self.job[0]]
        keys = {seat: spec_key(spec) for seat, spec in cell.models.items()}
        with self.playing.lines.episode(list(keys.values())) as lines:
            models = {seat: _SeatModel(self, seat, lines[key], key) for seat, key in keys.items()}
            play = self.playing.keeper.domain.play.episode
            return await play(cell, self.job[1], models, self._step)

    def _step(self) -> None:
        self.steps += 1
        self.playing.schedule.stepped(self.job[0])
        self.playing.watch.on_step(*self.job)


class _Paid(WrappedModel):
    """A model that is asked no more once the run is to stop, and whose replies are counted."""

    model: Model

    def __init__(self, model: Model, stopping: Stopping, asked: ModelCount) -> None:
        super().__init__(model)
        self._stopping, self._asked = stopping, asked

    async def generate(self, request: GenerateRequest) -> Reply:
        """Pass the request on, and count its reply."""
        self._stopping.refuse()
        reply = await self.model.generate(request)
        self._asked.replied(reply)
        return reply

    async def score(self, request: ScoreRequest) -> Scores:
        """Pass the request on, and count its reply."""
        self._stopping.refuse()
        scores = await self.model.score(request)
        self._asked.replied(scores)
        return scores


class _SeatModel(RememberingModel):
    """A seat's model in one episode, which repeats the replies kept from an earlier session.

    It tells of questions that are asked once more, and notes replies that cannot be used.
    """

    def __init__(self, episode: _Episode, seat: str, model: Model, key: str) -> None:
        playing, whose = episode.playing, (*episode.job, seat)
        self._episode, self._asked = episode, playing.watch.count_of(key)
        self._key = key
        kept = playing.keeper.kept_replies(*whose)
        line = _Paid(model.episode(len(kept)), playing.stopping, self._asked)
        super().__init__(line, kept, partial(playing.keeper.keep_reply, *whose))

    async def generate(self, request: GenerateRequest) -> Reply:
        """Return the kept reply, or ask."""
        if request.attempt > 1:
            self._episode.playing.watch.asked_again()
        with self._noting():
            return await super().generate(request)

    async def score(self, request: ScoreRequest) -> Scores:
        """Return the kept scores, or ask."""
        with self._noting():
            return await super().score(request)

    def judged(self, outcome: str) -> None:
        """Count an answer."""
        self._asked.judged(outcome == VALID)

    def settled(self, outcome: str, call: Mapping[str, Any]) -> None:
        """Tell what came of a question."""
        job = self._episode.job
        self._episode.playing.watch.settled(*job, self._key, outcome, call)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except (Unusable, Damaged) as error:
            self._episode.unusable = str(error)
            raise


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first single error of a group."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
