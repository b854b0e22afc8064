"""What came in place of a reply: the error to raise, or what to leave out of the request."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from tomeval.models.base import BackendError, ContextExceeded, Stopped, Unusable

EXCERPT = 300
"""Characters of a server's message that an error repeats."""

# As vLLM, SGLang, llama.cpp, OpenAI, Anthropic and others word it.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context (length|size)"
    r"|(model's|available) context (length|size)|context (size|window|length) (has been )?exceed"
    r"|exceeds? (the )?(model's )?(maximum |available )?context|(prompt|input) is too long"
    r"|context window of|longer than the maximum model length|exceeds the maximum allowed length",
    re.IGNORECASE,
)
_FILTERED = re.compile(r'"code":\s*"content_filter"')  # as Azure has it

_NEUTRAL = {
    **{"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0},
    **{"repetition_penalty": 1.0, "repeat_penalty": 1.0},
    **{"presence_penalty": 0.0, "frequency_penalty": 0.0},
}
"""Values that switch a field off, so that nothing is lost with it."""

_EXTRA = ("seed", "stop", "chat_template_kwargs")
"""Fields that a request can do without, whatever they say."""

OPTIONAL = (*_NEUTRAL, *_EXTRA)
"""Fields that a request need not have."""


class Refused(BackendError):
    """The server answered that it will not do this request; sending it again does not help."""

    def __init__(self, url: str, status: int, message: str, filtered: bool = False) -> None:
        super().__init__(f"{url}: HTTP {status}: {message[:EXCERPT]}")
        self.status, self.message = status, message  # HTTP status; what the server said
        self.filtered = filtered  # by its code, a content filter declined to answer


class Unanswered(BackendError):
    """No reply came, which may pass: silence, a broken connection, an error of the server."""

    headers: Any = None  # of the server's error, which may say when to ask again

    def __init__(self, url: str, reason: str, status: int = 0) -> None:
        super().__init__(f"{url}: {reason}")
        self.reason, self.status = reason, status  # status 0: no answer at all


class ServerGone(Stopped):
    """A server no longer answers. Earlier answers are kept; the same command continues."""


def is_too_long(text: str) -> bool:
    """Return whether an error message is about the length of the prompt.

    Examples
    --------
    >>> is_too_long("This model's maximum context length is 8192 tokens. However, ...")
    True
    >>> is_too_long("max_tokens must be at least 1")
    False
    """
    return _TOO_LONG.search(text) is not None


def status_fault(url: str, status: int, text: str, key_note: str = "") -> Exception:
    """Return the error for an error reply; an `Unanswered` may pass.

    `key_note` says which key was sent, for those who are denied access.
    """
    message = message_of(text)
    said = message[:EXCERPT]
    if status in (401, 403):
        return Stopped(f"{url}: access denied (HTTP {status}): {said}; {key_note}")
    if status == 429 and "insufficient_quota" in text:
        return Stopped(f"{url}: the account has no quota left: {said}")
    if status in (200, 400, 413, 422, 500) and is_too_long(text):
        return ContextExceeded(f"{url}: the prompt is too long for the model: {said}")
    if status in (408, 409, 429) or (status >= 500 and status != 501):
        return Unanswered(url, f"HTTP {status}: {said}", status)
    return Refused(url, status, message, _FILTERED.search(text) is not None)


def connection_fault(url: str, error: BaseException | None) -> Unanswered:
    """Return the error for one of the connection: what it says, or the first cause that does."""
    kind, cause = type(error).__name__, error
    while cause is not None and not str(cause):
        cause = cause.__cause__ or cause.__context__
    ask = "; is the server running, and is its address right?" * kind.startswith("Connect")
    return Unanswered(url, f"{kind}: {cause or 'no reason was given'}{ask}")


def read_json(body: bytes) -> dict[str, Any]:
    """Return the object that a reply's body is, else `Unusable`.

    Examples
    --------
    >>> read_json(b'{"id": ')
    Traceback (most recent call last):
    tomeval.models.base.Unusable: the reply is not whole JSON: b'{"id": '
    """
    try:
        text = body.decode()
        if page := _page(text):
            raise Unusable(page)
        data = json.loads(text)
        if "\\ud" in text.lower():  # half a character, which cannot be stored
            json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Unusable(f"the reply is not whole JSON: {body[:80]!r}") from None
    if not isinstance(data, dict):
        raise Unusable(f"the reply is not an object: {body[:80]!r}")
    return data


def message_of(text: str) -> str:
    """Return what an error reply says, with the name of the parameter that it blames."""
    if page := _page(text):
        return page
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


def _page(text: str) -> str:
    """Return what is said of a web page, such as a proxy's; empty for other text."""
    if not re.match(r"\s*<(!doctype html|html)\b", text, re.IGNORECASE):
        return ""
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    named = f" {title[1].strip()!r}" if title else ""
    return f"a web page{named} instead of a reply; is the base URL right? It often ends in /v1"


class Mends:
    """What one path of a server does not take; `omit` names fields to leave out from the start.

    A field that a refusal names is left out if it can be: one that changes what is drawn, as a
    temperature of 0.7, never is.
    """

    def __init__(self, omit: Collection[str] = ()) -> None:
        self._left_out, self._renamed = set(omit), dict[str, str]()

    def apply(self, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the body to send and what was changed in it."""
        changes = {
            "dropped": sorted(self._left_out & body.keys()),
            "renamed": {old: new for old, new in self._renamed.items() if old in body},
        }
        names = {name: self._renamed.get(name, name) for name in body.keys() - self._left_out}
        sent = {names[name]: value for name, value in body.items() if name in names}
        return sent, {how: fields for how, fields in changes.items() if fields}

    def learn(self, sent: dict[str, Any], refusal: Refused) -> str:
        """Return what can be changed in `sent` after this refusal, and remember it."""
        if refusal.status not in (400, 422):
            return ""
        if "max_tokens" in sent and "max_completion_tokens" in refusal.message:
            self._renamed["max_tokens"] = "max_completion_tokens"
            return "max_tokens renamed to max_completion_tokens"
        named = [name for name in sent if re.search(rf"\b{name}\b", refusal.message)]
        named = [name for name in named if name in _EXTRA or sent[name] == _NEUTRAL.get(name, ())]
        self._left_out.update(named)
        return ", ".join(f"{name} left out" for name in named)
