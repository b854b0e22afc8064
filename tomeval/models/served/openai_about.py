"""What a server says of itself and of the model it serves."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tomeval.core.errors import TomevalError
from tomeval.models.base import BackendError
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.http_mends import Refused

logger = logging.getLogger(__name__)

VLLM, SGLANG, LLAMA_CPP, OLLAMA, HOSTED = "vllm", "sglang", "llama.cpp", "ollama", "hosted"
LLAMA_PYTHON = "llama-cpp-python"  # a server of its own on llama.cpp, with other paths and defaults
"""Kinds of server, told by what they say of themselves; hosted APIs by their host's name."""

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
        logger.warning("%s: the server does not list the model %s", client.patience.said, model)
    found = _kept(mine or {}, _MODEL_FIELDS)
    answers: dict[str, Mapping[str, Any]] = {}
    for path, fields in _SERVER_FIELDS.items():
        try:
            answer = await client.get(path, retry_budget=_NOT_NEEDED)
        except (BackendError, TomevalError):
            continue
        found.update(_kept(answer.data, fields))
        answers[path] = answer.data
    return About(found, _kind(client.base_url, found, answers), _context(mine or {}, answers))


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
