"""One episode's line to a model: batched in lockstep with others, or remembered.

A batch holds the requests of all episodes and runs when nothing else goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple

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
)

Request = GenerateRequest | ScoreRequest


_QUIET = 5  # turns of the loop without a request, after which all that can ask has asked


class _Asked(NamedTuple):
    """A request, who made it, and the future that its answer goes to."""

    who: LockstepModel
    request: Request
    future: asyncio.Future[Any]


class Batcher:
    """Makes one asynchronous model per episode out of a local model.

    A batch runs once the loop has no more to do than to wait, for it or for other models: nothing
    sleeps, and the batch is as large as it can be. If the backend keeps less than all episodes have
    read, the first ones are played, and the others wait until those are done.
    """

    def __init__(self, model: LocalModel) -> None:
        self.model = model
        self._live: dict[LockstepModel, set[str]] = {}  # the groups of each; the oldest first
        self._asked: list[_Asked] = []
        self._checking = False

    @contextmanager
    def episode(self) -> Iterator[LockstepModel]:
        """Return a model for one episode, which ends with the block."""
        model = LockstepModel(self)
        self._live[model] = set()
        try:
            yield model
        finally:
            self.model.forget(self._live.pop(model))
            self._check()

    def ask(self, who: LockstepModel, request: Request) -> asyncio.Future[Any]:
        """Return what becomes the answer once the batch that holds this request has run."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._live[who].add(request.group)
        self._asked.append(_Asked(who, request, future))
        self._check()
        return future

    def _check(self) -> None:
        """Look again once all that is ready to go on has done so."""
        if not self._checking:
            self._checking = True
            asyncio.get_running_loop().call_soon(self._run_if_quiet, -1, 0)

    def _run_if_quiet(self, before: int, quiet: int) -> None:
        """Run a batch if no more requests have come for some turns of the loop."""
        count = len(self._asked)
        quiet = quiet + 1 if count == before else 0
        if quiet < _QUIET:
            asyncio.get_running_loop().call_soon(self._run_if_quiet, count, quiet)
            return
        self._checking, playing = False, self._playing()
        asked = [one for one in self._asked if not one.future.done()]
        now = [one.who in playing for one in asked]
        self._asked = [one for one, mine in zip(asked, now, strict=True) if not mine]
        batch = list(itertools.compress(asked, now))
        _run(
            [one for one in batch if isinstance(one.request, ScoreRequest)], self.model.score_batch
        )
        _run(
            [one for one in batch if isinstance(one.request, GenerateRequest)],
            self.model.generate_batch,
        )

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

    async def ask(self, request: Request) -> Any:
        """Wait for the batch that holds this request."""
        return await self._batcher.ask(self, request)


def _run(asked: list[_Asked], function: Callable[[list[Any]], Sequence[Any]]) -> None:
    """Run one batch; an error reaches everybody who waits for it, else they would wait for ever."""
    if not asked:
        return
    try:
        results = function([one.request for one in asked])
        if len(results) != len(asked):
            raise RuntimeError(f"the model gave {len(results)} results for {len(asked)} requests")
    except BaseException as error:  # passed on: the event loop would swallow what stops a test
        if isinstance(error, ContextExceeded) and len(asked) > 1:
            # Known before anything is run. Only those whose prompt is too long are to hear of it.
            middle = len(asked) // 2
            _run(asked[:middle], function)
            _run(asked[middle:], function)
            return
        for one in asked:
            one.future.set_exception(error)
            one.future.exception()  # the first episode that fails cancels the others that wait
        if not isinstance(error, Exception):
            raise
        return
    for one, result in zip(asked, results, strict=True):
        one.future.set_result(result)


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

    async def answer(self, request: Request) -> Any:
        """Ask the model."""
        return await super().ask(request)

    async def ask(self, request: Request) -> Any:
        """Return the kept answer, or ask."""
        key = request_hash(self.model.name, self.model.revision, request)
        if key not in self._kept:
            answer = await self.answer(request)
            self._keep(key, json.dumps(asdict(answer)))
            return answer
        data = json.loads(self._kept[key])
        data["usage"] = Usage(**data["usage"])
        if isinstance(request, GenerateRequest):
            return Reply(**data)
        return Scores(**data | {"logprobs": tuple(data["logprobs"])})


def request_hash(name: str, revision: str, request: Request) -> str:
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
