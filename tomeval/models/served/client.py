"""Requests to one model server: caps, mended requests, and how long a reply is waited for."""

from __future__ import annotations

import asyncio
import json
import logging
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from tomeval.models.base import Damaged
from tomeval.models.served.faults import (
    Refused,
    TooLong,
    Trouble,
    Unanswered,
    as_json,
    error_of,
    message_of,
)
from tomeval.models.served.keys import check_url, is_loopback, read_key
from tomeval.models.served.limits import Budget, Price, read_usage
from tomeval.models.served.mends import Mends
from tomeval.models.served.options import OpenAIOptions
from tomeval.models.served.patience import Patience, startup_patience
from tomeval.models.waiting import Waiting

if TYPE_CHECKING:
    from tomeval.models.served.sdk import Sdk

logger = logging.getLogger(__name__)

_SECRET_LENGTH = 8  # shorter keys ("EMPTY", "none") are placeholders, and scrubbing would hurt text


class Answer(NamedTuple):
    """A JSON reply."""

    data: dict[str, Any]  # the body; a list of replies is under ``replies``
    sent: dict[str, Any]  # the request as the server took it, after mending
    # What was changed in the request: ``dropped``, ``renamed``, ``system``; empty if nothing.
    mended: dict[str, Any]
    latency: float  # seconds with all attempts
    attempts: int


_BEGUN: ContextVar[float] = ContextVar("begun")  # when the request at hand was first sent


class Client:
    """One server. Paths that begin with a slash count from its root, others from the base URL.

    A key is sent to confirmed hosts only, see `keys.read_key`, and never along with a redirect,
    which counts as a refusal. `budget` holds caps, on what calls cost by `price`; `waiting` is told
    how the server is waited for.
    """

    def __init__(
        self,
        base_url: str,
        options: OpenAIOptions,
        *,
        budget: Budget | None = None,
        price: Price | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        self.base_url = check_url(base_url)
        self.options = options
        waiting = waiting or Waiting()
        waiting.patience, waiting.at_a_time = options.timeout, options.concurrency
        self.patience = Patience(self.base_url, options.retry_budget, waiting)
        self.starting = False  # whether failures tell what a server can, and are not waited out
        self._key_env, self._key = read_key(self.base_url, options.key_env)
        self._secret = self._key if len(self._key) >= _SECRET_LENGTH else ""
        self._budget, self._price = budget or Budget(), price
        self._mends: dict[str, Mends] = {}
        self._sdk: Sdk | None = None

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.close()

    def _open(self) -> Sdk:
        """Load the SDK, which takes a second, with the first request."""
        from tomeval.models.served.sdk import Sdk

        self._places = asyncio.Semaphore(self.options.concurrency)
        nearby = is_loopback(urlsplit(self.base_url).hostname or "")
        return Sdk(
            *(self.base_url, self._key),
            timeout=self.options.timeout,
            nearby=nearby,
            pause=self._pause,
            clean=self._clean,
        )

    async def get(self, path: str) -> dict[str, Any]:
        """Fetch a JSON document; raises as `post` does."""
        return (await self._send(path, None)).data

    async def post(self, path: str, body: dict[str, Any], *, tokens: int | None = None) -> Answer:
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
        Refused, TooLong, Unanswered, Damaged
            The server will not do it; the prompt is too long; no reply came within the retry
            budget; what came cannot be read.
        Stopped, BudgetExceeded
            The key is refused or the account is empty; the call would pass a cap and was not sent.
        """
        mends = self._mends.setdefault(path, Mends(self.options.omit))
        while True:
            sent, mended = mends.apply(body)
            try:
                answer = await self._paid(path, sent, tokens)
            except Refused as refusal:
                changes = mends.learn(sent, refusal)
                if not changes:
                    raise
                for change in changes:
                    logger.warning("%s: %s (%s)", self.patience.name, change, refusal.message[:120])
            else:
                return answer._replace(mended=mended)

    async def _paid(self, path: str, body: dict[str, Any], tokens: int | None) -> Answer:
        if tokens is None:
            return await self._send(path, body)
        await self._budget.take(tokens, self._price)
        answer = None
        try:
            answer = await self._send(path, body)
        finally:  # also when cancelled: the room must not be lost
            if answer is None:
                self._budget.cancel(tokens, self._price)
            else:
                self._budget.settle(tokens, read_usage(answer.data), self._price)
        return answer

    async def _send(self, path: str, body: dict[str, Any] | None) -> Answer:
        """Send a request, or fetch a document without a body, in its turn."""
        if self._sdk is None:
            self._sdk = self._open()
        root = self.base_url.removesuffix("/v1")
        url = root + path if path.startswith("/") else f"{self.base_url}/{path}"
        with self.patience.watch():
            async with self._places:
                self.patience.waiting.check()
                begun = monotonic()
                before = _BEGUN.set(begun)
                try:
                    reply = await self._sdk.send(url, body)
                except Trouble as trouble:
                    raise self._error(url, trouble) from None
                finally:
                    _BEGUN.reset(before)
        self.patience.waiting.replied(monotonic())
        data = self._read(url, reply.http_response.content, document=body is None)
        return Answer(data, body or {}, {}, monotonic() - begun, reply.retries_taken + 1)

    async def _pause(self, trouble: Trouble, wait: float) -> None:
        """Wait before the SDK sends a request again; raise `trouble` if it is not to."""
        budget = self.options.retry_budget
        if self.starting:
            budget = min(budget, startup_patience(trouble))
        if monotonic() - _BEGUN.get() + wait > budget or error_of("", trouble, ""):
            raise trouble
        await self.patience.wait(str(trouble), wait)

    def _error(self, url: str, trouble: Trouble) -> Exception:
        """Return the error of a request that got no reply."""
        lasting = error_of(url, trouble, self._key_note())
        if lasting is not None:
            return lasting
        if self.starting and trouble.status == 500:
            return Refused(url, 500, trouble.message)
        spent, budget = monotonic() - _BEGUN.get(), self.options.retry_budget
        how_long = f"{spent:.0f} s (retry budget {budget:.0f} s)"
        return Unanswered(f"{url}: no reply within {how_long}; last: {trouble}")

    def _key_note(self) -> str:
        """Say which key was sent."""
        if not self._key_env:
            return "no key was sent: name the environment variable that holds it with key_env"
        other = "is not set; if the key is in another variable, name it with key_env"
        held = "holds the key that was sent" if self._key else other
        return f"the environment variable {self._key_env} {held}"

    def _read(self, url: str, content: bytes, *, document: bool) -> dict[str, Any]:
        """Return the object that a reply is; `Damaged` if it is none, `Refused` for a document."""
        secret = self._secret.encode()
        content = content.replace(secret, b"***") if secret else content
        data, text = as_json(content), content.decode()
        if secret and "\\" in text:  # by which JSON may hide it
            data = json.loads(self._clean(json.dumps(data)))
        if isinstance(data, list) and all(isinstance(entry, dict) for entry in data):
            return {"replies": data}
        if not isinstance(data, dict):
            wrong = f"the reply is not an object: {text[:80]!r}"
            raise Refused(url, 200, wrong) if document else Damaged(wrong)
        if "error" in data and TooLong.is_said_in(text):
            raise TooLong(url, self._clean(message_of(text)))
        return data

    def _clean(self, text: str) -> str:
        """Return a text without the key, as it is or as JSON has it."""
        for form in {self._secret, json.dumps(self._secret)[1:-1]} - {""}:
            text = text.replace(form, "***")
        return text
