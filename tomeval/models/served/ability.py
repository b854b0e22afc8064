"""What a server says of itself and of a model, by its list of models."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tomeval.core.errors import did_you_mean
from tomeval.models.base import Damaged
from tomeval.models.served.client import Client
from tomeval.models.served.faults import Refused
from tomeval.models.served.fields import HOSTED, LLAMA_CPP, LLAMA_PYTHON, OLLAMA, SGLANG, VLLM

logger = logging.getLogger(__name__)

_OWNERS = {"vllm": VLLM, "sglang": SGLANG, "llamacpp": LLAMA_CPP, "me": LLAMA_PYTHON}
_OWNERS["library"] = OLLAMA
# Only APIs that have no sampling defaults per model. A proxy may say that OpenAI owns its models.
_HOSTED = (
    *("api.openai.com", "openai.azure.com", "api.anthropic.com", "api.deepseek.com"),
    *("api.mistral.ai", "generativelanguage.googleapis.com", "api.x.ai"),
)
_MODEL_FIELDS = ("id", "root", "owned_by", "parent", "max_model_len")  # none changes by the minute
_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length")
_MOST_LISTED = 8  # how many of a server's models are named to one who asks for another


class About(NamedTuple):
    """What a server says."""

    revision: str  # of the model; much may be missing
    kind: str  # one of those of `fields`; empty if it is not known
    context: int | None  # longest sequence in tokens


async def describe(client: Client, model: str) -> About:
    """Ask a server about a model.

    Raises `BackendError` if there is no server, and `Stopped` if it denies access.
    """
    try:
        listing = (await client.get("models")).get("data")
    except (Refused, Damaged):  # not every server may list
        listing = None
    entries = listing if isinstance(listing, list) else []
    models = [entry for entry in entries if isinstance(entry, dict)]
    own = next((entry for entry in models if entry.get("id") == model), {})
    if models and not own:
        ids = [str(entry["id"]) for entry in models if "id" in entry]
        shown, more = ", ".join(ids[:_MOST_LISTED]), len(ids) - _MOST_LISTED
        logger.warning(
            "%s: the server does not list the model %s%s; it lists %s%s",
            *(client.patience.name, model, did_you_mean(model, ids), shown or "no ids"),
            f" and {more:,} more" if more > 0 else "",
        )
    about = {name: own.get(name) for name in _MODEL_FIELDS}
    revision = "; ".join(f"{name}={value}" for name, value in about.items() if value is not None)
    return About(revision, _kind(client.base_url, about["owned_by"]), _context(own))


def _kind(url: str, owner: Any) -> str:
    host = urlsplit(url).hostname or ""
    if any(host == name or host.endswith("." + name) for name in _HOSTED):
        return HOSTED
    return _OWNERS.get(str(owner), "")


def _context(own: dict[str, Any]) -> int | None:
    lengths = (own.get(name) for name in _CONTEXT_FIELDS)
    return next((n for n in lengths if isinstance(n, int) and n > 0), None)
