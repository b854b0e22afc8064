"""Questions of several episodes in one request, where a server takes lists of prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tomeval.models.base import ContextExceeded, Unusable, Usage
from tomeval.models.served.http_reading import Refused
from tomeval.models.served.logprob_wire import Query

Ids = list[int]
Found = TypeVar("Found")

MOST = 16
"""Questions of one request, at most."""


@dataclass
class _Asked(Generic[Found]):
    """The contexts of one question, the tokens wanted after each, and who waits for the answer."""

    query: Query
    contexts: list[Ids]
    wanted: list[Ids]
    answer: asyncio.Future[list[Found]]


class Joining(Generic[Found]):
    """Sends together what episodes ask at the same time.

    `send` asks for the contexts of one query, as those of several look like. Questions are joined
    once a turn of the event loop brings no further one, and only those that want the same tokens:
    nobody is told, or waits for, more than if it had asked alone.
    """

    def __init__(
        self, send: Callable[[Query, list[Ids], list[Ids]], Awaitable[list[Found]]]
    ) -> None:
        self._send = send
        self._loop: asyncio.AbstractEventLoop | None = None  # where a turn is waited for
        self._waiting: list[_Asked[Found]] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def ask(self, query: Query, contexts: list[Ids], wanted: list[Ids]) -> list[Found]:
        """Return what comes after each context; errors are those of `send`."""
        loop = asyncio.get_running_loop()
        asked = _Asked(query, contexts, wanted, loop.create_future())
        if self._loop is not loop:  # also where an earlier loop was left in the middle of a turn
            self._loop, self._waiting = loop, []
            loop.call_soon(self._settle, 0)
        self._waiting.append(asked)
        return await asked.answer

    def _settle(self, before: int) -> None:
        if len(self._waiting) != before:
            asyncio.get_running_loop().call_soon(self._settle, len(self._waiting))
            return
        self._loop, waiting = None, self._waiting
        alike: dict[tuple[int, ...], list[_Asked[Found]]] = {}
        for asked in waiting:
            if not asked.answer.done():
                tokens = {token for ids in asked.wanted for token in ids}
                alike.setdefault(tuple(sorted(tokens)), []).append(asked)
        for same in alike.values():
            for first in range(0, len(same), MOST):
                task = asyncio.ensure_future(self._run(same[first : first + MOST]))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    async def _run(self, several: Sequence[_Asked[Found]]) -> None:
        """Send one request; where one question spoils it, one for each."""
        try:
            found = await self._joined(several)
        except (Refused, Unusable, ContextExceeded) as error:
            if len(several) > 1:
                await asyncio.gather(*(self._run([asked]) for asked in several))
                return
            _fail(several, error)
        except BaseException as error:
            _fail(several, error)
            if not isinstance(error, Exception):
                raise
        else:
            for asked, mine in zip(several, found, strict=True):
                if not asked.answer.done():
                    asked.answer.set_result(mine)

    async def _joined(self, several: Sequence[_Asked[Found]]) -> list[list[Found]]:
        """Return what comes after the contexts of each question; the cost is shared out."""
        if len(several) == 1:
            return [await self._send(several[0].query, several[0].contexts, several[0].wanted)]
        counts = [len(asked.contexts) for asked in several]
        most = sum(asked.query.tokens * n for asked, n in zip(several, counts, strict=True))
        whole = replace(several[0].query, usage=Usage(), latency=0.0, details={})
        whole.tokens = -(-most // sum(counts))
        contexts = [context for asked in several for context in asked.contexts]
        wanted = [ids for asked in several for ids in asked.wanted]
        found = iter(await self._send(whole, contexts, wanted))
        sizes = [sum(map(len, asked.contexts)) for asked in several]
        prompt, cached = (split(n, sizes) for n in (whole.usage.prompt, whole.usage.cached))
        written = split(whole.usage.completion, counts)
        for asked, *parts in zip(several, prompt, written, cached, strict=True):
            asked.query.usage = Usage(*parts)
            asked.query.latency += whole.latency
            asked.query.details.update(whole.details, joined=len(several))
        return [[next(found) for _ in range(count)] for count in counts]


def split(total: int, weights: Sequence[int]) -> list[int]:
    """Return whole shares of a total, in proportion to weights; their sum is the total.

    Examples
    --------
    >>> split(10, [3, 3, 4]), split(7, [3, 3, 4])
    ([3, 3, 4], [2, 2, 3])
    """
    shares, given, above = [], 0, 0
    for weight in weights:
        above += weight
        shares.append(total * above // sum(weights) - given)
        given += shares[-1]
    return shares


def _fail(several: Sequence[_Asked[Found]], error: BaseException) -> None:
    """Tell all who wait that there is no answer."""
    for asked in several:
        if isinstance(error, asyncio.CancelledError):
            asked.answer.cancel()
        elif not asked.answer.done():
            asked.answer.set_exception(error)
