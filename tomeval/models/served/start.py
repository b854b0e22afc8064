"""What a server and a model can, by what they say of themselves and by one easy question."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tomeval.core.errors import TomevalError, did_you_mean
from tomeval.core.extras import LOCAL, need
from tomeval.models.base import (
    Damaged,
    GenerateRequest,
    Message,
    Prompt,
    Sampling,
    ScoreRequest,
    Unlisted,
    Unusable,
)
from tomeval.models.local.load import why_not_loaded
from tomeval.models.served.faults import Refused, Unanswered
from tomeval.models.served.labels import Route
from tomeval.models.served.requests import Server, server_of

if TYPE_CHECKING:
    from tomeval.models.served.client import Client

logger = logging.getLogger(__name__)

_LEGS = "How many legs do two cats and a hen have together? Reply with the number."
QUESTION = GenerateRequest(Prompt((Message("user", _LEGS),)), Sampling(max_tokens=512), seed=1)
"""Easy, so that only a model that always thinks thinks. The reply shows which API there is, which
fields are refused and whether the model thinks."""

_LETTERS = "Which letter comes next: C C B C C B C C? Answer with one letter, A or B or C."
_LABELS = ScoreRequest(Prompt((Message("user", _LETTERS),)), ("A", "B", "C"))
_FIELDS = ("id", "root", "owned_by", "parent", "max_model_len")  # none changes by the minute
_CONTEXT = ("max_model_len", "context_length", "context_window", "max_context_length")


class About(NamedTuple):
    """What a server's list says of a model; much may be missing, or all of it."""

    revision: str
    server: Server
    context: int | None  # longest sequence in tokens


async def look_up(client: Client, model: str, label: str) -> About:
    """Look a model up in its server's list; one that is not there is told, as `label`."""
    try:
        listed = (await client.fetch("models")).get("data")
    except (Refused, Damaged, Unanswered) as error:
        if isinstance(error, Unanswered) and not error.status:
            raise  # nobody is there
        listed = None
    models = [e for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []
    own = next((entry for entry in models if entry.get("id") == model), {})
    if models and not own:
        near = did_you_mean(model, [str(entry.get("id")) for entry in models])
        logger.warning("%s: the server does not list the model %s%s", label, model, near)
    said = {name: own[name] for name in _FIELDS if own.get(name) is not None}
    revision = "; ".join(f"{name}={value}" for name, value in said.items())
    lengths = (own.get(name) for name in _CONTEXT)
    context = next((n for n in lengths if isinstance(n, int) and n > 0), None)
    return About(revision, server_of(client.url, own.get("owned_by")), context)


async def find_route(
    tried: list[Route], score: Callable[[ScoreRequest, Route], Awaitable[object]]
) -> tuple[Route | None, str]:
    """Return the first route by which labels can be scored, and why those before it cannot.

    Errors that say nothing of a route, such as a server that does not answer, are passed on.
    """
    faults: list[str] = []
    for route in tried:
        try:
            await score(_LABELS, route)
        except Unlisted:  # a model may name none of the test's letters, and later others
            pass
        except (Refused, Unusable, Unanswered) as error:
            if isinstance(error, Unanswered) and error.status != 500:  # no crash of the server
                raise
            faults.append(f"{route.name}: {error}")
            continue
        return route, "\n".join(faults)
    return None, "\n".join(faults)


def load_tokenizer(name: str) -> Any:
    """Load a tokenizer from the Hub or a folder; `TomevalError` if that fails."""
    transformers = need("transformers", LOCAL, f"tokenizers such as {name!r}")
    try:
        return transformers.AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = why_not_loaded(name, error)
        raise TomevalError(f"tokenizer {name!r} cannot be loaded: {reason}") from None
