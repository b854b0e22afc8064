"""Requests to one model server through openai's SDK: caps, waits, mended requests, one key.

The SDK sends requests and says how long to wait before the next try, by ``Retry-After``,
``retry-after-ms`` or the number of tries. Loading it takes a second.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import nullcontext, suppress
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import httpx2
import openai
from openai._models import FinalRequestOptions

from tomeval.models.base import BackendError, Stopped, Unusable
from tomeval.models.served import Budget, OpenAIOptions
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
from tomeval.models.served.replies import read_usage

logger = logging.getLogger(__name__)

IN_A_ROW = 3
"""The number of unanswered requests in a row after which the server counts as gone."""

_TRIES, _OF_UNUSABLE = 100, 5  # at one request; where replies come that cannot be used
_AT_START = 10.0  # seconds for a fault at the start, but a request to slow down
_SILENT = 30.0  # seconds without any reply, after which users are told
_CONNECT = _DOCUMENT = 30.0  # seconds; a document is there at once or never
_SECRET_LENGTH = 8  # shorter keys ("EMPTY", "none") are placeholders, and scrubbing would hurt text
_NEARBY = ("localhost", "127.0.0.1", "::1")
_NOWHERE = (404, 405, 410)  # of all refusals these and redirects are about the address

_Raw, _OMIT = openai.AsyncAPIResponse[object], openai.Omit()
_WAITS = FinalRequestOptions.construct(method="post", url="", max_retries=_TRIES)

T = TypeVar("T")


class Answer(NamedTuple):
    """A JSON reply."""

    data: dict[str, Any]  # the body
    sent: dict[str, Any]  # the request as the server took it, after mending
    # What was changed in the request: ``dropped``, ``renamed``; empty if nothing.
    mended: dict[str, Any]
    latency: float  # seconds with all tries
    attempts: int


class Client(openai.AsyncOpenAI):
    """The SDK for one server. Paths that begin with a slash count from its root.

    Parameters
    ----------
    url : str
        The base URL.
    key : (str, str)
        A variable and the key in it, see `tomeval.models.naming.key_for`. It is sent to this
        URL only, and never along with a redirect, which counts as a refusal.
    name : str
        What notes call the model.
    options : OpenAIOptions
    budget : Budget, optional
        Caps.
    """

    def __init__(
        self,
        url: str,
        key: tuple[str, str],
        name: str,
        options: OpenAIOptions,
        budget: Budget | None = None,
    ) -> None:
        self.name, self.options = name, options
        self.starting = False  # whether failures tell what a server can, and are not waited out
        self.url = url
        self._variable, self._key = key
        self._budget = budget or Budget()
        self._told: set[str] = set()  # why requests were sent again
        self._mends: dict[str, Mends] = {}
        self._unanswered = 0  # requests in a row
        self._replied = False  # to any request that runs the model
        self._gone: ServerGone | None = None
        self._stopped = asyncio.Event()
        self._places = asyncio.Semaphore(options.concurrency)
        super().__init__(
            api_key=self._key or "none",
            base_url=url,
            timeout=openai.Timeout(None, connect=min(options.timeout, _CONNECT)),
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False,  # a redirect could carry the key elsewhere
                trust_env=httpx2.URL(url).host not in _NEARBY,  # no proxy reaches this machine
            ),
        )

    def stop(self) -> None:
        """Have nothing sent any more; what waits to be sent again ends at once."""
        self._stopped.set()

    async def ask(
        self,
        path: str,
        body: dict[str, Any] | None = None,
        tokens: int | None = None,
        read: Callable[[Answer], Any] = lambda answer: answer,
    ) -> Any:
        """Send a request, again where that may help, and return what `read` makes of the reply.

        Parameters
        ----------
        path, body
            Where and what; no body fetches a document. Optional fields that the server refuses by
            name are left out (or, for the length limit, renamed) from then on, which is logged and
            stated in the answer.
        tokens : int, optional
            The most tokens that the call can use; None for a call that runs no model, which the
            caps do not count.
        read : callable
            Reads an `Answer`; where it raises `Unusable`, the request is sent again.

        Raises
        ------
        Refused, ContextExceeded, Unanswered, Unusable
            The server will not do it; the prompt is too long; no reply came within the retry
            budget; what came cannot be read.
        Stopped, BudgetExceeded
            The key is refused, the account is empty, or nobody answers any more; the call would
            pass a cap and was not sent.
        """
        if self._gone is not None:
            raise self._gone
        try:
            async with self._places:
                value = await self._insist(path, body, tokens, read)
        except BackendError as error:
            self._count(error)
            raise
        self._unanswered = 0
        return value

    async def _insist(
        self, path: str, body: dict[str, Any] | None, tokens: int | None, read: Callable[..., T]
    ) -> T:
        mends = self._mends.setdefault(path, Mends(self.options.omit))
        begun, tries = monotonic(), 1
        while True:
            self._check()
            sent, mended = mends.apply(body or {})
            caps = (
                nullcontext() if tokens is None else self._budget.call(tokens, self.options.price)
            )
            try:
                async with caps as call:
                    data = await self._send(path, None if body is None else sent)
                    if call:
                        call.usage = read_usage(data)
                return read(Answer(data, sent, mended, monotonic() - begun, tries))
            except Refused as refusal:
                change = mends.learn(sent, refusal)
                if not change:
                    raise
                logger.warning("%s: %s (%s)", self.name, change, refusal.message[:120])
            except (Unanswered, Unusable) as error:
                await self._wait_for(error, tries, monotonic() - begun)
                tries += 1

    async def _wait_for(self, error: Unanswered | Unusable, tries: int, spent: float) -> None:
        """Wait before the next try; raise the error when there is no patience left."""
        said, most, came = str(error), _OF_UNUSABLE, None
        if isinstance(error, Unanswered):
            said, most, came = error.reason, _TRIES, error.came
        patience = self.options.retry_budget
        if self.starting and not (came and came.status_code == 429):
            patience = min(patience, _AT_START)
        headers = came.headers if came else None
        wait = self._calculate_retry_timeout(_TRIES + 1 - tries, _WAITS, headers)
        never = came and not self._should_retry(came)  # or not within two minutes
        if never or spent + wait > patience or tries == most:
            raise error
        await self.wait(said, wait)

    async def wait(self, trouble: str, seconds: float) -> None:
        """Wait before a request is sent again; `Stopped`, at once, if it is not to be sent.

        Every kind of trouble, such as HTTP 429, is told once.
        """
        if (kind := trouble.partition(":")[0]) not in self._told:
            self._told.add(kind)
            logger.warning("%s: %s; asked again in %.1f s", self.name, trouble, seconds)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
        self._check()

    def _check(self) -> None:
        if self._stopped.is_set():
            raise Stopped("stopped")

    def _count(self, error: BackendError) -> None:
        """Note what became of a request; `ServerGone` if too many in a row were not answered."""
        nowhere = isinstance(error, Refused) and (error.status < 400 or error.status in _NOWHERE)
        if self.starting or not (nowhere or isinstance(error, Unanswered)):
            self._unanswered = 0  # the server is there
            return
        self._unanswered += 1
        if self._unanswered >= IN_A_ROW:
            self._gone = self._gone or ServerGone(
                f"{self.name}: {self._unanswered} requests in a row were not answered, so the run "
                f"stops; run the same command again to continue. The last error: {error}"
            )
            raise self._gone from None

    async def _send(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        """Send a request, or fetch a document without a body, once."""
        root = self.url.removesuffix("/v1")
        url = root + path if path.startswith("/") else f"{self.url}/{path}"
        # A header is left out by name, as a client without any key is an error to the SDK.
        how: Any = {"headers": {"Authorization": f"Bearer {self._key}" if self._key else _OMIT}}
        most = self.options.timeout if body else min(self.options.timeout, _DOCUMENT)
        silent = asyncio.get_running_loop().call_later(_SILENT, self._tell_silence, most)
        try:
            async with asyncio.timeout(most):  # of the whole, which may else trickle in for ever
                if body is None:
                    raw = await self.get(url, cast_to=_Raw, options=how)
                else:
                    raw = await self.post(url, body=body, cast_to=_Raw, options=how)
        except TimeoutError:
            raise Unanswered(url, f"no reply within {most:g} s") from None
        except openai.APIStatusError as error:
            raise self._fault(url, error.response) from None
        except openai.APIConnectionError as error:
            raise connection_fault(url, error.__cause__) from None
        finally:
            silent.cancel()
        self._replied = self._replied or body is not None
        data = read_json(self._clean(raw.http_response.content))
        if "error" in data and is_too_long(said := json.dumps(data)):
            raise status_fault(url, 200, said)
        return data

    def _tell_silence(self, most: float) -> None:
        """Tell once that no question was answered yet: the server may still load the model."""
        if not self._replied and "silence" not in self._told:
            self._told.add("silence")
            logger.warning(
                "%s: the server has not answered yet, after %g s; each request is waited for up to "
                "%g s (model option timeout)",
                *(self.name, _SILENT, most),
            )

    def _fault(self, url: str, came: Any) -> Exception:
        """Return the error for an error reply."""
        text = self._clean(came.content).decode(errors="replace")
        if came.is_redirect:
            target = self._clean(came.headers.get("location", "").encode())
            text = f"it redirects to {target.decode()!r}, which is not followed"
        note = "no key was sent: give one to this host with --trust-host HOST=VARIABLE"
        if self._variable:
            note = f"the key in the environment variable {self._variable} was sent"
        fault = status_fault(url, came.status_code, text, note)
        if isinstance(fault, Unanswered):
            fault.came = came
        return fault

    def _clean(self, text: bytes) -> bytes:
        """Return a text without the key, which servers repeat in error messages."""
        key = self._key.encode()
        return text.replace(key, b"***") if len(key) >= _SECRET_LENGTH else text

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        """Nothing of the environment, whose headers may be meant for another host."""
        kind = "application/json"
        return {"Accept": kind, "Content-Type": kind, "User-Agent": self.user_agent}
