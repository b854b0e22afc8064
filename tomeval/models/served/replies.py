"""What a reply says: text, usage, log-probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from tomeval.models.base import GenerateRequest, Reply, Unlisted, Unusable, Usage
from tomeval.models.served.faults import OPTIONAL
from tomeval.models.served.requests import SCHEMA

if TYPE_CHECKING:
    from tomeval.models.served.client import Answer

_SENT = ("max_tokens", "max_completion_tokens", *OPTIONAL)  # what a call's record repeats
_FINISHES: dict[Any, Literal["stop", "length", "refusal"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_BROKEN = ("error", "abort", "cancelled")

ROUNDING = 0.01
"""Above what it can be: of a sum of probabilities in half precision, or a log-probability."""

_SHOWN = 5  # of the likeliest tokens, in messages


def read_reply(answer: Answer, request: GenerateRequest, form: str = "") -> Reply:
    """Read a reply of the chat API.

    `form` is how it was held to a form, which is recorded if it has that form. Raises `Unusable` if
    no text can be found, or the server says that it broke off.
    """
    data, choice = answer.data, choice_of(answer)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Unusable(f"the reply has no message: {json.dumps(data)[:300]}")
    text, refusal = _content(message)
    finish = "refusal" if refusal else _FINISHES.get(str(choice.get("finish_reason")), "stop")
    if form == SCHEMA and not request.schema:
        text = _unwrapped(text)
    thought = dig(data, "usage", "completion_tokens_details", "reasoning_tokens")
    details = {
        "sent": {name: answer.sent[name] for name in _SENT if name in answer.sent},
        **answer.mended,
        "finish": choice.get("finish_reason"),
        "attempts": answer.attempts if answer.attempts > 1 else None,
        "model": data.get("model"),
        "fingerprint": data.get("system_fingerprint"),
        "id": data.get("id"),
        "reasoning_tokens": thought if isinstance(thought, int) and thought > 0 else None,
        "refusal": refusal,
        "enforced": form if form and (text in request.choices or request.schema) else None,
    }
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return Reply(
        text,
        reasoning if isinstance(reasoning, str) else None,
        finish,
        read_usage(data) or Usage(),
        answer.latency,
        {name: value for name, value in details.items() if value is not None},
    )


def choice_of(answer: Answer) -> dict[str, Any]:
    """Return the first choice of a reply; `Unusable` without one, or if it was broken off."""
    choice = dig(answer.data, "choices", 0)
    if not isinstance(choice, dict):
        raise Unusable(f"the reply has no choices: {json.dumps(answer.data)[:300]}")
    if (finish := choice.get("finish_reason")) in _BROKEN:
        raise Unusable(f"the server broke the reply off (finish_reason {finish!r})")
    return choice


def read_usage(data: Mapping[str, Any]) -> Usage | None:
    """Return the tokens that a server's reply reports, or None if it reports none.

    Reads the shapes of OpenAI-compatible servers and llama.cpp.
    """
    usage = data.get("usage")
    if isinstance(usage, dict):
        names = ("prompt_tokens", "completion_tokens")
        counts: list[Any] = [usage.get(name) for name in names]
        counts.append(dig(usage, "prompt_tokens_details", "cached_tokens"))
    elif "tokens_evaluated" in data:
        counts = [data["tokens_evaluated"], data.get("tokens_predicted")]
    else:
        return None
    counts = [0 if count is None else count for count in counts]
    return Usage(*counts) if all(type(n) is int and n >= 0 for n in counts) else None


def dig(data: Any, *path: str | int) -> Any:
    """Return what lies at a path of keys and indices, or None."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _content(message: dict[str, Any]) -> tuple[str, Any]:
    """Return a message's text and its refusal, if any; some servers send a list of parts.

    No content at all is an empty answer: so servers write one whose tokens all went into thinking,
    and one that was declined.
    """
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        refusal = refusal or next(filter(None, (part.get("refusal") for part in content)), None)
        texts = [part["text"] for part in content if "text" in part]
        content = "".join(texts) if all(isinstance(text, str) for text in texts) else content
    if content is not None and not isinstance(content, str):
        raise Unusable(f"the reply's content is no text: {content!r:.80}")
    return content or "", refusal or None


def _unwrapped(text: str) -> str:
    """Return the answer inside the JSON object that requests ask for, else the text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    answer = dig(data, "answer")
    return answer if isinstance(answer, str) and len(data) == 1 else text


def read_entries(entries: Any) -> list[tuple[str, float]]:
    """Read a list of ``{token, logprob}``."""
    if not isinstance(entries, list) or not entries:
        raise Unusable("no log-probs in the reply")
    read = [(dig(entry, "token"), dig(entry, "logprob")) for entry in entries]
    for (token, value), entry in zip(read, entries, strict=True):
        if not is_number(value) or not isinstance(token, str):
            raise Unusable(f"no token with its log-prob: {entry!r:.80}")
    check_logprobs([value for _, value in read])
    return read


def match(text: str, entries: list[tuple[str, float]]) -> float:
    """Return the log-probability of the token that is exactly this text."""
    exact = [value for token, value in entries if token == text]
    if len(exact) == 1:
        return exact[0]
    if exact:
        raise Unusable(f"{len(exact)} of the likeliest tokens are {text!r}")
    likeliest = sorted(entries, key=lambda entry: -entry[1])[:_SHOWN]
    shown = ", ".join(f"{token!r} {math.exp(value):.2g}" for token, value in likeliest)
    raise Unlisted(
        f"{text!r} is not among the {len(entries)} likeliest tokens, so its probability is unknown "
        f"(a label must be one token on this route); the likeliest: {shown}"
    )


def check_logprobs(values: list[float]) -> None:
    """Refuse, as `Unusable`, what cannot be log-probabilities of different texts.

    Examples
    --------
    >>> check_logprobs([-0.1, -0.2])
    Traceback (most recent call last):
    tomeval.models.base.Unusable: the probabilities of different texts sum to 1.72
    """
    if max(values) > ROUNDING:
        raise Unusable(f"a log-prob is positive ({max(values)})")
    mass = math.fsum(math.exp(value) for value in values)
    if mass > 1 + ROUNDING:
        raise Unusable(f"the probabilities of different texts sum to {mass:.2f}")
    # Numbers in half precision may tie by chance, but not three of them.
    if len(values) > 2 and max(values) == min(values) > -math.inf:
        raise Unusable(f"all log-probs are equal ({values[0]})")


def is_number(value: Any) -> bool:
    """Return whether a log-probability is there at all."""
    return type(value) in (int, float) and not math.isnan(value)
