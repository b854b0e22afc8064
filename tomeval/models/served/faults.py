"""What came in place of a reply, and the error to raise for it."""

from __future__ import annotations

import json
import re
from typing import Any

from tomeval.models.base import BackendError, ContextExceeded, Damaged, Stopped

EXCERPT = 300
"""Characters of a server's message that an error repeats."""

_FILTERED = re.compile(r'"code":\s*"content_filter"')  # as Azure has it
_NOT_ENCRYPTED = ("[SSL: WRONG_VERSION", "[SSL: UNEXPECTED_EOF", "[SSL: RECORD_LAYER")
_ASK = "is the base URL right? It often ends in /v1"
_SHOWN = 80  # characters of a body, in messages


class Trouble(Exception):
    """An attempt without a reply, for which `error_of` has a lasting error or which may pass."""

    def __init__(
        self, message: str, status: int = 0, text: str = "", *, absent: bool = False
    ) -> None:
        super().__init__(f"HTTP {status}: {message[:EXCERPT]}" if status else message)
        self.message, self.status, self.text = message, status, text
        self.absent = absent  # no server was there to answer
        self.page = page_title(text) is not None  # a web page, such as a proxy's


class Refused(BackendError):
    """The server answered that it will not do this request; sending it again does not help."""

    def __init__(self, url: str, status: int, message: str, filtered: bool = False) -> None:
        super().__init__(f"{url}: HTTP {status}: {message[:EXCERPT]}")
        self.status, self.message = status, message  # HTTP status; what the server said
        self.filtered = filtered  # by its code, a content filter declined to answer


class Unanswered(BackendError):
    """Nothing came within the retry budget but silence, broken connections and errors."""


class ServerGone(Stopped):
    """A server no longer answers. Earlier answers are kept; the same command continues."""


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


def error_of(url: str, trouble: Trouble, key_note: str) -> Exception | None:
    """Return the error for what asking again does not change; None for what may pass.

    `key_note` says which key was sent, for those who are denied access.
    """
    status, message = trouble.status, trouble.message
    if status in (401, 403):
        said = message[:EXCERPT]
        return Stopped(f"{url}: access denied (HTTP {status}): {said}; {key_note}")
    if status == 429 and "insufficient_quota" in trouble.text:
        return Stopped(f"{url}: the account has no quota left: {message[:EXCERPT]}")
    if status in (400, 413, 422, 500) and TooLong.is_said_in(trouble.text):
        return TooLong(url, message)
    if not status or status in (408, 409, 429) or (status >= 500 and status != 501):
        return None
    return Refused(url, status, message, _FILTERED.search(trouble.text) is not None)


def reason_of(error: BaseException | None) -> str:
    """Return what an error of the connection says, or else the first of its causes that says it.

    Where encryption was begun and no other end understood it, the likely mistake is named.
    """
    kind, cause = type(error).__name__, error
    while cause is not None and not str(cause):
        cause = cause.__cause__ or cause.__context__
    said = str(cause) if cause is not None else "no reason was given"
    plain = any(mark in said for mark in _NOT_ENCRYPTED)
    return f"{kind}: {said}" + "; it may be http:// rather than https://" * plain


def as_json(body: bytes) -> Any:
    r"""Return the JSON value of a reply's body; `Damaged` if it is not one whole value.

    Examples
    --------
    >>> as_json(b'{"id": 1}')
    {'id': 1}
    >>> as_json(b'{"id": ')
    Traceback (most recent call last):
    tomeval.models.base.Damaged: the reply is not complete JSON: '{"id": '
    >>> as_json(b'{"id": "\\ud83d"}')
    Traceback (most recent call last):
    tomeval.models.base.Damaged: the reply contains a lone surrogate
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        around = body[max(0, error.start - 20) : error.start + 20]
        raise Damaged(f"the reply is not UTF-8: ...{around!r}...") from None
    title = page_title(text)
    if title is not None:
        raise Damaged(f"a web page{title} instead of a reply; {_ASK}")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):  # cut, a number of thousands of digits, nested too deep
        raise Damaged(f"the reply is not complete JSON: {text[:_SHOWN]!r}") from None
    if "\\ud" in text.lower():
        try:
            json.dumps(data, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Damaged("the reply contains a lone surrogate") from None
    return data


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


def message_of(text: str) -> str:
    """Return what an error reply says, with the name of the parameter that it blames."""
    title = page_title(text)
    if title is not None:
        return f"a web page{title}; {_ASK}"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return text.strip() or "no message"
    error: Any = data.get("error", data.get("detail", data.get("message", data)))
    if isinstance(error, list):  # one entry per field; `input` may repeat the whole request
        kept = ("type", "loc", "msg")
        error = [{k: e[k] for k in kept if k in e} for e in error if isinstance(e, dict)]
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return f"{error['message']} [{error['param']}]" if error.get("param") else error["message"]
    return error if isinstance(error, str) else json.dumps(error)
