"""The reply to a generation request."""

from __future__ import annotations

import json
from typing import Any, Literal

from tomeval.models.base import Reply, Unusable, Usage
from tomeval.models.served.http_client import Answer
from tomeval.models.served.limits import read_usage

_SENT = (
    *("temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens"),
    *("repetition_penalty", "repeat_penalty", "presence_penalty", "frequency_penalty"),
    *("seed", "stop", "chat_template_kwargs", "reasoning_effort", "thinking_token_budget"),
    *("thinking_budget_tokens", "custom_params"),
)
_FINISHES: dict[str, Literal["stop", "length", "refusal"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_BROKEN = ("error", "abort", "cancelled")


def read_reply(answer: Answer, stop: tuple[str, ...], choices: tuple[str, ...]) -> Reply:
    """Read a reply of the chat or the completions API.

    The text is cut at the first of `stop`: not every server takes stop texts. A reply that was
    restricted to `choices` is taken out of the JSON object that was asked for; whether it is one of
    them is noted in the details. Raises `Unusable` if no text can be found, or the server says
    that it broke off.
    """
    data = answer.data
    found = data.get("choices")
    choice = found[0] if isinstance(found, list) and found else None
    if not isinstance(choice, dict):
        raise Unusable(f"the reply has no choices: {json.dumps(data)[:300]}")
    raw = choice.get("finish_reason")
    if raw in _BROKEN:
        raise Unusable(f"the server broke the reply off (finish_reason {raw!r})")
    message = choice.get("message")
    if message is None and "text" in choice:
        message = {"content": choice["text"]}
    if not isinstance(message, dict):
        raise Unusable(f"the reply has no message: {json.dumps(data)[:300]}")
    text, reasoning = _text(message)
    finish = _FINISHES.get(raw, "stop") if isinstance(raw, str) else "stop"
    details = _details(answer, raw)
    if message.get("refusal"):
        finish, details["refusal"] = "refusal", message["refusal"]
    cut = min((text.find(mark) for mark in stop if mark in text), default=None)
    if cut is not None:
        text, finish = text[:cut], "stop"
    if choices:
        text = _unwrapped(text)
        details["choice_obeyed"] = text in choices
    usage = read_usage(data) or Usage()
    return Reply(text, reasoning, finish, usage, answer.latency, details)


def _text(message: dict[str, Any]) -> tuple[str, str | None]:
    """Return a message's text and its reasoning; some servers send a list of parts.

    No content at all is an empty answer: so servers write one whose tokens all went into thinking,
    and one that was declined.
    """
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part["text"] for part in content if "text" in part]
        content = "".join(texts) if all(isinstance(text, str) for text in texts) else content
    if content is not None and not isinstance(content, str):
        raise Unusable(f"the reply's content is no text: {content!r:.80}")
    return content or "", reasoning if isinstance(reasoning, str) else None


def _details(answer: Answer, finish: Any) -> dict[str, Any]:
    data = answer.data
    found = {
        "sent": {name: answer.sent[name] for name in _SENT if name in answer.sent},
        **answer.mended,
        "finish": finish,
        "attempts": answer.attempts if answer.attempts > 1 else None,
        "model": data.get("model"),
        "fingerprint": data.get("system_fingerprint"),
        "id": data.get("id"),
        "reasoning_tokens": _reasoning_tokens(data),
    }
    return {name: value for name, value in found.items() if value is not None}


def _reasoning_tokens(data: dict[str, Any]) -> int | None:
    """Return how many of the reply's tokens were thinking, where the server says so."""
    usage = data.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    count = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return count if isinstance(count, int) and count > 0 else None


def _unwrapped(text: str) -> str:
    """Return the answer inside the JSON object that `choice_fields` asks for, else the text."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return text
    answer = data.get("answer") if isinstance(data, dict) and len(data) == 1 else None
    return answer if isinstance(answer, str) else text
