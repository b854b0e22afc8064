"""One episode of language models: local models in lockstep, served ones in parallel."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tomeval.models.base import LocalModel, Model, Unusable, WrappedModel
from tomeval.models.batching import Batcher, Request, read_kept, request_hash
from tomeval.play.schedule import Job
from tomeval.runs.domain import Cell, Domain
from tomeval.runs.record import Record

if TYPE_CHECKING:
    from tomeval.play.filling import Filler


def spec_key(spec: str | dict[str, Any]) -> str:
    """Return a model's spec as text that equal specs share."""
    return json.dumps(spec, sort_keys=True)


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
