"""Requests to one model server through openai's SDK: caps, waits, mended requests, one key.

The SDK decides what is sent again and after how long, keeps the time of attempts, and reads
``Retry-After`` and ``retry-after-ms``. Loading it takes a second.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import httpx2
import openai

from tomeval.models.base import BackendError, Reply, Scores, Stopped, Unusable
from tomeval.models.served.faults import (
    Mends,
    Refused,
    ServerGone,
    Unanswered,
    connection_fault,
    is_too_long,
    read_json,
    status_fault,
)
from tomeval.models.served.options import Budget, OpenAIOptions, Price
from tomeval.models.served.replies import read_usage
from tomeval.models.waiting import Waiting

logger = logging.getLogger(__name__)

IN_A_ROW = 3
"""The number of unanswered requests in a row after which the server counts as gone."""

_AGAIN = (1.0, 2.0, 4.0, 8.0)  # seconds before a reply that cannot be used is asked for again
_AT_START = 10.0  # seconds for a fault at the start, but a request to slow down
_RETRIES = 100  # more than the SDK's own waits allow in ten minutes
_CONNECT = _DOCUMENT = 30.0  # seconds; a document is there at once or never
_SECRET_LENGTH = 8  # shorter keys ("EMPTY", "none") are placeholders, and scrubbing would hurt text
_NEARBY = ("localhost", "127.0.0.1", "::1")
_NOWHERE = (404, 405, 410)  # of all refusals these and redirects are about the address

_Raw, _OMIT = openai.AsyncAPIResponse[object], openai.Omit()
_BEGUN: ContextVar[float] = ContextVar("begun")  # when the request at hand was first sent

T = TypeVar("T", Reply, Scores)


class Answer(NamedTuple):
    """A JSON reply."""

    data: dict[str, Any]  # the body
    sent: dict[str, Any]  # the request as the server took it, after mending
    # What was changed in the request: ``dropped``, ``renamed``; empty if nothing.
    mended: dict[str, Any]
    latency: float  # seconds with all attempts
    attempts: int


class Client(openai.AsyncOpenAI):
    """The SDK for one server. Paths that begin with a slash count from its root.

    Parameters
    ----------
    url : str
        The base URL.
    key : (str, str)
        A variable and the key in it, see `tomeval.models.keys.key_for`. It is sent to this
        URL only, and never along with a redirect, which counts as a refusal.
    options : OpenAIOptions
    budget, price
        Caps, and what calls cost.
    waiting : Waiting
        Told how the server is waited for.
    """

    def __init__(
        self,
        url: str,
        key: tuple[str, str],
        options: OpenAIOptions,
        budget: Budget | None = None,
        price: Price | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.options, self.waiting = options, waiting or Waiting()
        self.name = self.waiting.model or url  # in notes
        self.starting = False  # whether failures tell what a server can, and are not waited out
        self.url = url
        self._variable, self._key = key
        self._budget, self._price = budget or Budget(), price
        self._mends: dict[str, Mends] = {}
        self._unanswered = 0  # requests in a row
        self._gone: ServerGone | None = None
        self._stopped = asyncio.Event()
        self._places = asyncio.Semaphore(options.concurrency)
        super().__init__(
            api_key=self._key or "none",
            base_url=url,
            timeout=openai.Timeout(options.timeout, connect=min(options.timeout, _CONNECT)),
            max_retries=_RETRIES,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False,  # a redirect could carry the key elsewhere
                trust_env=httpx2.URL(url).host not in _NEARBY,  # no proxy reaches this machine
            ),
        )

    def stop(self) -> None:
        """Have nothing sent any more; what waits to be sent again ends at once."""
        self._stopped.set()

    async def insist(self, work: Callable[[], Awaitable[T]]) -> T:
        """Ask until the reply can be used; `work` sends the request and reads the reply.

        How many replies could not be used is in its details, as ``unusable``. Raises the error of
        `work` when there is no patience left, and `ServerGone` once the server answers nobody.
        """
        if self._gone is not None:
            raise self._gone
        waits = [wait for wait in _AGAIN if wait <= self.options.retry_budget]
        unusable = 0
        while True:
            try:
                reply = await work()
            except Unusable as error:
                self._unanswered = 0
                if unusable == len(waits):
                    raise
                await self.wait(str(error), waits[unusable])
                unusable += 1
            except BackendError as error:
                self._count(error)
                raise
            else:
                self._unanswered = 0
                if unusable:
                    reply.details["unusable"] = unusable
                return reply

    async def fetch(self, path: str) -> dict[str, Any]:
        """Fetch a JSON document; raises as `ask` does."""
        return (await self._send(path, None)).data

    async def ask(self, path: str, body: dict[str, Any], tokens: int | None = None) -> Answer:
        """Send a request and return the reply.

        Parameters
        ----------
        path, body
            Where and what. Optional fields that the server refuses by name are left out (or, for
            the length limit, renamed) from then on, which is logged and stated in the answer.
        tokens : int, optional
            The most tokens that the call can use; None for a call that runs no model, which the
            caps do not count.

        Raises
        ------
        Refused, ContextExceeded, Unanswered, Unusable
            The server will not do it; the prompt is too long; no reply came within the retry
            budget; what came cannot be read.
        Stopped, BudgetExceeded
            The key is refused or the account is empty; the call would pass a cap and was not sent.
        """
        mends = self._mends.setdefault(path, Mends(self.options.omit))
        while True:
            sent, mended = mends.apply(body)
            try:
                async with (
                    nullcontext()
                    if tokens is None
                    else self._budget.call(tokens, self._price) as call
                ):
                    answer = await self._send(path, sent)
                    if call:
                        call.usage = read_usage(answer.data)
            except Refused as refusal:
                change = mends.learn(sent, refusal)
                if not change:
                    raise
                logger.warning("%s: %s (%s)", self.name, change, refusal.message[:120])
            else:
                return answer._replace(mended=mended)

    async def wait(self, trouble: str, seconds: float) -> None:
        """Wait before a request is sent again; `Stopped`, at once, if it is not to be sent."""
        logger.info("%s: %s; retrying in %.1f s", self.name, trouble, seconds)
        self.waiting.retries += 1
        self.waiting.trouble, self.waiting.until = trouble, monotonic() + seconds
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
        self._check()

    def _check(self) -> None:
        if self._stopped.is_set():
            raise Stopped("stopped")

    def _count(self, error: BackendError) -> None:
        """Note what became of a request; `ServerGone` if too many in a row were not answered."""
        nowhere = isinstance(error, Refused) and (error.status < 400 or error.status in _NOWHERE)
        if not (nowhere or isinstance(error, Unanswered)):
            self._unanswered = 0  # the server is there
            return
        self._unanswered += 1
        if self._unanswered >= IN_A_ROW:
            self._gone = self._gone or ServerGone(
                f"{self.name}: {self._unanswered} requests in a row were not answered, so the run "
                f"stops; run the same command again to continue. The last error: {error}"
            )
            raise self._gone from None

    async def _send(self, path: str, body: dict[str, Any] | None) -> Answer:
        """Send a request, or fetch a document without a body, in its turn."""
        root = self.url.removesuffix("/v1")
        url = root + path if path.startswith("/") else f"{self.url}/{path}"
        # A header is left out by name, as a client without any key is an error to the SDK.
        how: Any = {"headers": {"Authorization": f"Bearer {self._key}" if self._key else _OMIT}}
        waiting = self.waiting
        if not waiting.under_way:
            waiting.heard, waiting.trouble = monotonic(), ""
        waiting.under_way += 1
        try:
            async with self._places:
                self._check()
                begun = monotonic()
                _BEGUN.set(begun)
                if body is None:
                    how["timeout"] = min(self.options.timeout, _DOCUMENT)
                    raw = await self.get(url, cast_to=_Raw, options=how)
                else:
                    raw = await self.post(url, body=body, cast_to=_Raw, options=how)
        except openai.APIStatusError as error:
            raise self._fault(url, error.response) from None
        except openai.APIConnectionError as error:
            raise self._fault(url, error.__cause__) from None
        finally:
            waiting.under_way -= 1
        waiting.heard, waiting.trouble = monotonic(), ""
        data = read_json(self._clean(raw.http_response.content))
        if "error" in data and is_too_long(said := json.dumps(data)):
            raise status_fault(url, 200, said)
        return Answer(data, body or {}, {}, waiting.heard - begun, raw.retries_taken + 1)

    def _fault(self, url: str, came: Any) -> Exception:
        """Return the error for an error reply, or for an error of the connection."""
        if not isinstance(came, httpx2.Response):
            return connection_fault(url, came)
        text = self._clean(came.content).decode(errors="replace")
        if came.is_redirect:
            target = self._clean(came.headers.get("location", "").encode())
            text = f"it redirects to {target.decode()!r}, which is not followed"
        note = "no key was sent: give one to this host with --trust-host HOST=VARIABLE"
        if self._variable:
            note = f"the key in the environment variable {self._variable} was sent"
        return status_fault(url, came.status_code, text, note)

    def _clean(self, text: bytes) -> bytes:
        """Return a text without the key, which servers repeat in error messages."""
        key = self._key.encode()
        return text.replace(key, b"***") if len(key) >= _SECRET_LENGTH else text

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        """Nothing of the environment, whose headers may be meant for another host."""
        kind = "application/json"
        return {"Accept": kind, "Content-Type": kind, "User-Agent": self.user_agent}

    async def _send_request(self, request: Any, **how: Any) -> Any:
        """Bound the whole reply, which may else trickle in for ever, piece by piece."""
        seconds = request.extensions["timeout"]["read"]
        try:
            async with asyncio.timeout(seconds):
                return await super()._send_request(request, **how)
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no reply within {seconds:g} s", request=request) from None

    async def _sleep_for_retry(
        self, *, retries_taken: int, max_retries: int, options: Any, response: Any
    ) -> None:
        """Wait for what may pass; raise what does not, and when there is no patience left."""
        fault = self._fault(options.url, response or sys.exception())
        if not isinstance(fault, Unanswered):
            raise fault
        headers = None if response is None else response.headers
        wait = self._calculate_retry_timeout(max_retries - retries_taken, options, headers)
        budget = self.options.retry_budget
        if self.starting and fault.status != 429:
            budget = min(budget, _AT_START)
        spent = monotonic() - _BEGUN.get()
        if spent + wait > budget:
            last = f"no reply within {spent:.0f} s; last: {fault.reason}"
            raise Unanswered(fault.url, last, fault.status)
        await self.wait(fault.reason, wait)
