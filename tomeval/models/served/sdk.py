"""openai's SDK for one server: its key goes nowhere else, and what it waits for can be told.

The SDK decides what is sent again and after how long, keeps the time of attempts, and reads
``Retry-After`` and ``retry-after-ms``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import openai

from tomeval.models.base import Damaged
from tomeval.models.served.faults import Trouble, message_of, reason_of

_LARGEST = 64 * 2**20  # bytes of a reply; llama.cpp's longest, a whole vocabulary, has half of it
_RETRIES = 100  # more than the SDK's own waits allow in ten minutes
_CONNECT = _DOCUMENT = 30.0  # seconds; a document is there at once or never

Answer = openai.AsyncAPIResponse[object]
Pause = Callable[[Trouble, float], Awaitable[None]]


class _WholeReplies(openai.DefaultAsyncHttpxClient):
    """The SDK's connections, whose timeout of reading counts for the whole reply.

    Otherwise it counts for each piece, and a reply may trickle in for ever.
    """

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send a request, and read the reply in time."""
        seconds = request.extensions["timeout"]["read"]
        try:
            async with asyncio.timeout(seconds):
                return await super().send(request, **how)
        except TimeoutError:
            late = f"no reply within {seconds:g} s"
            raise httpx2.ReadTimeout(late, request=request) from None


class Sdk(openai.AsyncOpenAI):
    """The SDK's client for one server.

    Parameters
    ----------
    base_url, key : str
        Where requests go; with which key, empty for none.
    timeout : float
        Seconds for one attempt.
    nearby : bool
        Whether the server is on this machine, which no proxy can reach.
    pause : callable
        Called with what came in place of a reply and the seconds before the next attempt; it waits,
        or raises to end them.
    clean : callable
        Takes the key out of a text; servers repeat it in error messages.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        timeout: float,
        nearby: bool,
        pause: Pause,
        clean: Callable[[str], str],
    ) -> None:
        self._pause, self._clean, self._seconds = pause, clean, timeout
        # A header is left out by name, as a client without any key is an error to the SDK.
        self._own: Any = {"Authorization": f"Bearer {key}" if key else openai.Omit()}
        super().__init__(
            api_key=key or "none",
            base_url=base_url,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT)),
            max_retries=_RETRIES,
            http_client=_WholeReplies(
                follow_redirects=False,  # a redirect could carry the key elsewhere
                trust_env=not nearby,
                verify=base_url.startswith("https:") or not nearby,  # else nothing to load
                event_hooks={"response": [_check_size]},
            ),
        )

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        """Nothing of the environment, whose headers may be meant for another host."""
        return {
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # a few packed bytes may unpack to gigabytes
            "Content-Type": "application/json",
            "User-Agent": self.user_agent,
        }

    async def send(self, url: str, body: dict[str, Any] | None) -> Answer:
        """Post a body, or fetch a document without one; `Trouble` if no reply comes."""
        options: Any = {"headers": self._own}
        try:
            if body is None:
                options["timeout"] = min(self._seconds, _DOCUMENT)
                return await self.get(url, cast_to=Answer, options=options)
            return await self.post(url, body=body, cast_to=Answer, options=options)
        except openai.APIStatusError as error:
            raise self._trouble(error.response, None) from None
        except openai.APIConnectionError as error:
            raise self._trouble(None, error.__cause__) from None

    async def _sleep_for_retry(
        self, *, retries_taken: int, max_retries: int, options: Any, response: Any
    ) -> None:
        headers = None if response is None else response.headers
        wait = self._calculate_retry_timeout(max_retries - retries_taken, options, headers)
        await self._pause(self._trouble(response, sys.exception()), wait)

    def _trouble(self, response: Any, error: BaseException | None) -> Trouble:
        """Return what came in place of a reply: an error reply, or an error of the connection."""
        if response is None:
            if isinstance(error, httpx2.ReadTimeout):
                return Trouble(str(error))
            absent = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            ask = "; is the server running, and is its address right?" * absent
            return Trouble(self._clean(reason_of(error)) + ask, absent=absent)
        text = self._clean(response.text)
        message = self._clean(message_of(text))  # again: JSON may have hidden the key by escapes
        if response.is_redirect:
            target = self._clean(response.headers.get("location", ""))
            message = f"it redirects to {target!r}, which is not followed"
        return Trouble(message, response.status_code, text)


async def _check_size(response: Any) -> None:
    """Refuse a body that is packed, which was not asked for, or too long, before it is read."""
    packing = response.headers.get("content-encoding", "identity")
    if packing.strip().lower() not in ("", "identity"):
        raise Damaged(f"the reply has an encoding that was not requested: {packing[:80]!r}")
    length = response.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > _LARGEST:
        raise Damaged(f"the reply is longer than {_LARGEST // 2**20} MiB")
