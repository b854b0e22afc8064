"""The body of a server's answer: bounded, whole, in UTF-8 and JSON, or a `Trouble` that says why.

A server that is ill sends half a reply, a page of its proxy, bytes of another encoding, or a few
kilobytes that unpack to gigabytes. None of it is a reply, and all of it may pass.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import httpx2

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
        overload: bool = False,
        absent: bool = False,
        page: bool = False,
    ) -> None:
        super().__init__(what)
        self.status = status
        self.wait = wait
        self.absent = absent
        self.page = page
        self.overload = overload or status in OVERLOAD


class Unreadable(Trouble):
    """A reply came, of a model that was asked, and cannot be read."""


async def read_body(response: httpx2.Response) -> bytes:
    """Return the body of a streamed response; `Unreadable` if it is too long or packed oddly."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in _PACKINGS:
        raise Unreadable(
            f"the reply is packed in a way that was not asked for: {packing[:_SHOWN]!r}"
        )
    # Unpacked here, because what one piece of a packed reply holds may be a thousand times as long.
    unpacker = zlib.decompressobj(_ANY_HEADER) if packing in ("gzip", "deflate") else None
    parts, size = [], 0
    async for part in response.aiter_raw():
        if unpacker is not None:
            try:
                part = unpacker.decompress(part, LARGEST + 1 - size)
            except zlib.error as error:
                raise Unreadable(f"the reply cannot be unpacked: {error}") from None
        size += len(part)
        if size > LARGEST:
            raise Unreadable(f"the reply is longer than {LARGEST // 2**20} MiB")
        parts.append(part)
    if size and unpacker is not None and not unpacker.eof:
        raise Unreadable("the reply cannot be unpacked: it is cut")
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
    tomeval.models.served.http_reading.Unreadable: the reply is not whole JSON: '{"id": '
    >>> as_json('{"id": "\\ud83d"}')
    Traceback (most recent call last):
    tomeval.models.served.http_reading.Unreadable: the reply holds half a character
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):  # cut, a number of thousands of digits, nested too deep
        raise Unreadable(f"the reply is not whole JSON: {text[:_SHOWN]!r}") from None
    if "\\ud" in text.lower():
        try:
            json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Unreadable("the reply holds half a character") from None
    return data
