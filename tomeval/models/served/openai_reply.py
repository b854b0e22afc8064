"""Fields of a generation request, and the reply that comes back."""

from __future__ import annotations

import json
from typing import Any, Literal

from tomeval.core.errors import unknown
from tomeval.models.base import BackendError, Reply, Sampling, Usage
from tomeval.models.served.http_client import Answer
from tomeval.models.served.limits import read_usage

_SEED_BITS = 31  # llama.cpp keeps 32 bits, and all ones mean "random" there
_SAMPLING = (
    *("temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens"),
    *("seed", "stop", "chat_template_kwargs"),
)
_FINISHES: dict[str, Literal["stop", "length", "refusal"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_BROKEN = ("error", "abort", "cancelled")


def sampling_fields(sampling: Sampling, seed: int) -> dict[str, Any]:
    """Return the fields that say how to draw; every value is sent, also those that switch off.

    The seed is folded to 31 bits, which every server takes.

    Examples
    --------
    >>> sampling_fields(Sampling(max_tokens=8), seed=2**40 + 5)["seed"]
    517
    """
    folded = (seed ^ (seed >> _SEED_BITS) ^ (seed >> 2 * _SEED_BITS)) & ((1 << _SEED_BITS) - 1)
    fields = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k or -1,  # -1 is "off" to every server, 0 to some
        "min_p": sampling.min_p,
        "max_tokens": sampling.max_tokens,
        "seed": folded,
    }
    return {**fields, "stop": list(sampling.stop)} if sampling.stop else fields


def choice_fields(structured: str, choices: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields that restrict a reply to `choices`; none if there are no choices."""
    if not choices or structured == "off":
        return {}
    if structured == "vllm":
        return {"structured_outputs": {"choice": list(choices)}}
    if structured == "json_schema":
        schema = {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": list(choices)}},
            "required": ["answer"],
            "additionalProperties": False,
        }
        wrapped = {"name": "answer", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": wrapped}}
    raise unknown("structured output", structured, ("off", "vllm", "json_schema"))


def read_reply(answer: Answer, stop: tuple[str, ...], choices: tuple[str, ...]) -> Reply:
    """Read a reply of the chat or the completions API.

    The text is cut at the first of `stop`: not every server takes stop texts. A reply that was
    restricted to `choices` is taken out of the JSON object that was asked for; whether it is one of
    them is noted in the details. Raises `BackendError` if no text can be found, or the server says
    that it broke off.
    """
    data = answer.data
    found = data.get("choices")
    choice = found[0] if isinstance(found, list) and found else None
    if not isinstance(choice, dict):
        raise BackendError(f"the reply has no choices: {json.dumps(data)[:300]}")
    raw = choice.get("finish_reason")
    if raw in _BROKEN:
        raise BackendError(f"the server broke the reply off (finish_reason {raw!r})")
    message = choice.get("message")
    message = message if isinstance(message, dict) else {"content": choice.get("text")}
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
    """Return a message's text and its reasoning; some servers send a list of parts."""
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        content = "".join(str(part["text"]) for part in parts if "text" in part)
    return content or "", reasoning if isinstance(reasoning, str) else None


def _details(answer: Answer, finish: Any) -> dict[str, Any]:
    data = answer.data
    found = {
        "sent": {name: answer.sent[name] for name in _SAMPLING if name in answer.sent},
        **answer.mended,
        "finish": finish,
        "attempts": answer.attempts if answer.attempts > 1 else None,
        "model": data.get("model"),
        "fingerprint": data.get("system_fingerprint"),
        "id": data.get("id"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _unwrapped(text: str) -> str:
    """Return the answer inside the JSON object that `choice_fields` asks for, else the text."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return text
    answer = data.get("answer") if isinstance(data, dict) and len(data) == 1 else None
    return answer if isinstance(answer, str) else text
