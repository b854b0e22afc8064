"""What is asked of a server at the start: who it is, whether its model thinks, what it can do."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.thinking import marks_thinking
from tomeval.models.base import (
    BackendError,
    GenerateRequest,
    Message,
    Prompt,
    Reply,
    Sampling,
)
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.http_reading import Refused
from tomeval.models.served.logprob_wire import NO_THINKING, Query, dig
from tomeval.models.served.openai_fields import (
    HOSTED,
    LLAMA_CPP,
    LLAMA_PYTHON,
    OLLAMA,
    SGLANG,
    VLLM,
    one_field,
)
from tomeval.models.served.openai_wire import chat_fields

logger = logging.getLogger(__name__)

QUESTION = GenerateRequest(
    Prompt(
        (
            Message(
                "user", "How many legs do two cats and a hen have together? Reply with the number."
            ),
        )
    ),
    Sampling(max_tokens=512),
    seed=1,
)
"""What every model is asked at the start: easy, so that only one that always thinks thinks.

Its reply shows which API there is, which fields are refused and whether the model thinks.
"""

_BEGUN, _REST = "maple seven river", "amber cloud"
_LINE_TOKENS = 16
PREFILL_TEST = Prompt(
    (Message("user", f"Copy this line and write nothing else: {_BEGUN} {_REST}"),), prefill=_BEGUN
)
Ask = Callable[[GenerateRequest], Awaitable[Reply]]

_FORM_TEST = Prompt((Message("user", "What is the capital of France? Reply with its name only."),))
_FORM_TOKENS = 24
_LETTERS = ("K", "Q")
FORM_TESTS = {
    "choices": GenerateRequest(
        _FORM_TEST,
        Sampling(temperature=0.0, max_tokens=_FORM_TOKENS),
        seed=1,
        choices=tuple(f"Letter: {letter}" for letter in _LETTERS),
    ),
    "schemas": GenerateRequest(
        _FORM_TEST,
        Sampling(temperature=0.0, max_tokens=_FORM_TOKENS),
        seed=1,
        schema=json.dumps(one_field("letter", {"type": "string", "enum": _LETTERS})),
    ),
}
"""Questions whose natural answer is another one than the form allows."""


async def obeyed(ask: Ask, request: GenerateRequest) -> str:
    """Return what a server did instead of holding its reply to a form; empty if it did that."""
    try:
        text = (await ask(request)).text
    except Refused as refusal:
        return str(refusal)
    if request.choices:
        return "" if text in request.choices else f"it answered {text[:40]!r}"
    try:
        letter = dig(json.loads(text), "letter")
    except ValueError:
        letter = None
    return "" if letter in _LETTERS else f"it answered {text[:40]!r}"


def shows_thinking(reply: Reply) -> bool:
    """Tell whether a reply holds thinking, or all of its tokens went into hidden thinking.

    Examples
    --------
    >>> shows_thinking(Reply("<think>Hm.")), shows_thinking(Reply("J"))
    (True, False)
    """
    hidden = reply.finish == "length" and not reply.text and not reply.reasoning
    marked = marks_thinking(reply.text)
    return bool(reply.reasoning) or marked or hidden or "reasoning_tokens" in reply.details


async def continues_prefill(client: HttpClient, query: Query) -> bool | None:
    """Tell whether the chat API goes on from a begun answer; None if that cannot be seen.

    The model is to copy a line whose first half stands in the prefill: it either writes the second
    half or begins anew. `query` holds `PREFILL_TEST`.
    """
    fields = chat_fields(query.request.prompt)
    body = query.body(**fields, chat_template_kwargs=NO_THINKING) | {"max_tokens": _LINE_TOKENS}
    try:
        answer = await client.post(
            "chat/completions", body, tokens=query.tokens + _LINE_TOKENS, probing=True
        )
    except Refused:
        return False
    message: Any = dig(answer.data, "choices", 0, "message", "content")
    text = message.strip().lower() if isinstance(message, str) else ""
    if text.startswith(_REST.split()[0]):
        return True
    return False if text.startswith(_BEGUN.split()[0]) else None


_OWNERS = {"vllm": VLLM, "sglang": SGLANG, "llamacpp": LLAMA_CPP, "me": LLAMA_PYTHON}
# Only APIs that have no sampling defaults per model. A proxy may say that OpenAI owns its models.
_HOSTED = (
    *("api.openai.com", "openai.azure.com", "api.anthropic.com", "api.deepseek.com"),
    *("api.mistral.ai", "generativelanguage.googleapis.com", "api.x.ai"),
)

_FIRST_CONTACT = 30.0  # seconds for a server that is there to get ready
_NOT_NEEDED = 1.0  # seconds for what may well not be there
_MODEL_FIELDS = ("id", "root", "owned_by", "parent", "max_model_len")  # none changes by the minute
_SERVER_FIELDS = {
    "/version": ("version",),
    "/api/version": ("version",),
    "/props": ("build_info", "model_path"),
}
_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length")


class About(NamedTuple):
    """What a server says."""

    said: dict[str, Any]  # of the model and of its own version; much may be missing
    kind: str  # one of those above; empty if it is not known
    context: int | None  # longest sequence in tokens


_MOST_LISTED = 8
"""How many of a server's models are named to one who asks for another."""


async def describe(client: HttpClient, model: str) -> About:
    """Ask a server about a model and about itself.

    Raises `BackendError` if there is no server.
    """
    try:
        wait = min(_FIRST_CONTACT, client.retry_budget)
        listed = (await client.get("models", retry_budget=wait)).data.get("data")
    except (Refused, TomevalError):  # not every server, or every key, may list
        listed = None
    entries = listed if isinstance(listed, list) else []
    models = [entry for entry in entries if isinstance(entry, dict)]
    mine = next((entry for entry in models if entry.get("id") == model), None)
    if models and mine is None:
        ids = [str(entry["id"]) for entry in models if "id" in entry]
        shown, more = ", ".join(ids[:_MOST_LISTED]), len(ids) - _MOST_LISTED
        logger.warning(
            "%s: the server does not list the model %s%s; it lists %s%s",
            *(client.patience.said, model, did_you_mean(model, ids), shown or "no ids"),
            f" and {more:,} more" if more > 0 else "",
        )
    about = _kept(mine or {}, _MODEL_FIELDS)
    answers: dict[str, Mapping[str, Any]] = {}
    for path, fields in _SERVER_FIELDS.items():
        try:
            answer = await client.get(path, retry_budget=_NOT_NEEDED)
        except (BackendError, TomevalError):
            continue
        about.update(_kept(answer.data, fields))
        answers[path] = answer.data
    return About(about, _kind(client.base_url, about, answers), _context(mine or {}, answers))


def _kind(url: str, found: Mapping[str, Any], answers: Mapping[str, Any]) -> str:
    host = urlsplit(url).hostname or ""
    if any(host == name or host.endswith("." + name) for name in _HOSTED):
        return HOSTED
    owner = _OWNERS.get(str(found.get("owned_by")))
    if owner is None and "build_info" in found:
        return LLAMA_CPP
    if owner is None and "version" in answers.get("/api/version", {}):
        return OLLAMA
    return owner or ""


def _context(mine: Mapping[str, Any], answers: Mapping[str, Any]) -> int | None:
    """Return the context length that counts for one request."""
    settings = answers.get("/props", {}).get("default_generation_settings")
    slot = settings.get("n_ctx") if isinstance(settings, dict) else None
    for value in (slot, *(mine.get(name) for name in _CONTEXT_FIELDS)):
        if isinstance(value, int) and value > 0:
            return value
    return None


def _kept(data: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: data[field] for field in fields if data.get(field) is not None}
