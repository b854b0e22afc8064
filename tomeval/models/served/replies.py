"""What a reply of the chat or the completions API says."""

from __future__ import annotations

import json
from typing import Any, Literal

from tomeval.models.base import GenerateRequest, Reply, Unusable, Usage
from tomeval.models.served.client import Answer
from tomeval.models.served.fields import OPTIONAL, SCHEMA
from tomeval.models.served.limits import read_usage

_SENT = ("max_tokens", "max_completion_tokens", *OPTIONAL)  # what a call's record repeats
_FINISHES: dict[str, Literal["stop", "length", "refusal"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_BROKEN = ("error", "abort", "cancelled")


def read_reply(answer: Answer, request: GenerateRequest, form: str = "") -> Reply:
    """Read a reply of the chat or the completions API.

    The text is cut at the first stop text: not every server takes them. `form` is how it was held
    to a form, which is recorded if it has that form. Raises `Unusable` if no text can be found, or
    the server says that it broke off.
    """
    data = answer.data
    choice = dig(data, "choices", 0)
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
    if refusal := message.get("refusal") or _refused_part(message):
        finish, details["refusal"] = "refusal", refusal
    cut = min((text.find(mark) for mark in request.sampling.stop if mark in text), default=None)
    if cut is not None:
        text, finish = text[:cut], "stop" if finish == "length" else finish
    if form == SCHEMA and not request.schema:
        text = _unwrapped(text)
    if form and (text in request.choices or request.schema):
        details["enforced"] = form
    usage = read_usage(data) or Usage()
    return Reply(text, reasoning, finish, usage, answer.latency, details)


def dig(data: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and indices, or None."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _refused_part(message: dict[str, Any]) -> Any:
    """Return the refusal among the parts of a message whose content is a list of parts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return next(filter(None, (dig(part, "refusal") for part in parts)), None)


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
    thought = dig(data, "usage", "completion_tokens_details", "reasoning_tokens")
    details = {
        "sent": {name: answer.sent[name] for name in _SENT if name in answer.sent},
        **answer.mended,
        "finish": finish,
        "attempts": answer.attempts if answer.attempts > 1 else None,
        "model": data.get("model"),
        "fingerprint": data.get("system_fingerprint"),
        "id": data.get("id"),
        "reasoning_tokens": thought if isinstance(thought, int) and thought > 0 else None,
    }
    return {name: value for name, value in details.items() if value is not None}


def _unwrapped(text: str) -> str:
    """Return the answer inside the JSON object that `form_fields` asks for, else the text."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return text
    answer = data.get("answer") if isinstance(data, dict) and len(data) == 1 else None
    return answer if isinstance(answer, str) else text
