"""The body of a server's answer: bounded, whole, in UTF-8 and JSON, or a `Trouble` that says why.

A server that is ill sends half a reply, a page of its proxy, bytes of another encoding, or a few
kilobytes that unpack to gigabytes. None of it is a reply, and all of it may pass. What it refuses
does not.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from tomeval.models.base import BackendError, ContextExceeded

LARGEST = 64 * 2**20
"""Bytes of a reply. llama.cpp's longest, a whole vocabulary of 256,000 tokens, has half of it."""

OVERLOAD = (408, 429, 503, 529)
"""Statuses that ask for fewer requests at a time."""

# What may be unpacked: of others a few bytes make so much at once that no limit is kept.
_PACKINGS = ("", "identity", "gzip", "deflate")
_ANY_HEADER = zlib.MAX_WBITS | 32  # of gzip or zlib
_NOT_ENCRYPTED = ("[SSL: WRONG_VERSION", "[SSL: UNEXPECTED_EOF", "[SSL: RECORD_LAYER")
_SHOWN = 80  # characters of a body, in messages


class Trouble(Exception):
    """A failure that may pass; `overload` asks for fewer requests at a time.

    `wait` holds the seconds that the server asks to wait; `absent`: no server was there to
    answer; `page`: a web page came in place of a reply.
    """

    def __init__(
        self,
        what: str,
        status: int = 0,
        wait: float | None = None,
        *,
        overload: bool = False,
        absent: bool = False,
        page: bool = False,
    ) -> None:
        super().__init__(what)
        self.status, self.wait, self.absent, self.page = status, wait, absent, page
        self.overload = overload or status in OVERLOAD


class Unreadable(Trouble):
    """A reply came, of a model that was asked, and cannot be read."""


async def read_body(response: httpx2.Response) -> bytes:
    """Return the body of a streamed response; `Unreadable` if it is too long or packed oddly."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in _PACKINGS:
        raise Unreadable(f"the reply has an encoding that was not requested: {packing[:_SHOWN]!r}")
    # Unpacked here, because what one piece of a packed reply holds may be a thousand times as long.
    unpacker = zlib.decompressobj(_ANY_HEADER) if packing in ("gzip", "deflate") else None
    parts, size = [], 0
    async for part in response.aiter_raw():
        if unpacker is not None:
            try:
                part = unpacker.decompress(part, LARGEST + 1 - size)
            except zlib.error as error:
                raise Unreadable(f"the reply cannot be decompressed: {error}") from None
        size += len(part)
        if size > LARGEST:
            raise Unreadable(f"the reply is longer than {LARGEST // 2**20} MiB")
        parts.append(part)
    if size and unpacker is not None and not unpacker.eof:
        raise Unreadable("the reply cannot be decompressed: it is incomplete")
    return b"".join(parts)


def reason_of(error: BaseException) -> str:
    """Return what an error of the connection says, or else the first of its causes that says it.

    Where encryption was begun and no other end understood it, the likely mistake is named.
    """
    cause: BaseException | None = error
    while cause is not None and not str(cause):
        cause = cause.__cause__ or cause.__context__
    said = str(cause) if cause is not None else "no reason was given"
    plain = any(mark in said for mark in _NOT_ENCRYPTED)
    return said + "; it may be http:// rather than https://" * plain


def as_text(body: bytes) -> str:
    """Return a body as text; `Unreadable` if it is not UTF-8, as JSON must be."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        around = body[max(0, error.start - 20) : error.start + 20]
        raise Unreadable(f"the reply is not UTF-8: ...{around!r}...") from None


def as_json(text: str) -> Any:
    r"""Return the JSON value that a text holds; `Unreadable` if it is not one whole value.

    Examples
    --------
    >>> as_json('{"id": 1}')
    {'id': 1}
    >>> as_json('{"id": ')
    Traceback (most recent call last):
    tomeval.models.served.http_reading.Unreadable: the reply is not complete JSON: '{"id": '
    >>> as_json('{"id": "\\ud83d"}')
    Traceback (most recent call last):
    tomeval.models.served.http_reading.Unreadable: the reply contains a lone surrogate
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):  # cut, a number of thousands of digits, nested too deep
        raise Unreadable(f"the reply is not complete JSON: {text[:_SHOWN]!r}") from None
    if "\\ud" in text.lower():
        try:
            json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Unreadable("the reply contains a lone surrogate") from None
    return data


EXCERPT = 300
"""Characters of a server's message that an error repeats."""


class Refused(BackendError):
    """The server answered that it will not do this request; sending it again does not help."""

    def __init__(self, url: str, status: int, message: str, filtered: bool = False) -> None:
        super().__init__(f"{url}: HTTP {status}: {message[:EXCERPT]}")
        self.status, self.message = status, message  # HTTP status; what the server said
        self.filtered = filtered  # by its code, a content filter declined to answer


class Unanswered(BackendError):
    """Nothing came within the retry budget but silence, broken connections and errors."""


class TooLong(ContextExceeded):
    """The server says that the prompt, with room for the reply, is longer than the context."""

    # As vLLM, SGLang, llama.cpp, OpenAI, Anthropic and others word it.
    _SAID = re.compile(
        r"context_length_exceeded|exceed_context_size|maximum context (length|size)"
        r"|(model's|available) context (length|size)"
        r"|context (size|window|length) (has been )?exceed"
        r"|exceeds? (the )?(model's )?(maximum |available )?context|(prompt|input) is too long"
        r"|context window of|longer than the maximum model length"
        r"|exceeds the maximum allowed length",
        re.IGNORECASE,
    )

    def __init__(self, url: str, message: str) -> None:
        super().__init__(f"{url}: the prompt is too long for the model: {message[:EXCERPT]}")

    @classmethod
    def is_said_in(cls, text: str) -> bool:
        """Tell whether an error message is about the length of the prompt.

        Examples
        --------
        >>> TooLong.is_said_in("This model's maximum context length is 8192 tokens. However, ...")
        True
        >>> TooLong.is_said_in("max_tokens must be at least 1")
        False
        """
        return cls._SAID.search(text) is not None


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait, or None if it asks for none.

    Examples
    --------
    >>> asked_wait({"retry-after-ms": "20", "retry-after": "1"}, now=0)
    0.02
    """
    milliseconds = retry_after(headers.get("retry-after-ms"), now)
    if milliseconds is not None:
        return milliseconds / 1000
    return retry_after(headers.get("retry-after"), now)


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, or None if it cannot be read.

    Examples
    --------
    >>> retry_after("2.5", now=0), retry_after("soon", now=0)
    (2.5, None)
    >>> retry_after("Thu, 01 Jan 1970 00:01:00 GMT", now=20)
    40.0
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = moment.timestamp() - now
    return max(0.0, seconds) if math.isfinite(seconds) else None


def page_title(text: str) -> str | None:
    """Return the title of a web page, in quotes after a space, or None for other text.

    Examples
    --------
    >>> page_title("<!DOCTYPE html><html><title>Sign in</title></html>"), page_title('{"id": 1}')
    (" 'Sign in'", None)
    """
    if not re.match(r"\s*<(!doctype html|html)\b", text, re.IGNORECASE):
        return None
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    return f" {title[1].strip()!r}" if title else ""


def is_filtered(text: str) -> bool:
    """Tell whether an error reply has the code of a content filter, as Azure's have."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    error = data.get("error") if isinstance(data, dict) else None
    return isinstance(error, dict) and error.get("code") == "content_filter"


def message_of(text: str) -> str:
    """Return what an error reply says, with the name of the parameter that it blames."""
    title = page_title(text)
    if title is not None:
        return f"a web page{title}"
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip() or "no message"
    if not isinstance(data, dict):
        return text
    error: Any = data.get("error", data.get("detail", data.get("message", data)))
    if isinstance(error, list):  # one entry per field; `input` may repeat the whole request
        kept = ("type", "loc", "msg")
        error = [{k: e[k] for k in kept if k in e} for e in error if isinstance(e, dict)]
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return f"{error['message']} [{error['param']}]" if error.get("param") else error["message"]
    return error if isinstance(error, str) else json.dumps(error)
