"""JSON over HTTP to one model server: bounded concurrency, retries with an end, mended requests."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2

from tomeval.core.errors import TomevalError
from tomeval.models.base import BackendError, Damaged, Stopped
from tomeval.models.served.http_patience import (
    AdaptiveLimiter,
    Patience,
    Timing,
    delay,
    startup_patience,
)
from tomeval.models.served.http_reading import (
    EXCERPT,
    OVERLOAD,
    Refused,
    TooLong,
    Trouble,
    Unanswered,
    Unreadable,
    as_json,
    as_text,
    asked_wait,
    is_filtered,
    message_of,
    page_title,
    read_body,
    reason_of,
)
from tomeval.models.served.keys import is_loopback, read_key
from tomeval.models.served.limits import Budget, Price, read_usage
from tomeval.models.served.openai_fields import Mends
from tomeval.models.waiting import Waiting

logger = logging.getLogger(__name__)

_QUICK = 5.0  # seconds for a document; longer where the caller waits for a server to get ready
_SECRET_LENGTH = 8  # shorter keys ("EMPTY", "none") are placeholders, and scrubbing would hurt text


class Answer(NamedTuple):
    """A JSON reply."""

    data: dict[str, Any]  # the body; a list of replies is under ``replies``
    sent: dict[str, Any]  # the request as the server took it, after mending
    # What was changed in the request: ``dropped``, ``renamed``, ``system``; empty if nothing.
    mended: dict[str, Any]
    latency: float  # seconds of the attempt that succeeded
    attempts: int


class HttpClient:
    """One server. Paths that begin with a slash count from its root, others from the base URL.

    Options are as in `OpenAIOptions`. A key is sent to confirmed hosts only, see `keys.read_key`,
    and never along with a redirect, which counts as a refusal. The seconds of `retry_budget` count
    from a request's first attempt; `budget` holds caps, on what calls cost by `price`; `omit` names
    fields that are never sent; `waiting` is told how the server is waited for.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key_env: str | None = None,
        concurrency: int = 16,
        timeout: float = 300.0,
        retry_budget: float = 600.0,
        budget: Budget | None = None,
        price: Price | None = None,
        timing: Timing | None = None,
        omit: Collection[str] = (),
        waiting: Waiting | None = None,
    ) -> None:
        self.base_url = check_url(base_url)
        self.root = self.base_url.removesuffix("/v1")
        self.retry_budget = retry_budget
        self._key_env, self._key = read_key(self.base_url, key_env)
        self._secret = self._key if len(self._key) >= _SECRET_LENGTH else ""
        self._timeout = timeout
        self._budget, self._price = budget or Budget(), price
        self._timing = timing or Timing()
        told = waiting or Waiting()
        self.patience = Patience(self.base_url, retry_budget, timeout, self._timing, told)
        self._limiter = AdaptiveLimiter(concurrency, self.patience.said, told)
        self._omit = omit
        self._mends: dict[str, Mends] = {}
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _open(self) -> httpx2.AsyncClient:
        headers = {"Accept-Encoding": "gzip"}  # see `http_reading`
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        parts = urlsplit(self.base_url)
        loopback = is_loopback(parts.hostname or "")
        return httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(None, connect=min(self._timeout, 30.0)),
            limits=httpx2.Limits(max_connections=None),
            follow_redirects=False,  # a redirect could carry the key elsewhere
            trust_env=not loopback,  # a proxy cannot reach this machine's own servers
            verify=parts.scheme == "https" or not loopback,  # else no certificates to load
        )

    async def get(self, path: str, *, retry_budget: float | None = None) -> Answer:
        """Fetch a JSON document; raises as `post` with `probing` does."""
        return await self._persist(path, None, True, retry_budget)

    async def post(
        self, path: str, body: dict[str, Any], *, tokens: int | None = None, probing: bool = False
    ) -> Answer:
        """Send a request and return the reply.

        Parameters
        ----------
        path, body
            Where and what. Optional fields that the server refuses by name are left out (or, for
            the length limit, renamed) from then on, which is logged and stated in the answer.
        tokens : int, optional
            The most tokens that the call can use; None for a call that runs no model, which the
            caps do not count.
        probing : bool
            Whether a failure tells something: an internal error (500) is then tried twice only,
            a server that is not there for a few seconds, and so is a web page.

        Raises
        ------
        Refused, TooLong, Unanswered, Damaged
            The server will not do it; the prompt is too long; no reply came within the retry
            budget; what came last could not be read.
        TomevalError, BudgetExceeded
            The key is refused or the account is empty, or this is no model server; the call would
            pass a cap and was not sent.
        """
        mends = self._mends.setdefault(path, Mends(self._omit))
        while True:
            sent, mended = mends.apply(body)
            try:
                answer = await self._paid(path, sent, tokens, probing)
            except Refused as refusal:
                changes = mends.learn(sent, refusal)
                if not changes:
                    raise
                for change in changes:
                    said = self.patience.said
                    logger.warning("%s: %s (%s)", said, change, refusal.message[:120])
            else:
                return answer._replace(mended=mended)

    async def _paid(
        self, path: str, body: dict[str, Any], tokens: int | None, probing: bool
    ) -> Answer:
        if tokens is None:
            return await self._persist(path, body, probing)
        await self._budget.take(tokens, self._price)
        answer = None
        try:
            answer = await self._persist(path, body, probing)
        finally:  # also when cancelled: the room must not be lost
            if answer is None:
                self._budget.cancel(tokens, self._price)
            else:
                self._budget.settle(tokens, read_usage(answer.data), self._price)
        return answer

    async def _persist(
        self,
        path: str,
        body: dict[str, Any] | None,
        probing: bool,
        retry_budget: float | None = None,
    ) -> Answer:
        """Try until there is an answer, a refusal, or no time left; without a body it is fetched.

        The retry budget counts from the first attempt, not from the wait for its turn.
        """
        clock = self._timing.monotonic
        budget = self.retry_budget if retry_budget is None else retry_budget
        # A document is there at once or never; what a model writes may take its time.
        timeout = self._timeout if body is not None else min(self._timeout, max(_QUICK, budget))
        started, attempt = None, 0
        with self.patience.waiting():
            while True:
                attempt += 1
                round_ = await self._limiter.acquire(first=attempt > 1)
                sent_at = clock()
                started = sent_at if started is None else started
                try:
                    self.patience.told.check()
                    data = await self._attempt(path, body, timeout)
                    self._limiter.succeeded()
                    self.patience.heard()
                    return Answer(data, body or {}, {}, clock() - sent_at, attempt)
                except Trouble as failure:
                    trouble = failure
                    if trouble.overload:
                        self._limiter.overloaded(round_)
                finally:
                    self._limiter.release()
                self.patience.told.check()
                wait = delay(trouble.wait, attempt, self._timing.random())
                spent = clock() - started
                if probing:
                    budget = min(budget, startup_patience(trouble, attempt))
                if spent + wait > budget:
                    seen = f"{attempt} attempt{'s' * (attempt > 1)} in {spent:.0f} s"
                    if probing and (error := self._failed_test(path, trouble, attempt, seen)):
                        raise error
                    lost = Damaged if isinstance(trouble, Unreadable) else Unanswered
                    raise lost(
                        f"{self._url(path)}: no reply after {seen} (retry budget {budget:.0f} s, "
                        f"next wait {wait:.0f} s); last: {trouble}"
                    )
                await self.patience.pause(str(trouble), spent, wait)

    def _failed_test(
        self, path: str, trouble: Trouble, attempt: int, seen: str
    ) -> TomevalError | BackendError | None:
        """Return what a failure tells the self-test: no server, another one, or one that refuses.

        None if it tells no more than that there was no reply.
        """
        url = self._url(path)
        if trouble.status == 500 and attempt > 1:
            return Refused(url, 500, str(trouble))
        if trouble.absent:
            return Unanswered(
                f"{url}: no server answers there ({seen}): {trouble}; is it running, and is the "
                "address right?"
            )
        if not trouble.page or attempt < 2:
            return None
        ask = "is the base URL right? It often ends in /v1"
        if trouble.status:
            ask = "is the server behind this address running, and is the base URL right?"
        return TomevalError(
            f"{url} is not an OpenAI-compatible server: it answered twice with {trouble}; {ask}"
        )

    async def _attempt(
        self, path: str, body: dict[str, Any] | None, timeout: float
    ) -> dict[str, Any]:
        self._client = self._client or self._open()
        method = "GET" if body is None else "POST"
        try:
            async with (
                asyncio.timeout(timeout),
                self._client.stream(method, self._url(path), json=body) as response,
            ):
                raw = await read_body(response)
        except TimeoutError:
            raise Trouble(f"no reply within {timeout:g} s", overload=True) from None
        except httpx2.RequestError as error:
            # A server that closes an idle connection is not overloaded; one that opens none may be.
            full = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            what = f"{type(error).__name__}: {self._clean(reason_of(error))}"
            raise Trouble(what, overload=full, absent=full) from None
        if not response.is_success:
            self._fail(path, response, self._clean(raw.decode(errors="replace")))
        text = self._clean(as_text(raw))
        title = page_title(text)
        if title is not None:
            raise Trouble(f"a web page{title} instead of a reply", page=True)
        data = self._without_key(as_json(text), text)
        if isinstance(data, list) and all(isinstance(entry, dict) for entry in data):
            return {"replies": data}
        if not isinstance(data, dict):
            if body is None:
                raise Refused(self._url(path), response.status_code, f"not an object: {text[:80]}")
            raise Unreadable(f"the reply is not an object: {text[:80]!r}")
        if "error" in data and TooLong.is_said_in(text):
            raise TooLong(self._url(path), self._clean(message_of(text)))
        return data

    def _fail(self, path: str, response: httpx2.Response, text: str) -> None:
        status, url = response.status_code, self._url(path)
        message = self._clean(message_of(text))  # again: JSON may have hidden the key by escapes
        if response.is_redirect:
            target = self._clean(response.headers.get("location", ""))
            raise Refused(url, status, f"it redirects to {target!r}, which is not followed")
        if status in (401, 403):
            other = "is not set; if the key is in another variable, name it with key_env"
            held = "holds the key that was sent" if self._key else other
            named = f"the environment variable {self._key_env} {held}"
            none = "no key was sent: name the environment variable that holds it with key_env"
            raise Stopped(
                f"{url}: access denied (HTTP {status}): {message[:EXCERPT]}; "
                f"{named if self._key_env else none}"
            )
        if status == 429 and "insufficient_quota" in text:
            raise Stopped(f"{url}: the account has no quota left: {message[:EXCERPT]}")
        if status in (400, 413, 422, 500) and TooLong.is_said_in(text):
            raise TooLong(url, message)
        if status in OVERLOAD or (status >= 500 and status != 501):
            wait = asked_wait(response.headers, self._timing.now())
            page = wait is None and page_title(text) is not None  # of a proxy before no server
            raise Trouble(f"HTTP {status}: {message[:EXCERPT]}", status, wait, page=page)
        raise Refused(url, status, message, is_filtered(text))

    def _url(self, path: str) -> str:
        return self.root + path if path.startswith("/") else f"{self.base_url}/{path}"

    def _clean(self, text: str) -> str:
        """Return a text without the key; servers repeat it in error messages."""
        return text.replace(self._secret, "***") if self._secret else text

    def _without_key(self, data: Any, text: str) -> Any:
        """Return parsed JSON without the key, which escapes may have hidden in its text."""
        if "\\" not in text or not self._secret:
            return data
        written = json.dumps(data)  # one way to write every character, as that of the key
        cleaned = written.replace(json.dumps(self._secret)[1:-1], "***")
        return data if cleaned == written else json.loads(cleaned)


def check_url(url: str) -> str:
    """Return a base URL in its usual form; refuse what is not a URL or holds a secret.

    Examples
    --------
    >>> check_url("http://127.0.0.1:8000/")
    'http://127.0.0.1:8000/v1'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise TomevalError(f"{url!r} is not a base URL such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise TomevalError(
            f"the base URL of {parts.hostname} holds a user name, password, query or fragment; "
            "names of models are stored with results, so put the key into an environment variable"
        )
    return url.rstrip("/") if parts.path.strip("/") else url.rstrip("/") + "/v1"
