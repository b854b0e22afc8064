"""Replies that an interrupted episode had been given already: never asked for twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from tomeval.models.base import (
    GenerateRequest,
    Model,
    Reply,
    ScoreRequest,
    Scores,
    Usage,
    WrappedModel,
    as_dict,
)


class RememberingModel(WrappedModel):
    """A model for one episode that answers from what is kept, and keeps new answers.

    `kept` holds replies by request hash, from an earlier, interrupted try at the same episode.
    `keep` is called with (request hash, reply as JSON) before a new reply is used. `name` is what
    the model is known by; default: its own name.
    """

    model: Model

    def __init__(
        self,
        model: Model,
        kept: dict[str, str],
        keep: Callable[[str, str], None],
        name: str = "",
    ) -> None:
        super().__init__(model)
        self._kept, self._keep, self._known_by = kept, keep, name or model.name

    async def generate(self, request: GenerateRequest) -> Reply:
        """Return the kept reply, or ask."""
        key = request_hash(self._known_by, self.model.revision, request)
        if key in self._kept:
            data = json.loads(self._kept[key])
            return Reply(**data | {"usage": Usage(**data["usage"])})
        reply = await self.model.generate(request)
        self._keep(key, json.dumps(as_dict(reply)))
        return reply

    async def score(self, request: ScoreRequest) -> Scores:
        """Return the kept scores, or ask."""
        key = request_hash(self._known_by, self.model.revision, request)
        if key in self._kept:
            data = json.loads(self._kept[key])
            usage, logprobs = Usage(**data["usage"]), tuple(data["logprobs"])
            return Scores(**data | {"usage": usage, "logprobs": logprobs})
        scores = await self.model.score(request)
        self._keep(key, json.dumps(as_dict(scores)))
        return scores


def request_hash(name: str, revision: str, request: GenerateRequest | ScoreRequest) -> str:
    """Return a hash over all that decides a reply: model, prompt, labels, sampling, seed."""
    what: list[Any] = [name, revision, request.prompt.prefill]
    what += [tuple(message) for message in request.prompt.messages]
    what += filter(None, [request.prompt.instead])
    if isinstance(request, GenerateRequest):
        what += [vars(request.sampling), request.seed, request.choices]
        what += filter(None, [request.schema])
    else:
        what += [request.labels]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()
