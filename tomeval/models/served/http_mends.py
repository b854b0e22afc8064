"""What a server says instead of a reply, and what can be done about it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from tomeval.models.base import BackendError, ContextExceeded

EXCERPT = 300
"""Characters of a server's message that an error repeats."""


class Refused(BackendError):
    """The server answered that it will not do this request; sending it again does not help."""

    def __init__(self, url: str, status: int, message: str) -> None:
        super().__init__(f"{url}: HTTP {status}: {message[:EXCERPT]}")
        self.status, self.message = status, message  # HTTP status; what the server said


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


class Mends:
    """What one path of a server does not take, learnt from its refusals.

    `omit` names fields to leave out from the start.
    """

    _OPTIONAL = frozenset(
        (
            *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "chat_template_kwargs"),
            *("repetition_penalty", "repeat_penalty", "presence_penalty", "frequency_penalty"),
            *("thinking_token_budget", "thinking_budget_tokens", "custom_params"),
            "reasoning_effort",
        )
    )
    # Values that switch a field off, so that leaving it out is the smallest change.
    _NEUTRAL: ClassVar[dict[str, Any]] = {
        **{"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
        **{"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0},
    }
    _UNWANTED = re.compile(
        r"support|unexpected|unrecogni[sz]ed|unknown|extra|not (permitted|allowed|available)"
        r"|only the default|deprecated|invalid (parameter|argument|field)"
        r"|not configured|reasoning[-_ ](start|config|parser)|cannot both|both be (specified|set)",
        re.IGNORECASE,
    )
    # An effort that was asked for by a wrong name is an error, not something to leave out.
    _WRONG_VALUE = re.compile(r"value|should be|must be|one of", re.IGNORECASE)
    _NO_SYSTEM = re.compile(r"system (role|message|prompt)s?\b.*support", re.IGNORECASE)

    def __init__(self, omit: Collection[str] = ()) -> None:
        self.dropped = set(omit)
        self.renamed: dict[str, str] = {}
        self.merge_system = False

    def apply(self, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the body to send and what was changed in it."""
        sent = {self.renamed.get(name, name): value for name, value in body.items()}
        mended: dict[str, Any] = {}
        if dropped := sorted(self.dropped & sent.keys()):
            mended["dropped"] = dropped
        if renamed := {old: new for old, new in self.renamed.items() if old in body}:
            mended["renamed"] = renamed
        sent = {name: value for name, value in sent.items() if name not in self.dropped}
        messages = sent.get("messages", ())
        if self.merge_system and any(message["role"] == "system" for message in messages):
            sent["messages"] = merge_system(messages)
            mended["system"] = "merged into the first user message"
        return sent, mended

    def learn(self, sent: dict[str, Any], refusal: Refused) -> list[str]:
        """Return what can be changed in `sent` after this refusal, and remember it."""
        said = refusal.message
        if refusal.status not in (400, 422, 500):
            return []
        if "max_tokens" in sent and "max_completion_tokens" in said:
            self.renamed["max_tokens"] = "max_completion_tokens"
            return ["max_tokens renamed to max_completion_tokens"]
        if self._NO_SYSTEM.search(said) and not self.merge_system:
            self.merge_system = True
            return ["system message merged into the first user message"]
        if not self._UNWANTED.search(said):
            return []
        named = [
            name for name in sent if name in self._OPTIONAL and re.search(rf"\b{name}\b", said)
        ]
        if self._WRONG_VALUE.search(said):
            named = [name for name in named if name != "reasoning_effort"]
        off = [name for name in named if sent[name] == self._NEUTRAL.get(name)]
        named = off or named
        self.dropped.update(named)
        return [f"{name} left out" for name in named]


def merge_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    r"""Return a conversation whose system messages stand before the first user message's text.

    Examples
    --------
    >>> merge_system([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])
    [{'role': 'user', 'content': 'S\n\nU'}]
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if not rest or rest[0]["role"] != "user":
        rest.insert(0, {"role": "user", "content": ""})
    rest[0]["content"] = "\n\n".join(text for text in (*system, rest[0]["content"]) if text)
    return rest


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
