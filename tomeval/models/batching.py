"""One episode's line to a model: batched in lockstep with others, remembered, beside others.

A batch holds the requests of all live episodes and runs when all of them wait.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from tomeval.models.base import (
    ContextExceeded,
    GenerateRequest,
    LocalModel,
    Model,
    Reply,
    ScoreRequest,
    Scores,
    Usage,
    WrappedModel,
    as_dict,
)

_Request = TypeVar("_Request", GenerateRequest, ScoreRequest)
_Result = TypeVar("_Result")


class _Waiting(Generic[_Request, _Result]):
    """Requests, who made them, and the futures that their answers go to."""

    def __init__(self) -> None:
        self._items: list[tuple[LockstepModel, _Request, asyncio.Future[_Result]]] = []

    def put(self, who: LockstepModel, request: _Request) -> asyncio.Future[_Result]:
        future: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._items.append((who, request, future))
        return future

    def __len__(self) -> int:
        return len(self._items)

    def who(self) -> set[LockstepModel]:
        return {who for who, _, future in self._items if not future.done()}

    def take(self, playing: set[LockstepModel]) -> list[tuple[_Request, asyncio.Future[_Result]]]:
        taken = [item for item in self._items if item[0] in playing]
        rest = [item for item in self._items if item[0] not in playing]
        self._items = [item for item in rest if not item[2].done()]
        return [(request, future) for _, request, future in taken if not future.done()]


class Batcher:
    """Makes one asynchronous model per episode out of a local model.

    A batch runs as soon as every live episode has a request waiting or is away, asking another
    model: nothing polls, nothing sleeps, and the batch is as large as it can be. If the backend
    keeps less than all episodes have read, the first ones are played, and the others wait until
    those are done.
    """

    def __init__(self, model: LocalModel) -> None:
        self.model = model
        self._live: dict[LockstepModel, set[str]] = {}  # the groups of each; the oldest first
        self._away: set[LockstepModel] = set()
        self._checking = False
        self._generate: _Waiting[GenerateRequest, Reply] = _Waiting()
        self._score: _Waiting[ScoreRequest, Scores] = _Waiting()

    @contextmanager
    def episode(self) -> Iterator[LockstepModel]:
        """Return a model for one episode; batches wait for it until the block ends."""
        model = LockstepModel(self)
        self._live[model] = set()
        try:
            yield model
        finally:
            self.model.forget(self._live.pop(model))
            self._away.discard(model)
            self._check()

    def leave(self, who: LockstepModel, gone: bool) -> None:
        """Let batches wait no longer for an episode that is busy elsewhere, or wait again."""
        if gone != (who in self._away):
            (self._away.add if gone else self._away.discard)(who)
            self._check()

    def generate(self, who: LockstepModel, request: GenerateRequest) -> asyncio.Future[Reply]:
        """Return what becomes the reply once the batch that holds this request has run."""
        return self._put(self._generate, who, request)

    def score(self, who: LockstepModel, request: ScoreRequest) -> asyncio.Future[Scores]:
        """Return what becomes the scores once the batch that holds this request has run."""
        return self._put(self._score, who, request)

    def _put(
        self, waiting: _Waiting[_Request, _Result], who: LockstepModel, request: _Request
    ) -> asyncio.Future[_Result]:
        self._live[who].add(request.group)
        future = waiting.put(who, request)
        self._check()
        return future

    def _check(self) -> None:
        """Look again once all that is ready to go on has done so."""
        if not self._checking:
            self._checking = True
            asyncio.get_running_loop().call_soon(self._run_if_all_wait, 0)

    def _run_if_all_wait(self, before: int) -> None:
        """Run a batch where every episode waits and no more requests have come since last time.

        An episode may ask several questions side by side: one turn of the loop brings them all.
        """
        count = len(self._generate) + len(self._score)
        if count != before:
            asyncio.get_running_loop().call_soon(self._run_if_all_wait, count)
            return
        self._checking = False
        waiting = self._generate.who() | self._score.who()
        playing = self._playing()
        if waiting and waiting >= playing - self._away:
            _run(self._score.take(playing), self.model.score_batch)
            _run(self._generate.take(playing), self.model.generate_batch)

    def _playing(self) -> set[LockstepModel]:
        """Return the episodes whose requests are run now: as many as the backend keeps apart."""
        slots = self.model.slots()
        if slots is None:
            return set(self._live)
        groups = max(map(len, self._live.values()), default=1)
        return set(itertools.islice(self._live, max(1, slots // max(1, groups))))


class LockstepModel(WrappedModel):
    """One episode's line into a `Batcher`."""

    def __init__(self, batcher: Batcher) -> None:
        super().__init__(batcher.model)
        self._batcher = batcher

    async def generate(self, request: GenerateRequest) -> Reply:
        """Wait for the batch that holds this request."""
        return await self._batcher.generate(self, request)

    async def score(self, request: ScoreRequest) -> Scores:
        """Wait for the batch that holds this request."""
        return await self._batcher.score(self, request)

    def leave(self, gone: bool) -> None:
        """Say whether the episode is busy elsewhere."""
        self._batcher.leave(self, gone)


def side_by_side(lines: Mapping[str, Model]) -> dict[str, Model]:
    """Join one episode's lines to several models: while it asks one, no other waits for it."""
    table = _Busy([line for line in lines.values() if isinstance(line, LockstepModel)])
    return {key: _JoinedModel(line, table) for key, line in lines.items()}


class _Busy:
    """Which of an episode's lines have requests under way."""

    def __init__(self, lines: Sequence[LockstepModel]) -> None:
        self._lines = lines
        self._pending: Counter[Model] = Counter()

    @contextmanager
    def asking(self, line: Model) -> Iterator[None]:
        self._pending[line] += 1
        self._tell()
        try:
            yield
        finally:
            self._pending[line] -= 1
            self._tell()

    def _tell(self) -> None:
        busy = any(self._pending.values())
        for line in self._lines:
            line.leave(busy and not self._pending[line])


class _JoinedModel(WrappedModel):
    """One of several lines of an episode."""

    def __init__(self, line: Model, busy: _Busy) -> None:
        super().__init__(line)
        self._line, self._busy = line, busy

    async def generate(self, request: GenerateRequest) -> Reply:
        """Ask, away from the other models meanwhile."""
        with self._busy.asking(self._line):
            return await self._line.generate(request)

    async def score(self, request: ScoreRequest) -> Scores:
        """Ask, away from the other models meanwhile."""
        with self._busy.asking(self._line):
            return await self._line.score(request)

    def episode(self, answered: int) -> Model:
        """Return the line as one episode uses it."""
        return _JoinedModel(self._line.episode(answered), self._busy)


def _run(
    items: list[tuple[_Request, asyncio.Future[_Result]]],
    function: Callable[[list[_Request]], list[_Result]],
) -> None:
    """Run one batch; an error reaches everybody who waits for it, else they would wait for ever."""
    if not items:
        return
    try:
        results = function([request for request, _ in items])
        if len(results) != len(items):
            raise RuntimeError(f"the model gave {len(results)} results for {len(items)} requests")
    except ContextExceeded as error:
        # Known before anything is run. Only those whose prompt is too long are to hear of it.
        if len(items) == 1:
            _fail(items, error)
            return
        middle = len(items) // 2
        _run(items[:middle], function)
        _run(items[middle:], function)
        return
    except Exception as error:  # noqa: BLE001 (passed on, not swallowed)
        _fail(items, error)
        return
    for (_, future), result in zip(items, results, strict=True):
        future.set_result(result)


def _fail(items: list[tuple[_Request, asyncio.Future[_Result]]], error: Exception) -> None:
    for _, future in items:
        future.set_exception(error)
        future.exception()  # the first episode that fails cancels the others that wait


class RememberingModel(WrappedModel):
    """A model for one episode that answers from what is kept, and keeps new answers.

    `kept` holds replies by request hash, from an earlier, interrupted try at the same episode.
    `keep` is called with (request hash, reply as JSON) before a new reply is used.
    """

    model: Model

    def __init__(
        self,
        model: Model,
        kept: dict[str, str],
        keep: Callable[[str, str], None],
    ) -> None:
        super().__init__(model)
        self._kept, self._keep = kept, keep

    async def generate(self, request: GenerateRequest) -> Reply:
        """Return the kept reply, or ask."""
        key = request_hash(self.model.name, self.model.revision, request)
        if key in self._kept:
            data = json.loads(self._kept[key])
            return Reply(**data | {"usage": Usage(**data["usage"])})
        reply = await self.model.generate(request)
        self._keep(key, json.dumps(as_dict(reply)))
        return reply

    async def score(self, request: ScoreRequest) -> Scores:
        """Return the kept scores, or ask."""
        key = request_hash(self.model.name, self.model.revision, request)
        if key in self._kept:
            data = json.loads(self._kept[key])
            usage, logprobs = Usage(**data["usage"]), tuple(data["logprobs"])
            return Scores(**data | {"usage": usage, "logprobs": logprobs})
        scores = await self.model.score(request)
        self._keep(key, json.dumps(as_dict(scores)))
        return scores


def request_hash(name: str, revision: str, request: GenerateRequest | ScoreRequest) -> str:
    """Return a hash over all that decides a reply: model, prompt, labels, sampling, seed."""
    what: list[Any] = [name, revision, request.prompt.prefill]
    what += [tuple(message) for message in request.prompt.messages]
    what += filter(None, [request.prompt.instead])
    if isinstance(request, GenerateRequest):
        what += [vars(request.sampling), request.seed, request.choices]
        what += filter(None, [request.schema])
    else:
        what += [request.labels]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()
