"""What a server says of itself and of the model it serves."""

from __future__ import annotations

import logging
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import BackendError
from tomeval.models.served.http_client import HttpClient
from tomeval.models.served.http_mends import Refused

logger = logging.getLogger(__name__)

_FIRST_CONTACT = 30.0  # seconds for a server to come up
_NOT_NEEDED = 1.0  # seconds for what may well not be there
_MODEL_FIELDS = ("id", "root", "owned_by", "parent", "max_model_len")  # none changes by the minute
_SERVER_FIELDS = {
    "/version": ("version",),
    "/api/version": ("version",),
    "/props": ("build_info", "model_path"),
}


async def describe(client: HttpClient, model: str) -> dict[str, Any]:
    """Return what a server says of a model and of its own version; much may be missing.

    Raises `BackendError` if there is no server.
    """
    found: dict[str, Any] = {}
    try:
        wait = min(_FIRST_CONTACT, client.retry_budget)
        listed = (await client.get("models", retry_budget=wait)).data.get("data")
    except (Refused, TomevalError):  # not every server, or every key, may list
        listed = None
    models = [entry for entry in listed or [] if isinstance(entry, dict)]
    mine = next((entry for entry in models if entry.get("id") == model), None)
    if models and mine is None:
        logger.warning("%s: the server does not list the model %s", client.base_url, model)
    found.update(_kept(mine or {}, _MODEL_FIELDS))
    for path, fields in _SERVER_FIELDS.items():
        try:
            answer = await client.get(path, retry_budget=_NOT_NEEDED)
        except (BackendError, TomevalError):
            continue
        found.update(_kept(answer.data, fields))
    return found


def _kept(data: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: data[field] for field in fields if data.get(field) is not None}
